"""Calls a pure function in place, or in a process of its own if its arguments, documents from outside, are large.

    patched = await call_by_size(size, SizeBounds(in_place=64 << 10), apply_patches, objects, patches)

Python code holds the interpreter's lock, so a thread would not let the event loop go on as it should, and cannot be
ended. A process can: when its CPU time is over, and when the caller is cancelled, as by SIGTERM. It costs a fifth of a
second to start, so what is small is done in place, and nothing is kept between two calls. Each room states by its
`SizeBounds` what is small, and how a call that is lost fails.

The function is defined at the top level of a module, and travels by its name; arguments and result are pickled.
Both ends are this program: what is in a document never becomes anything but data.
"""

import asyncio
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from signal import SIGPROF
from typing import ParamSpec, TypeVar, cast

from hookrunner.process import pure_call_worker
from hookrunner.process.worker import Worker, WorkerLost
from hookrunner.process.worker_process import LENGTH
from kubetypes.light_dataclasses import dataclass

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

PATIENCE = 60.0
"""Seconds beyond the deadline, which is of CPU time: for a machine that is busy, and for the start."""
_PART = 1 << 20
"""Bytes."""
_ROOT = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Seconds of CPU time of one call; bytes of memory beyond what the process has at its start."""

    seconds: float = 10.0
    memory: int = 1 << 30


LARGE = CallLimits(seconds=30.0, memory=2 << 30)
"""For a document of 64 MiB, twice: the values of a megabyte take some ten."""


class CallLost(Exception):
    """The call has no result: its process could not be started, or has ended. `is_expensive`: because it exceeded a
    limit, so that the same call would do so again."""

    def __init__(self, message: str, is_expensive: bool = False) -> None:
        super().__init__(message)
        self.is_expensive = is_expensive


def _as_it_is(size: int, lost: CallLost) -> Exception:
    return lost


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """Where a pure function is called, by the size of its work (bytes, about): in place up to `in_place`, in a thread
    up to `in_thread`, which suits work on one object after another, else in a process with `limits`. If that call is
    lost, `error` makes of the size and of CallLost what is raised; with `or_in_place` the function is called here."""

    in_place: int
    in_thread: int = 0
    limits: CallLimits = CallLimits()
    error: Callable[[int, CallLost], Exception] = _as_it_is
    or_in_place: bool = False


async def call_by_size(
    size: int,
    bounds: SizeBounds,
    function: Callable[_Parameters, _Result],
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """What the function returns or raises, called where the bounds say. Raises their error."""
    if size <= bounds.in_place:
        return function(*args, **kwargs)
    if size <= bounds.in_thread:
        return await asyncio.to_thread(function, *args, **kwargs)
    try:
        return await call_within(bounds.limits, function, *args, **kwargs)
    except CallLost as lost:
        if not bounds.or_in_place:
            raise bounds.error(size, lost) from None
    return function(*args, **kwargs)


async def call_within(
    limits: CallLimits,
    function: Callable[_Parameters, _Result],
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """What the function returns or raises, called in another process. Raises CallLost."""
    request = pure_call_worker.packed((function, args, kwargs))
    try:
        worker = await Worker.start("document", lambda descriptor: _spawn(descriptor, limits))
    except WorkerLost as lost:
        raise CallLost(str(lost)) from None
    try:
        answer = await _ask(worker, request, limits)
    finally:
        await worker.kill()
    returned, value = pickle.loads(answer)  # noqa: S301  # written by pure_call_worker.py
    if not returned:
        raise value
    return cast(_Result, value)


async def _spawn(descriptor: int, limits: CallLimits) -> asyncio.subprocess.Process:
    """An interpreter without an environment, which finds modules where this one does."""
    begin = f"import sys; sys.path[:] = {[*sys.path, _ROOT]!r}"
    program = f"{begin}; from hookrunner.process.pure_call_worker import main; main()"
    settings = (str(descriptor), str(limits.seconds), str(limits.memory))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", program, *settings),
        env={},
        pass_fds=(descriptor,),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def _ask(worker: Worker, request: Sequence[bytes], limits: CallLimits) -> bytes:
    try:
        async with asyncio.timeout(limits.seconds + PATIENCE):
            for piece in _parts(request):
                worker.write(piece)
                await worker.drain()
            return await worker.read_answer()
    except TimeoutError:
        raise CallLost(f"no result within {limits.seconds + PATIENCE:g} s", is_expensive=True) from None
    except (asyncio.IncompleteReadError, OSError):
        code = await worker.wait()
        if code == -SIGPROF:
            raise CallLost(f"no result within {limits.seconds:g} s of CPU time", is_expensive=True) from None
        if code == pure_call_worker.OUT_OF_MEMORY:
            raise CallLost(f"no result within {limits.memory >> 20} MiB of memory", is_expensive=True) from None
        raise CallLost(f"its process ended with exit status {code}") from None


def _parts(request: Sequence[bytes]) -> Iterator[bytes]:
    """A message with its length, in parts of which each is copied in less than a millisecond."""
    yield LENGTH.pack(sum(map(len, request)))
    for piece in request:
        for begin in range(0, len(piece), _PART):
            yield piece[begin : begin + _PART]
