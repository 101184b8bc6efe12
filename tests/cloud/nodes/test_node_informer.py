"""What the loops see of Nodes: all of them, once, and only changes that matter. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from hookrunner.cloud.nodes.node_informer import NodeInformer, NodeSubscription
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.node_samples import node
from tests.fakes.cluster import settle
from tests.fakes.fake_api import FakeApi


@dataclass
class World:
    api: FakeApi = field(default_factory=FakeApi)

    def __post_init__(self) -> None:
        self.informer = NodeInformer(self.api)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    following = asyncio.create_task(world.informer.follow())
    yield world
    following.cancel()


async def names(changes: NodeSubscription) -> list[tuple[str, bool, bool]]:
    await settle()
    async with asyncio.timeout(60):
        batch = await changes.next_batch()
    return [(change.name, change.is_new, change.after is None) for change in batch]


async def is_quiet(changes: NodeSubscription) -> bool:
    waiting = asyncio.create_task(changes.next_batch())
    await settle()
    return waiting.cancel()


async def test_subscription_begins_with_all_nodes(world: World) -> None:
    world.api.put(node("a"))
    with world.informer.subscribe() as early:
        assert await names(early) == [("a", True, False)]
    world.api.put(node("b"))
    await settle()
    with world.informer.subscribe() as late:
        assert await names(late) == [("a", True, False), ("b", True, False)]


async def test_nothing_is_reported_before_the_first_list() -> None:
    world = World()
    world.api.cluster.listing.clear()
    following = asyncio.create_task(world.informer.follow())
    world.api.put(node("a"))
    with world.informer.subscribe() as changes:
        assert await is_quiet(changes)
        assert not world.informer.is_listed
        world.api.cluster.listing.set()
        assert await names(changes) == [("a", True, False)]
    assert world.informer.is_current
    following.cancel()


async def test_heartbeats_are_no_change_but_the_version_is_the_newest(world: World) -> None:
    world.api.put(node("a", uid="u"))
    with world.informer.subscribe() as changes:
        await names(changes)
        for beat in range(500):
            world.api.put(node("a", uid="u", conditions=[{"type": "DiskPressure", "status": "False", "at": beat}]))
        assert await is_quiet(changes)
    known = world.informer.get("a")
    assert known
    assert known.version == world.api.live("Node", "a")["metadata"]["resourceVersion"]


async def test_node_made_anew_under_its_name_is_new(world: World) -> None:
    world.api.put(node("a", uid="u-1"))
    with world.informer.subscribe() as changes:
        await names(changes)
        world.api.delete("Node", "a")
        world.api.put(node("a", uid="u-2"))
        assert await names(changes) == [("a", True, False)]


async def test_node_that_a_list_does_not_mention_is_gone(world: World) -> None:
    world.api.put(node("a"))
    with world.informer.subscribe() as changes:
        await names(changes)
        world.api.cluster.silently(lambda: world.api.delete("Node", "a"))
        world.api.cluster.relist()
        assert await names(changes) == [("a", False, True)]
    assert world.informer.get("a") is None
    assert len(world.informer) == 0


async def test_lost_watch_is_not_current_until_it_is_restored(world: World) -> None:
    await settle()
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await settle()
    assert not world.informer.is_current
    assert world.informer.obstacle == "refused"
    world.api.cluster.tell(WatchRestored())
    await settle()
    assert world.informer.is_current
