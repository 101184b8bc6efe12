"""One cluster for a whole pytest run, shared by all its processes and started only when a test asks for it.

The run's main process names a directory where its workers meet. The first that needs the cluster starts it there, as a
process which ends with the main process, even if that is killed; the main process ends it, and waits, when it is done.
"""

import contextlib
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.cache import BedUnavailable, locked

CHECKOUT = Path(__file__).parents[2]
READY = "export KUBECONFIG="


@dataclass(frozen=True, slots=True)
class Session:
    """Where the run's processes meet, the main process's id, and a path by which its standard error can be opened."""

    directory: str
    owner: int
    terminal: str

    def kubeconfig(self) -> Path:
        """Return the shared cluster's kubeconfig; the first caller starts it, others wait. Raises `BedUnavailable`."""
        ready, failure = Path(self.directory, "ready"), Path(self.directory, "failure")
        Path(self.directory).mkdir(mode=0o700, exist_ok=True)
        with locked(Path(self.directory, "lock")):
            if failure.exists():
                raise BedUnavailable(failure.read_text())
            if not ready.exists():
                try:
                    ready.write_text(str(self._start()))
                except BedUnavailable as reason:
                    failure.write_text(str(reason))
                    raise
            return Path(ready.read_text())

    def end(self) -> None:
        """Stop the cluster if there is one, wait until it is gone, and remove the meeting place."""
        pid_file = Path(self.directory, "pid")
        if pid_file.exists():
            terminate(int(pid_file.read_text()))
        shutil.rmtree(self.directory, ignore_errors=True)  # it is missing if no test asked for a cluster

    def _start(self) -> Path:
        told, tell = os.pipe()
        command = [sys.executable, "-m", "tests.controlplane", "--until-exit", str(self.owner)]
        outputs = [(os.POSIX_SPAWN_DUP2, tell, 1), (os.POSIX_SPAWN_DUP2, tell, 2)]
        env = dict(os.environ, PYTHONPATH=str(CHECKOUT))
        # Not `subprocess`: the cluster is to outlive the process that happens to start it.
        pid = os.posix_spawn(sys.executable, command, env, file_actions=outputs, setsid=True)
        os.close(tell)
        Path(self.directory, "pid").write_text(str(pid))
        with os.fdopen(told) as lines:
            heard = []
            for line in lines:
                if line.startswith(READY):
                    return Path(line.removeprefix(READY).strip())
                heard.append(line)
                self._show(line)
        raise BedUnavailable("no test control plane: " + "".join(heard[-30:]))

    def _show(self, line: str) -> None:
        """Show a line to the person who waits, whatever pytest captures; if that fails, the failure has it too."""
        with contextlib.suppress(OSError), open(self.terminal, "a") as terminal:
            terminal.write(line)


def begin() -> Session:
    """Name the run's meeting place; called in the main process while nothing is captured."""
    terminal = f"/proc/{os.getpid()}/fd/{os.dup(2)}"
    place = Path(tempfile.gettempdir(), f"hookrunner-tests-{secrets.token_hex(8)}")
    return Session(str(place), os.getpid(), terminal)


def terminate(pid: int) -> None:
    """End the process and wait for it, though it is not this one's child."""
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        signal.pidfd_send_signal(process, signal.SIGTERM)
        select.select([process], [], [], 30)
        os.close(process)
