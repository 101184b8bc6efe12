"""Functions that are called in a process of their own: results, errors, deadlines, cancellation."""

import asyncio
import os
from pathlib import Path

import pytest

from hookrunner.errors import BadPatch
from hookrunner.process.pure_calls import CallLimits, CallLost, call_apart, call_by_size, call_within
from tests.flows.waiting import until


def refuse(place: str) -> None:
    raise BadPatch("NoMatch", f"{place}: nothing")


def reverse(texts: list[bytes]) -> list[bytes]:
    return texts[::-1]


def spin() -> None:
    while True:
        pass


def spin_and_write(path: Path) -> None:
    path.write_text(str(os.getpid()))
    spin()


async def test_result_comes_from_another_process() -> None:
    assert await call_apart(os.getpid) != os.getpid()
    assert await call_apart(sorted, [3, 1, 2], reverse=True) == [3, 2, 1]


@pytest.mark.parametrize(("work", "is_here"), [(10, True), (11, False)])
async def test_only_large_work_is_done_in_another_process(work: int, is_here: bool) -> None:
    assert (await call_by_size(work, 10, os.getpid) == os.getpid()) is is_here


async def test_large_texts_travel_in_both_directions() -> None:
    text = os.urandom(5 << 20)
    assert await call_apart(reverse, [text, b"a", text[:100_000]]) == [text[:100_000], b"a", text]


async def test_error_of_the_function_is_raised_with_its_attributes() -> None:
    with pytest.raises(BadPatch, match=r"^a: nothing$") as refused:
        await call_apart(refuse, "a")
    assert refused.value.reason == "NoMatch"


async def test_call_ends_with_its_cpu_time() -> None:
    with pytest.raises(CallLost, match=r"no result within 0\.2 s of CPU time") as lost:
        await call_within(CallLimits(seconds=0.2), spin)
    assert lost.value.is_expensive


async def test_call_ends_with_its_memory() -> None:
    with pytest.raises(CallLost, match="no result within 64 MiB of memory") as lost:
        await call_within(CallLimits(memory=64 << 20), bytes, 1 << 30)
    assert lost.value.is_expensive


async def test_process_that_ends_by_itself_is_no_expensive_call() -> None:
    with pytest.raises(CallLost, match="exit status 3") as lost:
        await call_apart(os._exit, 3)
    assert not lost.value.is_expensive


async def test_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    call = asyncio.create_task(call_apart(spin_and_write, path))
    await until(lambda: path.exists() and path.read_text() != "", "the call to run")
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)
