"""Runs Python scripts in children of prepared interpreters: one for each Python and environment, started when a script
needs it, replaced when a file of it has changed, and ended when it has had nothing to do for a while.

    spawned = await interpreters.spawn(command)     # or NotForked: the command needs a process of its own

Isolation is that of a process: a child gets its memory from an interpreter that has run no script. Nothing of a run
but paths and names of variables is ever in that.
"""

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from hookrunner import log
from hookrunner.process.child import Command, ForkTerms, Spawned
from hookrunner.process.prepared_interpreter import Outdated, PreparedInterpreter
from hookrunner.process.python_script import NoPython, NotForked, PythonScript, file_of, find_script

_STARTS, _WITHIN = 6, 60.0
"""An interpreter is started so often within so many seconds."""
_LARGEST = 1 << 16
"""Bytes of a request: what has more in its environment gets a process of its own."""
_PAGE = os.sysconf("SC_PAGE_SIZE")

_log = log.get(__name__)


class PreparedInterpreters:
    """The prepared interpreters of this process. `idle` are seconds after which one without work ends, 0 for never.
    `reports` say by script how its last run was started."""

    def __init__(self, idle: float = 300.0) -> None:
        self.reports: dict[str, str] = {}
        self._idle = idle
        self._slots: dict[object, _Slot] = {}
        self._is_stopped = False

    async def spawn(self, command: Command) -> Spawned:
        """Start a command that is a Python script, as a child of this process. Raises NotForked: nothing was
        started."""
        try:
            return await self._fork(command, find_script(command))
        except NoPython:
            raise
        except NotForked as reason:
            self._report(command, str(reason))
            raise

    @property
    def pids(self) -> set[int]:
        """The processes of the interpreters themselves."""
        return {slot.interpreter.pid for slot in self._slots.values() if slot.interpreter}

    @property
    def is_forking(self) -> bool:
        """Whether there may be children whose ids are not known yet."""
        return any(slot.interpreter and not slot.interpreter.is_idle for slot in self._slots.values())

    def memory(self) -> Iterator[tuple[tuple[str, ...], float]]:
        """Resident bytes by the path of the interpreter, shared pages included."""
        sizes: Counter[str] = Counter()
        for slot in self._slots.values():
            if slot.interpreter and slot.interpreter.is_usable:
                sizes[slot.words[0]] += _resident(slot.interpreter.pid)
        return (((path,), float(size)) for path, size in sizes.items())

    async def stop(self) -> None:
        """End all of them, and start no other one."""
        self._is_stopped = True
        for slot in self._slots.values():
            await slot.stop()

    async def _fork(self, command: Command, script: PythonScript) -> Spawned:
        terms = command.fork or ForkTerms()
        shared = {name: value for name, value in command.env.items() if name not in terms.variables}
        key = (script.interpreter, frozenset(shared.items()))
        slot = self._slots.setdefault(key, _Slot(script.interpreter, shared, self._idle))
        request = _encode(command, script, terms)
        while not self._is_stopped:
            interpreter = await slot.take()
            try:
                spawned = await interpreter.fork(script.path, request)
            except Outdated as reason:
                slot.replace(interpreter, reason)
                continue
            except NotForked as reason:
                slot.why = slot.why if interpreter.is_usable else str(reason)
                raise
            finally:
                slot.rest()
            note = interpreter.notes.get(script.path, "")
            reasons = [why for name, why in slot.excluded.items() if f"{name} is not prepared" in note]
            self._report(command, "", "; ".join([note, *reasons]))
            return spawned
        raise NotForked("hookrunner is stopping")

    def _report(self, command: Command, reason: str, note: str = "") -> None:
        report = f"a process of its own: {reason}" if reason else f"a fork of a prepared Python ({note})"
        path = file_of(command)
        if self.reports.get(path) != report:
            self.reports[path] = report
            _log.debug("carrier of a Python script", path=path, reason=report)


class _Slot:
    """The place of one interpreter, which may have ended, or is not needed now."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str], idle: float) -> None:
        self.words = words
        self.interpreter: PreparedInterpreter | None = None
        self.excluded: dict[str, str] = {}
        """Modules that must not be imported, and why."""
        self._environment = environment
        self._idle = idle
        self._timer: asyncio.TimerHandle | None = None
        self._starts: deque[float] = deque(maxlen=_STARTS)
        self.why = ""
        self._starting = asyncio.Lock()

    async def take(self) -> PreparedInterpreter:
        """The interpreter, started if that is necessary. Raises NotForked."""
        self._cancel_timer()
        async with self._starting:
            if self.interpreter and self.interpreter.is_usable:
                return self.interpreter
            now = time.monotonic()
            if len(self._starts) == _STARTS and now - self._starts[0] < _WITHIN:
                raise NotForked(f"a Python was prepared {_STARTS} times within a minute; the last time {self.why}")
            self._starts.append(now)
            self.interpreter = await PreparedInterpreter.start(self.words, self._environment, self.excluded)
            return self.interpreter

    def replace(self, interpreter: PreparedInterpreter, reason: Outdated) -> None:
        """The next one to be taken is another one."""
        self.why = str(reason)
        self.excluded |= dict.fromkeys(reason.excluded, self.why)
        interpreter.close()
        _log.debug("another Python is prepared", path=self.words[0], reason=str(reason))

    def rest(self) -> None:
        """End it after a while, if nothing else needs it until then."""
        self._cancel_timer()
        if self._idle and self.interpreter and self.interpreter.is_usable and self.interpreter.is_idle:
            self._timer = asyncio.get_running_loop().call_later(self._idle, self.interpreter.close)

    async def stop(self) -> None:
        self._cancel_timer()
        if self.interpreter:
            await self.interpreter.stop()

    def _cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()


def _encode(command: Command, script: PythonScript, terms: ForkTerms) -> bytes:
    """A request, as `fork_server.py` reads it. Raises NotForked."""
    own = [f"{name}={value}" for name, value in command.env.items() if name in terms.variables]
    head = (str(command.cwd.absolute()), script.path, script.name, ",".join(terms.packages))
    fields = (*head, str(len(script.arguments)), *script.arguments, *own)
    request = b"\0".join(map(os.fsencode, fields))
    if len(request) > _LARGEST or request.count(b"\0") != len(fields) - 1:
        raise NotForked("its arguments or variables are too long, or hold a NUL")
    return request


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0
