"""Turns of calls in virtual time: places, lanes, pauses, and callers that give up. Level: pure."""

import asyncio

import pytest

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider.call_gate import CallGate, CallKind

pytestmark = pytest.mark.looptime


class Timetable:
    """Calls of one second, unless it is said how long, and when each began."""

    def __init__(self, gate: CallGate) -> None:
        self.gate = gate
        self.began: dict[str, float] = {}

    async def call(self, name: str, lane: str = "", kind: CallKind = CallKind.OTHERS, seconds: float = 1) -> None:
        async with self.gate.turn(kind, lane):
            self.began[name] = round(asyncio.get_running_loop().time(), 3)
            await asyncio.sleep(seconds)

    async def ask(self, name: str, seconds: float = 1) -> None:
        await self.call(name, kind=CallKind.INSTANCES, seconds=seconds)


async def test_no_more_than_the_limit_at_once_in_order() -> None:
    table = Timetable(CallGate(3))
    await asyncio.gather(*(table.call(name) for name in "abcde"))
    assert table.began == {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2}


async def test_calls_of_a_lane_do_not_run_side_by_side_and_hold_no_place_while_they_wait() -> None:
    table = Timetable(CallGate(3))
    await asyncio.gather(
        table.call("r1", "routes"), table.call("r2", "routes"), table.call("lb", "lb 1"), table.call("free")
    )
    assert table.began == {"r1": 0, "lb": 0, "free": 1, "r2": 1}


@pytest.mark.parametrize("limit", [2, 4, 256])
async def test_calls_that_hang_leave_a_place_to_those_of_the_other_kind(limit: int) -> None:
    table = Timetable(CallGate(limit))
    hanging = [asyncio.create_task(table.call(f"lb{number}", seconds=600)) for number in range(limit + 4)]
    await asyncio.sleep(5)
    await table.ask("node")
    assert (table.began.pop("node"), set(table.began.values()), len(table.began)) == (5, {0}, limit - 1)
    await asyncio.gather(*hanging)
    slow = [asyncio.create_task(table.ask(f"node{number}", 600)) for number in range(limit + 4)]
    began = asyncio.get_running_loop().time()
    await table.call("lb")
    assert table.began["lb"] == began
    await asyncio.gather(*slow)


async def test_with_one_place_the_kinds_take_turns_however_many_wait() -> None:
    table = Timetable(CallGate(1))
    others = [table.call(f"lb{number}", seconds=10) for number in range(4)]
    await asyncio.gather(*others, table.ask("node0"), table.ask("node1"))
    assert table.began == {"lb0": 0, "node0": 10, "lb1": 11, "node1": 21, "lb2": 22, "lb3": 32}


async def test_a_caller_that_gives_up_leaves_its_place_to_its_kind() -> None:
    table = Timetable(CallGate(2))
    running = [asyncio.create_task(table.call(name, seconds=10)) for name in ("lb0", "lb1", "lb2")]
    await asyncio.sleep(1)
    running[0].cancel()
    running[1].cancel()
    await asyncio.gather(table.ask("node"), *running[2:])
    assert table.began == {"lb0": 0, "node": 1, "lb2": 1}


async def test_a_pause_stops_all_turns_and_touches_none_that_runs() -> None:
    gate = CallGate(4)
    table = Timetable(gate)
    first = asyncio.create_task(table.call("first"))
    await asyncio.sleep(0.5)
    gate.pause(10)
    await asyncio.gather(first, table.call("a"), table.call("b", "routes"))
    assert table.began == {"first": 0, "a": 10.5, "b": 10.5}


async def test_a_pause_may_be_prolonged_not_shortened() -> None:
    gate = CallGate(1)
    table = Timetable(gate)
    gate.pause(10)
    waiting = asyncio.create_task(table.call("a"))
    await asyncio.sleep(1)
    gate.pause(30)
    gate.pause(1)
    assert gate.paused_until > 0
    await waiting
    assert (table.began, gate.paused_until) == ({"a": 31}, 0)


async def test_a_caller_that_gives_up_leaves_its_place_to_the_next() -> None:
    table = Timetable(CallGate(1))
    tasks = [asyncio.create_task(table.call(name, "lane" if name in "ab" else "")) for name in "abcd"]
    await asyncio.sleep(0.5)
    tasks[1].cancel()
    tasks[2].cancel()
    await asyncio.wait(tasks)
    assert table.began == {"a": 0, "d": 1}


async def test_a_caller_that_gives_up_in_the_moment_of_its_turn_loses_no_place() -> None:
    table = Timetable(CallGate(1))
    first, second = asyncio.create_task(table.call("a")), asyncio.create_task(table.call("b"))
    await asyncio.sleep(0.5)
    first.add_done_callback(lambda _: second.cancel())
    await asyncio.wait([first, second])
    await table.call("c")
    assert "c" in table.began


async def test_another_limit_counts_from_the_next_turn_on() -> None:
    gate = CallGate(1)
    table = Timetable(gate)
    tasks = [asyncio.create_task(table.call(name)) for name in "abc"]
    await asyncio.sleep(0.5)
    gate.set_limit(4)
    await asyncio.gather(*tasks)
    assert table.began == {"a": 0, "b": 0.5, "c": 0.5}


async def test_after_the_end_calls_under_way_go_on_and_all_others_are_refused_at_once() -> None:
    gate = CallGate(3)
    table = Timetable(gate)
    running = asyncio.create_task(table.call("running", "lane"))
    await asyncio.sleep(0.5)
    gate.pause(3600)
    waiting = [asyncio.create_task(table.call(name)) for name in ("paused", "queued")]
    waiting.append(asyncio.create_task(table.call("in lane", "lane")))
    await asyncio.sleep(0.1)
    gate.close()
    waiting.append(asyncio.create_task(table.call("late")))
    await asyncio.wait([*waiting, running])
    assert asyncio.get_running_loop().time() == 1
    errors = [task.exception() for task in waiting]
    assert [error.code for error in errors if isinstance(error, ProviderError)] == [ErrorCode.PENDING] * 4
    assert (running.exception(), table.began) == (None, {"running": 0})
