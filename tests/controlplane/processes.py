"""The control plane's programs as child processes that never outlive the process which started them."""

import atexit
import itertools
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

TETHER = Path(__file__).with_name("tether.py")

GARBAGE = {"GOGC": "800", "GOMEMLIMIT": "1GiB"}
"""Go's garbage collector took a fifth of the control plane's CPU. It now waits for eight times the live heap, or for a
gibibyte; variables of the test run win."""

BLOCK = 200
"""Ports for one process with tests."""


class Processes:
    """Named children with a log file each. Stopping means SIGKILL: nothing that they hold is worth a farewell."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # Children are tethered to the thread that forks them, so one thread forks them all and lives as long as they
        # do; otherwise a start from `asyncio.to_thread` would end with its pool.
        self._forker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="control-plane")

    def start(self, name: str, command: list[str]) -> None:
        """Start a program in a process group of its own, so that Ctrl-C in the terminal does not reach it."""
        self._running[name] = self._forker.submit(self._fork, name, command).result()

    def _fork(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log(name).open("ab") as log:
            return subprocess.Popen(
                tethered(*command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                env={**GARBAGE, **os.environ},
            )

    def stop(self, name: str) -> None:
        """Kill a program and wait until it is gone; one that does not run is left alone."""
        if process := self._running.pop(name, None):
            process.kill()
            process.wait()

    def stop_all(self) -> None:
        """Kill all programs, then wait for them."""
        for process in self._running.values():
            process.kill()
        for name in list(self._running):
            self.stop(name)
        self._forker.shutdown()

    def ended(self) -> list[str]:
        """Return the names of those that ended by themselves, which none should."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def pids(self) -> list[int]:
        return [process.pid for process in self._running.values()]

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def last_words(self, name: str) -> str:
        """Return the end of the program's log, for an error message."""
        return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-20:])


def tethered(*command: str) -> list[str]:
    """The command of a program that ends with this process, however that ends."""
    return [sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), *command]


def free_port() -> int:
    """Return a free loopback port that no other process with tests on this machine gets, and this one not again soon.
    Such ports are below the range of outgoing connections, so that they stay free while unused."""
    _, ports = _block()
    while True:
        port = next(ports)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@cache
def _block() -> tuple[socket.socket, Iterator[int]]:
    """The ports of this process in turn, and what keeps others off them as long as it lives: an abstract name."""
    blocks = list(range(20_000, 32_000, BLOCK))
    random.SystemRandom().shuffle(blocks)
    for first in blocks:
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0hookrunner-test-ports-{first}")
        except OSError:
            name.close()
        else:
            atexit.register(name.close)  # held until then
            return name, itertools.cycle(range(first, first + BLOCK))
    raise OSError(f"{len(blocks)} processes with tests run on this machine: no ports are left for another")
