"""The carrier of resident hooks: processes that stay, and get one run a line (docs/hook-protocol.md).

A run that is too long for a line travels as a file to a hook that can read it. A hook with `fallback` gets a process of
its own while none of its resident ones can be started.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from hookrunner import log
from hookrunner.claimed_directories import reuse
from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks.resident.messages import Message, file_line, run_line, whole_body
from hookrunner.hooks.resident.resident_pool import RESTARTS, ResidentPool
from hookrunner.hooks.resident.resident_process import KILL_AFTER, ResidentProcess
from hookrunner.hooks.run_documents import ReadAnswer, encode_run, judged, read_answer
from hookrunner.model.bindings import Hook, Resident
from hookrunner.model.hook_runs import Run, RunResult
from hookrunner.model.json_objects import IN_PLACE
from hookrunner.model.operations import Answer, Usage
from hookrunner.model.status import ResidentDump
from hookrunner.process.child import Command
from hookrunner.process.children import Children
from hookrunner.process.line_session import BadLine
from hookrunner.process.output import HookLog, LineSink
from hookrunner.process.pure_calls import LARGE, SizeBounds, call_by_size
from hookrunner.process.spawn import why_not_startable
from hookrunner.safe_files import create_file
from hookrunner.settings import HooksSettings
from kubetypes.bounds import in_units

FILE_FROM = 4 << 20
"""Bytes of a run that comes as a file, to a hook that can read one."""
ANSWER_BOUNDS = SizeBounds(
    IN_PLACE // 2,
    limits=LARGE,
    error=lambda size, lost: BadOutput(f"the answer of {size:,} bytes cannot be read: {lost}"),
)
"""As for conversions, which are what large answers are made of."""

_log = log.get(__name__)


class RunsByFiles(Protocol):
    """`FileCarrier`, as `hook_process.py` makes it."""

    async def carry(self, run: Run, sink: LineSink) -> RunResult: ...


class LineCarrier:
    """Keeps the processes of all resident hooks. `files` carries the runs of one that falls back."""

    def __init__(self, settings: HooksSettings, children: Children, files: RunsByFiles) -> None:
        self._files = files
        self._settings = settings
        self._children = children
        self._pools: dict[str, ResidentPool] = {}

    async def carry(self, run: Run, sink: LineSink) -> RunResult:
        """As `Carrier.carry`."""
        pool = self._pool(run.hook)
        try:
            if pool.falls_back and pool.is_failing():
                return await self._files.carry(run, sink)
            process = await pool.claim()
        except HookFailed as error:
            if not pool.falls_back:
                raise
            _log.warn("resident hook cannot be started, it gets a process of its own", error=error)
            return await self._files.carry(run, sink)
        return await self._carry(pool, process, run, sink)

    async def _carry(self, pool: ResidentPool, process: ResidentProcess, run: Run, sink: LineSink) -> RunResult:
        recycle = False
        try:
            began, before = time.monotonic(), process.used
            message = await self._ask(process, run, sink)
            after = process.used = process.usage.read()
            usage = Usage(time.monotonic() - began, after[0] - before[0], after[1] - before[1], after[2])
            answer, recycle = await _read_answer(message, run)
            return RunResult(answer, usage)
        finally:
            pool.release(process, recycle)

    def states(self) -> Iterator[tuple[Hook, ResidentDump]]:
        """What is shown of the processes of each hook."""
        for pool in self._pools.values():
            yield pool.hook, pool.state()

    def retire(self, hook: Hook) -> None:
        """The hook is removed: end its processes when they have answered."""
        if pool := self._pools.pop(hook.name, None):
            pool.retire()

    async def close(self) -> int:
        """End all processes. Runs are asked to end soon; returns how many had to be ended."""
        return sum(await asyncio.gather(*(pool.close() for pool in self._pools.values())))

    def _pool(self, hook: Hook) -> ResidentPool:
        pool = self._pools.get(hook.name)
        if pool is None or not _is_same(pool.hook, hook):
            if pool:
                pool.retire()
            settings = hook.config.settings.resident or Resident()
            command = _command(self._settings, hook)
            start = Start(hook, command, self._children, HookLog(self._settings.proxy_json))
            pool = self._pools[hook.name] = ResidentPool(hook, settings, start, RESTARTS)
        return pool

    async def _ask(self, process: ResidentProcess, run: Run, sink: LineSink) -> Message:
        run_id = process.new_id()
        deadline = time.time() + run.timeout if run.timeout else None
        pieces = encode_run(run, run_id, deadline)
        line = await asyncio.to_thread(run_line, pieces) if run.is_large else run_line(pieces)
        if len(line) <= FILE_FROM or "file" not in process.hello.capabilities:
            largest = (run.hook.config.settings.resident or Resident()).max_line
            if len(line) > largest:
                raise HookFailed(f"the run has more than {in_units(largest)}, and the hook reads no files: see `file`")
            return await process.ask(run_id, line, run, sink)
        with self._file(line) as path:
            return await process.ask(run_id, file_line(run_id, path), run, sink)

    @contextmanager
    def _file(self, line: bytes) -> Iterator[str]:
        """A run in a file, until it is answered."""
        directory = self._settings.run_directory or self._settings.tmp_dir
        reuse(directory)
        path = f"{directory}/resident-run-{uuid4()}.json"
        try:
            with open(create_file(path), "wb") as file:
                file.write(line)
            yield path
        except OSError as error:
            raise HookFailed(f"cannot write the run to {directory}: {error.strerror}; free space there") from error
        finally:
            Path(path).unlink(missing_ok=True)


async def find_problem(settings: HooksSettings, hook: Hook, children: Children, sink: LineSink) -> str:
    """Start a process of the hook, exchange hellos and end it: what is wrong with that, empty if nothing. It gets no
    run: that might change something."""
    try:
        process = await Start(hook, _command(settings, hook), children, sink)()
    except HookFailed as error:
        return str(error)
    return await process.end()


class Start:
    """Starts a process of a hook."""

    def __init__(self, hook: Hook, command: Command, children: Children, sink: LineSink) -> None:
        self._hook = hook
        self._command = command
        self._children = children
        self._sink = sink

    async def __call__(self) -> ResidentProcess:
        path = self._hook.path
        if not self._hook.prefix and (reason := why_not_startable(path)):
            raise HookFailed(f"cannot start {path}: {reason}")
        with log.bound(**self._hook.fields):
            return await ResidentProcess.start(self._hook, self._command, self._children, self._sink)


def _command(settings: HooksSettings, hook: Hook) -> Command:
    """The hook with `--resident`, where a run of its own would be."""
    channels = {"HOOKRUNNER_REQUESTS": "/dev/fd/3", "HOOKRUNNER_ANSWERS": "/dev/fd/4"}
    return Command(
        argv=(*hook.prefix, str(hook.path), "--resident"),
        cwd=hook.directory,
        env={**settings.environ, **hook.environ, **channels},
        keep_stderr=0,
        kill_after=KILL_AFTER,
    )


def _is_same(one: Hook, other: Hook) -> bool:
    """Would their processes be the same?"""
    return one == other and one.environ == other.environ and one.config.settings == other.config.settings


async def _read_answer(message: Message, run: Run) -> tuple[Answer, bool]:
    """The answer, and whether the hook asks for a new process. Raises ExitedBadly, BadOutput."""
    has = (run.has_values, run.has_instance)
    read = await call_by_size(len(message.text), ANSWER_BOUNDS, _read, message, *has)
    return judged(read, run), read.recycle


def _read(message: Message, has_values: bool, has_instance: bool) -> ReadAnswer:
    """A pure function, which another process calls for a large answer."""
    try:
        body = whole_body(message)
    except BadLine as error:
        raise BadOutput(str(error)) from None
    return read_answer(body, has_values, has_instance)
