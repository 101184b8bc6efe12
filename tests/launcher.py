"""Starts hookrunner as a process of its own, without paying for its imports each time.

A start costs 0.9 s of CPU in the program itself, 0.8 of them for imports, and the suite starts it hundreds of times. So
the first start of a test run begins a server (this file, run as a module) that imports everything. Each start is a fork
of it, which then runs `python -m hookrunner WORDS`. It differs from a program that was executed: its parent is the
server, `/proc/PID/environ` and `cmdline` are the server's, and it begins with more memory; its first child, the lookup
of the cluster, is a fork too, and so are its render workers (`tests/forked_children.py`); and it ends at once, with its
objects in place. Tests that look at these execute the program, and so do tests of what a user types.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

from tests.controlplane.processes import tethered

REQUEST = 1 << 18
"""The most bytes of a request: the words of a command and its variables."""
PR_SET_PDEATHSIG = 1
PACKAGES = ("hookrunner", "kubesandbox", "kubetypes")
UNLOADED = ("__main__", "testing.plugin", "charts.helm_library", "jq.worker")
"""Ends of the names of modules that this program does not load: they are for other processes. Hazard: the Helm library
starts threads and leaves files open, and a process with threads must not fork."""


class Program:
    """A started program, with those methods of subprocess.Popen that tests use. It leads a process group."""

    def __init__(self, reports: socket.socket) -> None:
        self._reports = reports
        self._code: int | None = None
        self.pid = int(reports.recv(64))

    def poll(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it runs."""
        return self._receive(socket.MSG_DONTWAIT)

    def wait(self) -> int:
        """Wait for its end; the exit code as of `poll`."""
        code = self._receive(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _receive(self, flags: int) -> int | None:
        if self._code is None:
            with contextlib.suppress(BlockingIOError):
                report = self._reports.recv(64, flags)
                assert report, "the server of tests/launcher.py has ended"
                self._code = int(report)
                self._reports.close()
        return self._code


def start(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdout: int, stderr: int) -> Program:
    """Start `hookrunner WORDS` with these variables only and an empty standard input; an absolute path as first word is
    the file that it is started as, whose name counts. It does not outlive the server, which does not outlive this
    process."""
    sys.audit("subprocess.Popen", sys.executable, [sys.executable, "-m", "hookrunner", *words], str(cwd), dict(env))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        request = json.dumps({"words": [*words], "cwd": str(cwd), "env": {**env}}).encode()
        assert len(request) < REQUEST
        socket.send_fds(_server(), [request], [theirs.fileno(), stdout, stderr])
    return Program(ours)


def execute(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """As `start`, but as everywhere else: a new process executes Python."""
    command = tethered(sys.executable, "-m", "hookrunner", *words)
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=cwd, env=env, process_group=0
    )


def start_piped(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> tuple[Program, IO[str]]:
    """As `start`; what it prints, errors too, is read from the file, which ends with the program."""
    ours, theirs = os.pipe()
    try:
        program = start(words, cwd=cwd, env=env, stdout=theirs, stderr=theirs)
    finally:
        os.close(theirs)
    return program, os.fdopen(ours)


def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `hookrunner WORDS` to its end; its exit code and what it printed."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        code = start(words, cwd=cwd, env=env, stdout=output.fileno(), stderr=errors.fileno()).wait()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([*words], code, output.read(), errors.read())


@cache
def _server() -> socket.socket:
    """Begin the server of this process; it ends when this process has ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * REQUEST)
    words = [sys.executable, "-m", "tests.launcher", str(theirs.fileno())]
    with theirs:
        server = subprocess.Popen(
            words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd=Path(__file__).parents[1], process_group=0
        )
    atexit.register(_end, server, ours)
    return ours


def _end(server: subprocess.Popen[bytes], requests: socket.socket) -> None:
    requests.close()
    server.wait()


class Server:
    """Forks for each request, and reports each child's pid and end."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        self._reports: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> list[str]:
        """Serve until the process that asks has ended; returns in each child, with the words of its command."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._requests:
                    self._report_end(key.fd)
                elif (words := self._fork()) is not None:
                    return words

    def _fork(self) -> list[str] | None:
        message, descriptors, _, _ = socket.recv_fds(self._requests, REQUEST, 3)
        if not message:
            os._exit(0)
        request = json.loads(message)
        words: list[str] = request.pop("words")
        reports = socket.socket(fileno=descriptors[0])
        child = os.fork()
        if child:
            self._watch(child, reports)
        else:
            reports.close()
            self._close()
            become(**request, stdout=descriptors[1], stderr=descriptors[2])
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        return None if child else words

    def _watch(self, child: int, reports: socket.socket) -> None:
        reports.send(str(child).encode())
        end = os.pidfd_open(child)
        self._reports[end] = (child, reports)
        self._selector.register(end, selectors.EVENT_READ)

    def _report_end(self, end: int) -> None:
        child, reports = self._reports.pop(end)
        self._selector.unregister(end)
        os.close(end)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with reports, contextlib.suppress(BrokenPipeError):
            reports.send(str(code).encode())

    def _close(self) -> None:
        self._selector.close()
        self._requests.close()
        for end, (_, reports) in self._reports.items():
            os.close(end)
            reports.close()


def become(*, cwd: str, env: Mapping[str, str], stdout: int, stderr: int) -> None:
    """Make this process like one that was just started in a terminal, with this directory and these variables."""
    server = os.getppid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup(1) may have started the tests
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    tempfile.tempdir = None
    if os.getppid() != server:
        sys.exit("the server ended before this program began")


def import_all() -> None:
    """Import what the program may import; memory of it is shared by all forks."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith(UNLOADED):
                importlib.import_module(module.name)
    assert len(os.listdir("/proc/self/task")) == 1, "a module starts threads when it is imported: add it to UNLOADED"
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve; in a child, become the program."""
    # Imported here: it imports the `kubernetes` package, which processes that only ask this server need not have.
    from tests.forked_children import install as install_forked_children

    import_all()
    words = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    install_forked_children()
    end_at_once(lambda: run_program(words))


def run_program(words: Sequence[str]) -> None:
    """Be hookrunner, started with these words."""
    if words[:1] and words[0].startswith("/"):
        sys.argv = [*words]
        importlib.import_module("hookrunner.cli.main").main()
    sys.argv = ["hookrunner", *words]
    runpy.run_module("hookrunner", run_name="__main__", alter_sys=True)


def end_at_once(program: Callable[[], None]) -> NoReturn:
    """Run a program and end with its exit code as Python does, but without taking its objects apart: that would copy
    nearly all the memory that it shares with the server, which costs 50 ms of CPU."""
    code = 0
    try:
        program()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
