"""Shared watches: late readers, and readers that cannot keep up, seen through `Streams.read`; monitors have tests of
their own.

Level: FakeCluster."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress

import pytest

from hookrunner.background import Background
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.sources.monitors import BACKLOG, Streams
from tests.fakes.cluster import FakeCluster, settle, until
from tests.fakes.objects import config_map

CONFIGMAPS = Selection("v1", "ConfigMap")


def item(name: str, version: int, change: Change | None = None) -> ObjectSeen:
    return ObjectSeen(change, ObjectKey("default", "ConfigMap", name), {}, str(version))


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            yield background
            background.stop()


def name_of(report: Report) -> str:
    return f"{report.key.name}{report.version}" if isinstance(report, ObjectSeen) else type(report).__name__


async def collect(streams: Streams, received: list[str]) -> None:
    async with aclosing(streams.read(CONFIGMAPS)) as story:
        async for reports in story:
            received += map(name_of, reports)


async def test_reader_that_joins_during_a_list_gets_nothing_older_than_its_own_list(
    background: Background,
) -> None:
    """The shared list is of version 10, the newcomer's own of 20: `a` of version 3 has changed, `gone` is gone."""
    go_on = asyncio.Event()
    stories: Iterator[list[list[Report]]] = iter(
        [
            [
                [RelistStarted(), item("x", 1)],
                [item("a", 3), item("gone", 4), Synced("10")],
                [item("gone", 15, Change.DELETED)],
            ],
            [[RelistStarted(), item("x", 1), item("a", 12), Synced("20")]],
        ]
    )

    async def watch(selection: Selection) -> AsyncGenerator[list[Report], None]:
        first, *rest = next(stories)
        yield list(first)
        await go_on.wait()
        for reports in rest:
            yield list(reports)
        yield [item("a", 21, Change.MODIFIED), item("b", 5)]
        yield [RelistStarted(), item("b", 5), Synced("22")]
        await asyncio.Event().wait()

    streams, received = Streams(watch, background, Metrics("")), list[str]()
    async with asyncio.TaskGroup() as group:
        early = group.create_task(collect(streams, []))
        await settle()
        late = group.create_task(collect(streams, received))
        await settle()
        go_on.set()
        await settle()
        early.cancel()
        late.cancel()
    assert received == ["RelistStarted", "x1", "a12", "Synced", "Synced", "a21", "RelistStarted", "b5", "Synced"]


@pytest.mark.slow
async def test_a_reader_that_is_stuck_does_not_stop_the_others_and_misses_nothing(background: Background) -> None:
    """As with a jq filter that hangs on every object."""
    cluster = FakeCluster()
    streams, received, slowly = Streams(cluster.watch, background, Metrics("")), list[str](), list[str]()
    names = [f"cm-{number}-" for number in range(3 * BACKLOG)]
    async with aclosing(streams.read(CONFIGMAPS)) as stuck:
        await anext(stuck)
        other = background.keep("other", lambda: collect(streams, received))
        await settle()
        for name in names:
            cluster.put(config_map(name))
        await until(lambda: has_all(received, names))
        while not has_all(slowly, names):
            slowly += map(name_of, await anext(stuck))
        other.cancel()
    await settle()
    assert (len(streams), cluster.open_watches) == (0, 0)


def has_all(received: list[str], names: list[str]) -> bool:
    return all(any(report.startswith(name) for report in received) for name in names)
