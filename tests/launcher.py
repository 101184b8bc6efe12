"""Starts hookrunner as a process of its own, without paying for its imports each time.

A start costs 0.9 s of CPU in the program itself, 0.8 of them for imports, and the suite starts it hundreds of times. So
the first start of a test run begins a server (this file, run as a module) that imports everything; all workers of the
run share it. Each start is a fork of it, which then runs `python -m hookrunner WORDS`. It differs from a program that
was executed: its parent is the server, `/proc/PID/environ` and `cmdline` are the server's, and it begins with more
memory; its first child, the lookup of the cluster, is a fork too, and so are its render workers
(`tests/forked_children.py`); and it ends at once, with its objects in place. Tests that look at these execute the
program, and so do tests of what a user types.
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
import secrets
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
from typing import IO, NamedTuple, NoReturn, cast

from tests.controlplane.processes import tethered

REQUEST = 1 << 18
"""The most bytes of a request: the words of a command and its variables."""
ADDRESS = "HOOKRUNNER_TESTS_LAUNCHER"
"""The variable with the name of the socket of a server that this process shares with others."""
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


def share() -> None:
    """Begin a server for this process and for all that it starts: the workers of a run."""
    os.environ[ADDRESS] = _begin()


@cache
def _server() -> socket.socket:
    """A connection to the server, one of this process if none is shared; with it end the programs started by it."""
    requests = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * REQUEST)
    requests.connect(f"\0{os.environ.get(ADDRESS) or _begin()}")
    atexit.register(requests.close)
    return requests


def _begin() -> str:
    """Begin a server, which ends when this process has ended; the abstract name of its socket."""
    address = f"hookrunner-tests-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"\0{address}")
        listening.listen()
        number, cwd = listening.fileno(), Path(__file__).parents[1]
        words = [sys.executable, "-m", "tests.launcher", str(number), str(os.getpid())]
        server = subprocess.Popen(words, pass_fds=[number], stdin=subprocess.DEVNULL, cwd=cwd, process_group=0)
    atexit.register(_end, server)
    return address


def _end(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()


class Server:
    """Forks for each request, and reports each child's pid and end. Children end with the connection that asked."""

    def __init__(self, listening: socket.socket, owner: int) -> None:
        self._listening = listening
        self._owner = os.pidfd_open(owner)
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._owner, selectors.EVENT_READ)
        self._children: dict[int, Child] = {}

    def serve(self) -> list[str]:
        """Serve until the owner has ended; returns in each child, with the words of its command."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == self._owner:
                    os._exit(0)
                elif key.fileobj is self._listening:
                    import_all()  # the first asker waits; a run in which no program is started does not pay
                    self._selector.register(self._listening.accept()[0], selectors.EVENT_READ)
                elif key.fd in self._children:
                    self._report_end(key.fd)
                elif (words := self._fork(cast(socket.socket, key.fileobj))) is not None:
                    return words

    def _fork(self, requests: socket.socket) -> list[str] | None:
        message, descriptors, _, _ = socket.recv_fds(requests, REQUEST, 3)
        if not message:
            self._hang_up(requests)
            return None
        request = json.loads(message)
        words: list[str] = request.pop("words")
        reports = socket.socket(fileno=descriptors[0])
        child = os.fork()
        if child:
            self._watch(Child(child, reports, requests))
        else:
            reports.close()
            self._close()
            become(**request, stdout=descriptors[1], stderr=descriptors[2])
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        return None if child else words

    def _watch(self, child: "Child") -> None:
        child.reports.send(str(child.pid).encode())
        end = os.pidfd_open(child.pid)
        self._children[end] = child
        self._selector.register(end, selectors.EVENT_READ)

    def _report_end(self, end: int) -> None:
        child = self._children.pop(end)
        self._selector.unregister(end)
        os.close(end)
        code = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        with child.reports, contextlib.suppress(BrokenPipeError):
            child.reports.send(str(code).encode())

    def _hang_up(self, requests: socket.socket) -> None:
        """A process that asked has ended: kill what it has started."""
        self._selector.unregister(requests)
        requests.close()
        for child in self._children.values():
            if child.requests is requests:
                os.kill(child.pid, signal.SIGKILL)

    def _close(self) -> None:
        for key in [*self._selector.get_map().values()]:
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            else:
                os.close(key.fd)
        self._selector.close()
        for child in self._children.values():
            child.reports.close()


class Child(NamedTuple):
    """A forked program: its pid, where its end is reported, and the connection that asked for it."""

    pid: int
    reports: socket.socket
    requests: socket.socket


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


@cache
def import_all() -> None:
    """Import what the program may import; memory of it is shared by all forks."""
    # It imports the `kubernetes` package, which processes that only ask the server need not have.
    importlib.import_module("tests.forked_children")
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith(UNLOADED):
                importlib.import_module(module.name)
    assert len(os.listdir("/proc/self/task")) == 1, "a module starts threads when it is imported: add it to UNLOADED"
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve; in a child, become the program."""
    words = Server(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])).serve()
    importlib.import_module("tests.forked_children").install()
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
