"""Reads of the same thing at once are one, and each reader gets what was there after it had asked. Level: pure."""

import asyncio

import pytest

from hookrunner.packages.shared_reads import SharedReads

pytestmark = pytest.mark.looptime


class Source:
    """Says what `text` was when a read began, a second later; counts reads."""

    def __init__(self) -> None:
        self.text, self.reads, self.shared = "old", 0, SharedReads()

    async def read(self) -> str:
        self.reads += 1
        text = self.text
        await asyncio.sleep(1)
        if text == "bad":
            raise ValueError(text)
        return text

    def ask(self, key: str = "a") -> asyncio.Task[str]:
        return asyncio.create_task(self.shared.read(key, self.read))


async def test_those_who_ask_at_once_share_a_read() -> None:
    source = Source()
    assert await asyncio.gather(*(source.ask() for _ in range(50))) == ["old"] * 50
    assert source.reads == 1
    assert (await source.ask(), source.reads) == ("old", 2)


async def test_who_asks_during_a_read_gets_the_next_one() -> None:
    source = Source()
    first = source.ask()
    await asyncio.sleep(0.5)
    source.text = "new"
    assert [*await asyncio.gather(first, source.ask(), source.ask())] == ["old", "new", "new"]
    assert source.reads == 2


async def test_reads_of_different_things_do_not_wait_for_each_other() -> None:
    source = Source()
    await asyncio.gather(source.ask("a"), source.ask("b"))
    assert asyncio.get_running_loop().time() == pytest.approx(1.0, abs=0.01)
    assert source.reads == 2


async def test_error_reaches_all_who_share_the_read_and_the_next_begins_anew() -> None:
    source = Source()
    source.text = "bad"
    results = await asyncio.gather(source.ask(), source.ask(), return_exceptions=True)
    assert [*map(str, results)] == ["bad", "bad"]
    source.text = "good"
    assert await source.ask() == "good"


async def test_read_goes_on_for_the_others_when_one_is_cancelled() -> None:
    source = Source()
    first, second = source.ask(), source.ask()
    await asyncio.sleep(0.5)
    first.cancel()
    assert (await second, first.cancelled(), source.reads) == ("old", True, 1)


async def test_nothing_is_kept_of_reads_that_are_over() -> None:
    source = Source()
    await source.ask()
    await asyncio.sleep(0)
    assert (source.shared._next, len(source.shared._turns)) == ({}, 0)
