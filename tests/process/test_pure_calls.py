"""Functions that are called in a process of their own: results, errors, deadlines, cancellation. Level: pure."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from hookrunner.errors import BadPatch
from hookrunner.process.pure_calls import CallLimits, CallLost, SizeBounds, call_by_size, call_within
from tests.flows.waiting import until
from tests.tables import each


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
    assert await call_within(CallLimits(), os.getpid) != os.getpid()
    assert await call_within(CallLimits(), sorted, [3, 1, 2], reverse=True) == [3, 2, 1]


@each(("work", "is_here"), [(10, True), (11, False)])
async def test_only_large_work_is_done_in_another_process(work: int, is_here: bool) -> None:
    assert (await call_by_size(work, SizeBounds(10), os.getpid) == os.getpid()) is is_here


@each(("work", "is_main"), [(10, True), (11, False)])
async def test_work_of_middle_size_is_done_in_a_thread(work: int, is_main: bool) -> None:
    bounds = SizeBounds(10, in_thread=11)
    assert (await call_by_size(work, bounds, threading.get_ident) == threading.get_ident()) is is_main
    assert await call_by_size(work, bounds, os.getpid) == os.getpid()


async def test_lost_call_fails_as_its_bounds_say() -> None:
    bounds = SizeBounds(0, error=lambda size, lost: BadPatch("MergeFailed", f"{size} bytes: {lost}"))
    with pytest.raises(BadPatch, match=r"^7 bytes: its process ended with exit status 3"):
        await call_by_size(7, bounds, os._exit, 3)
    with pytest.raises(CallLost, match="exit status 3"):
        await call_by_size(7, SizeBounds(0), os._exit, 3)


async def test_lost_call_is_made_in_place_where_its_bounds_say_so() -> None:
    limits = CallLimits(seconds=0.001)
    assert await call_by_size(1, SizeBounds(0, limits=limits, or_in_place=True), sum, range(3_000_000)) > 0


@pytest.mark.slow
async def test_large_texts_travel_in_both_directions() -> None:
    text = os.urandom(5 << 20)
    assert await call_within(CallLimits(), reverse, [text, b"a", text[:100_000]]) == [text[:100_000], b"a", text]


@pytest.mark.slow
async def test_error_of_the_function_is_raised_with_its_attributes() -> None:
    with pytest.raises(BadPatch, match=r"^a: nothing$") as refused:
        await call_within(CallLimits(), refuse, "a")
    assert refused.value.reason == "NoMatch"


@pytest.mark.slow
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
        await call_within(CallLimits(), os._exit, 3)
    assert not lost.value.is_expensive


@pytest.mark.slow
async def test_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    call = asyncio.create_task(call_within(CallLimits(), spin_and_write, path))
    await until(lambda: path.exists() and path.read_text() != "", "the call to run")
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)
