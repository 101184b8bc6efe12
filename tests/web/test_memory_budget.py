"""Which reviews get memory for their body, and which wait for it. Level: pure."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from aiohttp import web

from hookrunner.metrics.names import Metrics
from hookrunner.web.review_limits import BudgetExhausted, MemoryBudget, ReviewBound

pytestmark = pytest.mark.looptime
"""In virtual time: a wait without an end is over at once."""


def test_bodies_reserve_one_half_and_release_it() -> None:
    budget = MemoryBudget(200)
    with budget.taking() as take:
        take(60)
        with budget.taking() as other, pytest.raises(BudgetExhausted, match="60"):
            other(41)
        take(40)
    with budget.taking() as take:
        take(100)


async def test_parsed_reviews_wait_in_order_for_the_other_half() -> None:
    budget, order, end = MemoryBudget(200), list[str](), asyncio.Event()

    async def parse(name: str, cost: int) -> None:
        async with budget.parsing(cost):
            order.append(name)
            await end.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        with budget.taking() as take:
            take(100)
            for name, cost in (("first", 80), ("large", 90), ("small", 10)):
                tasks.create_task(parse(name, cost))
                await asyncio.sleep(0)
            assert order == ["first"]
            end.set()
    assert order == ["first", "large", "small"]


async def test_review_without_room_is_refused_at_its_deadline() -> None:
    bound = ReviewBound(2, MemoryBudget(200), Metrics(""))
    now = asyncio.get_running_loop().time
    async with AsyncExitStack() as first, AsyncExitStack() as second:
        await bound.take_room(first, 100, now() + 5)
        with pytest.raises(web.HTTPTooManyRequests) as refused:
            await bound.take_room(second, 1, now() + 5)
    assert "have all 100 bytes for parsing" in str(refused.value.text)
    assert refused.value.headers["Retry-After"] == "1"


async def test_cancelled_waiter_does_not_delay_others() -> None:
    budget = MemoryBudget(200)
    async with asyncio.timeout(60), budget.parsing(100):
        waiting = asyncio.create_task(budget.parsing(1).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    async with asyncio.timeout(60), budget.parsing(100):
        pass
