"""A Pod of one container, run from an unpacked image as a node would run it, but in the network of this machine.

It has a PID namespace, in which its command is process 1, a read-only root, mounts of its own, the user of the image or
another one, and no capability. No kubelet runs here: probes, restarts and limits are not part of it.
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.controlplane.processes import tethered
from tests.flows.waiting import until
from tests.image.build import Image

SETPRIV = "/usr/bin/setpriv --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs"


@dataclass(frozen=True)
class Container:
    """As in a Pod: `command` stands in place of the image's entry point and command, `user` is UID:GID, `mounts` are
    paths in the container with files or directories of this machine, which it can only read, `memory` are directories
    that begin empty."""

    image: Image
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, Path] = field(default_factory=dict)
    memory: tuple[str, ...] = ("/tmp",)
    user: str = ""

    def script(self) -> str:
        """What a shell does that is process 1 of new namespaces of processes and mounts: it becomes the command."""
        root = self.image.root
        lines = ["mount --make-rprivate /", f"mount --bind {root} {root}"]
        lines += [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        lines += [f"mount -t tmpfs -o mode=1777 tmpfs {root}{path}" for path in self.memory]
        lines += [f"mount --bind {shlex.quote(str(source))} {root}{path}" for path, source in self.mounts.items()]
        lines += [f"mount -o remount,bind,ro {root}{path}" for path in self.mounts]
        lines += [f"mount -o remount,bind,ro {root}", f"exec {shlex.join(self._words())}"]
        return "\n".join(["set -e", *lines])

    def make_mountpoints(self) -> None:
        """In the unpacked image, as container runtimes do. Containers at the same time may make the same ones."""
        for path, source in self.mounts.items():
            point = Path(f"{self.image.root}{path}")
            if source.is_dir():
                point.mkdir(parents=True, exist_ok=True)
            else:
                point.parent.mkdir(parents=True, exist_ok=True)
                point.touch()

    def _words(self) -> list[str]:
        user, _, group = (self.user or self.image.config["User"]).partition(":")
        environ = {**self.image.environ, **self.environ}
        variables = [f"{name}={value}" for name, value in environ.items()]
        identity = [f"--reuid={user}", f"--regid={group}"]
        command = self.command or self.image.command
        return ["env", "-i", *variables, "chroot", str(self.image.root), *SETPRIV.split(), *identity, "--", *command]


class Pod:
    """A running container; its output is in `log`. It does not outlive this process."""

    def __init__(self, container: Container, log: Path) -> None:
        container.make_mountpoints()
        self.log = log
        with log.open("ab") as output:
            unshare = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
            self._process = subprocess.Popen(
                tethered(*unshare, "/bin/sh", "-c", container.script()),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def send(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to process 1, as a kubelet does."""
        os.kill(self.first_pid(), number)

    async def ended(self) -> int:
        """Wait for its end; the exit code."""
        await until(lambda: self._process.poll() is not None, lambda: f"the end of the container\n{self.story()}")
        return self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def first_pid(self) -> int:
        """Its process 1, by the number that it has outside."""
        pid = self._process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    def processes(self) -> dict[int, dict[str, str]]:
        """The fields of /proc/PID/status of each of its processes, by the PID inside."""
        space = os.readlink(f"/proc/{self.first_pid()}/ns/pid")
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                inside = os.readlink(directory / "ns/pid") == space
                lines = (directory / "status").read_text().splitlines() if inside else []
            except OSError:  # it has ended, or is a zombie that has no namespaces any more
                continue
            fields = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
            if fields:
                found[int(fields["NSpid"].split()[-1])] = fields
        return found

    def story(self) -> str:
        """The end of its output, for the reader of a failure."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])
