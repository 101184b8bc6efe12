"""The programs under test, each started in its own directory and configured by shell-operator's variables.

hookrunner reads those variables too, so all programs get the same environment.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from aiohttp import ClientSession

from benchmarks import hooks, proc
from benchmarks.proc import Memory
from tests.controlplane.processes import free_port

LIMIT = 300.0
"""Seconds that anything may take."""

_STOP_WITHIN = 10.0
_LOOK = 0.01
_SETTLE, _STEADY = 0.5, 6
"""Memory is steady when it has moved by less than a percent over so many looks, so many seconds apart."""

_PATIENCE = 40
_INHERITED = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONPATH")


class TookTooLong(Exception):
    """A program did not do what was waited for, or has ended; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Program:
    """An operator: what it is called in the table, and its command line, without flags for the benchmark."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What a run of a hook has written: epoch seconds and a word."""

    at: float
    word: str


class Running:
    """A started program. `began` is the epoch second just before its start, `port` is that of its metrics."""

    def __init__(
        self, program: Program, directory: Path, kubeconfig: Path, more: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.program = program
        self._log = directory / "log"
        self._told = directory / "told"
        self._told.touch()
        self.port = free_port()
        environment = {**_environment(directory, kubeconfig, self.port), **more}
        with self._log.open("wb") as log:
            self.began = time.time()
            self._process = subprocess.Popen(
                program.command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    def lines(self) -> list[Line]:
        """What hooks have written so far."""
        text = self._told.read_text()
        parts = (line.split() for line in text[: text.rfind("\n") + 1].splitlines())
        return [Line(float(at), word) for at, word in parts]

    async def wait(self, count: int, word: str) -> list[Line]:
        """Wait for so many lines with a word. Raises TookTooLong."""
        return await self.until(
            lambda lines: sum(line.word == word for line in lines) >= count, f"{count} times {word}"
        )

    async def until(self, enough: Callable[[list[Line]], bool], what: str) -> list[Line]:
        """Wait until what the hooks have written is enough. Looking again costs nothing: hooks tell the time.

        Raises TookTooLong.
        """
        deadline = time.monotonic() + LIMIT
        while not enough(lines := self.lines()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                words = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
                raise TookTooLong(f"{self.program.name}: waited for {what}, and its log ends:\n{words}")
            await asyncio.sleep(_LOOK)
        return lines

    @property
    def children(self) -> int:
        """How many processes it has, beside itself."""
        return len(list(proc.descendants(self._process.pid)))

    @property
    def descriptors(self) -> int:
        """How many it has open, without its children."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def memory(self) -> Memory:
        """Its memory now."""
        return proc.memory(self._process.pid)

    async def steady_memory(self) -> Memory:
        """Its memory once that does not change any more, or after a long wait whatever it then is."""
        seen = [self.memory()]
        while len(seen) < _PATIENCE and not _steady([memory.total for memory in seen[-_STEADY:]]):
            await asyncio.sleep(_SETTLE)
            seen.append(self.memory())
        return seen[-1]

    def forget_peak(self) -> None:
        """Count the peak from now on."""
        proc.forget_peak(self._process.pid)

    def peak_memory(self) -> int:
        """The most bytes that it had resident, without its children."""
        return proc.peak(self._process.pid)

    def cpu_seconds(self) -> float:
        """CPU time that it and its children have used."""
        return proc.cpu_seconds(self._process.pid)

    async def metrics(self) -> list[tuple[str, float]]:
        """Its series as it exports them now: name with labels, and value."""
        async with ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}/metrics") as response:
            lines = (await response.text()).splitlines()
        return [(name, float(value)) for name, value in (s.rsplit(" ", 1) for s in lines if not s.startswith("#"))]

    def terminate(self) -> None:
        """Ask for its end."""
        self._process.terminate()

    def stop(self) -> None:
        """Ask for its end; kill what is left after a while."""
        self.terminate()
        try:
            self._process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@contextmanager
def running(
    program: Program,
    directory: Path,
    kubeconfig: Path,
    scripts: dict[str, str],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Running]:
    """Start a program on these hooks, in a directory that is not there yet; it is stopped in the end. `more` are
    variables for it."""
    hooks.write(directory / "hooks", scripts)
    operator = Running(program, directory, kubeconfig, more)
    try:
        yield operator
    finally:
        operator.stop()


def _environment(directory: Path, kubeconfig: Path, port: int) -> dict[str, str]:
    """Request rates are raised for all: the predecessor's 5 a second would measure its limit, not its work."""
    rates = {f"{client}KUBE_CLIENT_{rate}": "1000" for client in ("", "OBJECT_PATCHER_") for rate in ("QPS", "BURST")}
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **rates,
        "LC_ALL": "C",
        "KUBECONFIG": str(kubeconfig),
        "KUBE_CONFIG": str(kubeconfig),
        "SHELL_OPERATOR_HOOKS_DIR": str(directory / "hooks"),
        "SHELL_OPERATOR_TMP_DIR": str(directory / "tmp"),
        "SHELL_OPERATOR_LISTEN_ADDRESS": "127.0.0.1",
        "SHELL_OPERATOR_LISTEN_PORT": str(port),
        "DEBUG_UNIX_SOCKET": str(directory / "debug.socket"),
        "TOLD": str(directory / "told"),
    }


def _steady(sizes: list[int]) -> bool:
    return len(sizes) == _STEADY and max(sizes) - min(sizes) < 0.01 * max(sizes)
