"""The ConfigMap as it is followed while somebody writes to it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from hookrunner.convergence.objects import ConfigObject, Contents
from hookrunner.model.bindings import Change
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.model.watching import Found, Item, Listed, Listing, Lost, Report


class Story:
    """A watch that tells what it is given."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[list[Report]] = asyncio.Queue()

    async def open(self, _: Selection) -> AsyncGenerator[list[Report], None]:
        while True:
            yield await self.reports.get()

    def tell(self, *reports: Report) -> None:
        self.reports.put_nowait(list(reports))


def item(version: int, change: Change | None = Change.MODIFIED, **data: str) -> Item:
    obj: Any = {"metadata": {"name": "hookrunner", "resourceVersion": str(version)}, "data": data}
    return Item(change, ObjectKey("ConfigMap", "ops", "hookrunner"), obj, str(version))


async def heard() -> None:
    """Let whoever follows take in what was told."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def config(story: Story) -> ConfigObject:
    return ConfigObject(None, story, "ConfigMap", ("ops", "hookrunner"))  # type: ignore[arg-type]  # it only follows


async def test_what_it_holds_is_told_once_it_is_listed_and_at_each_change(config: ConfigObject, story: Story) -> None:
    story.tell(Listing(), item(1, None, a="x: 1"), Listed("1"), item(2, a="x: 2"), item(3, Change.DELETED))
    states = config.states()
    told = [(await anext(states)).data for _ in range(3)]
    assert told == [{"a": "x: 1"}, {"a": "x: 2"}, {}]


async def test_what_was_deleted_while_nobody_looked_is_gone(config: ConfigObject, story: Story) -> None:
    story.tell(Listing(), item(1, None, a="x: 1"), Listed("1"), Listing(), Listed("5"))
    states = config.states()
    assert [await anext(states) for _ in range(2)][1] == Contents()


async def test_it_says_why_it_cannot_be_read_for_as_long_as_that_is_so(config: ConfigObject, story: Story) -> None:
    reading = asyncio.ensure_future(anext(config.states()))
    for report, unseen in ((Lost("forbidden", False), "forbidden"), (Found(), ""), (Lost("away", True), "away")):
        story.tell(report)
        await heard()
        assert config.unseen == unseen
    story.tell(Listing(), Listed("1"))
    await reading
    assert config.unseen == ""


async def test_who_writes_does_not_see_what_nobody_has_taken_over_yet(config: ConfigObject, story: Story) -> None:
    """Else it would write over it, with its resourceVersion: what is written comes from what was taken over."""
    story.tell(Listing(), item(1, None, a="x: 1"), Listed("1"))
    states = config.states()
    before = await anext(states)
    async with config.writing:
        reading = asyncio.ensure_future(anext(states))
        story.tell(item(2, a="x: 2"))
        await heard()
        assert config.contents == before
    assert (await reading).data == {"a": "x: 2"}
