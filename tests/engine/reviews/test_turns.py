"""Turns: never more than there are, first come first served, and none is lost when a waiting one goes away."""

import asyncio
from contextlib import suppress

from hookrunner.engine.reviews.turns import Turns


class Queue:
    """Some who want a turn, by number; whoever has one keeps it until `leave`."""

    def __init__(self, turns: Turns, people: int) -> None:
        self._turns = turns
        self.running: list[int] = []
        self._ends = [asyncio.Event() for _ in range(people)]
        self.tasks = [asyncio.create_task(self._person(number)) for number in range(people)]

    async def _person(self, number: int) -> None:
        await self._turns.take()
        self.running.append(number)
        try:
            await self._ends[number].wait()
        finally:
            self.running.remove(number)
            self._turns.give_back()

    async def leave(self, *numbers: int) -> None:
        for number in numbers:
            self._ends[number].set()
        await settled()

    async def close(self) -> None:
        await self.leave(*range(len(self._ends)))
        for task in self.tasks:
            with suppress(asyncio.CancelledError):
                await task


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_run_than_there_are_turns_and_the_first_who_came_is_next() -> None:
    queue = Queue(Turns(2), 5)
    await settled()
    assert queue.running == [0, 1]
    await queue.leave(1)
    assert queue.running == [0, 2]
    await queue.leave(0, 2)
    assert queue.running == [3, 4]
    await queue.close()


async def test_nobody_overtakes_those_who_wait() -> None:
    turns = Turns(1)
    queue = Queue(turns, 2)
    await settled()
    queue._ends[0].set()
    late = Queue(turns, 1)
    await settled()
    assert (queue.running, late.running) == ([1], [])
    await queue.close()
    await late.close()


async def test_who_stops_waiting_takes_no_turn() -> None:
    queue = Queue(Turns(1), 3)
    await settled()
    queue.tasks[1].cancel()
    await queue.leave(0)
    assert queue.running == [2]
    await queue.close()


async def test_a_turn_that_came_at_the_very_moment_of_cancelling_goes_to_the_next() -> None:
    queue = Queue(Turns(1), 3)
    await settled()
    queue._ends[0].set()
    await asyncio.sleep(0)  # the turn has been given to 1, who does not know it yet
    queue.tasks[1].cancel()
    await settled()
    assert queue.running == [2]
    await queue.close()


async def test_who_is_cancelled_while_it_runs_gives_its_turn_back() -> None:
    queue = Queue(Turns(1), 2)
    await settled()
    queue.tasks[0].cancel()
    await settled()
    assert queue.running == [1]
    await queue.close()


async def test_a_deadline_is_a_cancellation() -> None:
    queue, waiting = Queue(Turns(1), 1), False
    await settled()
    try:
        async with asyncio.timeout(0):
            await queue._turns.take()
    except TimeoutError:
        waiting = True
    await queue.leave(0)
    await queue._turns.take()
    assert waiting
    await queue.close()
