"""What the loops see of Nodes: all of them, once, and only changes that matter. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hookrunner.cloud.nodes.node_informer import NodeSubscription
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.cloud_world import running
from tests.cloud.node_samples import node
from tests.cloud.nodes.node_world import NodeWorld
from tests.fakes.cluster import settle


@pytest.fixture
async def world() -> AsyncIterator[NodeWorld]:
    world = NodeWorld()
    async with running(world.nodes.follow):
        yield world


async def names(changes: NodeSubscription) -> list[tuple[str, bool, bool]]:
    await settle()
    async with asyncio.timeout(60):
        batch = await changes.next_batch()
    return [(change.name, change.is_new, change.after is None) for change in batch]


async def is_quiet(changes: NodeSubscription) -> bool:
    waiting = asyncio.create_task(changes.next_batch())
    await settle()
    return waiting.cancel()


async def test_subscription_begins_with_all_nodes(world: NodeWorld) -> None:
    world.api.put(node("a"))
    with world.nodes.subscribe() as early:
        assert await names(early) == [("a", True, False)]
    world.api.put(node("b"))
    await settle()
    with world.nodes.subscribe() as late:
        assert await names(late) == [("a", True, False), ("b", True, False)]


async def test_nothing_is_reported_before_the_first_list() -> None:
    world = NodeWorld()
    world.api.cluster.listing.clear()
    world.api.put(node("a"))
    async with running(world.nodes.follow):
        with world.nodes.subscribe() as changes:
            assert await is_quiet(changes)
            assert not world.nodes.is_listed
            world.api.cluster.listing.set()
            assert await names(changes) == [("a", True, False)]
        assert world.nodes.is_current


async def test_heartbeats_are_no_change_but_the_version_is_the_newest(world: NodeWorld) -> None:
    world.api.put(node("a", uid="u"))
    with world.nodes.subscribe() as changes:
        await names(changes)
        for beat in range(500):
            world.api.put(node("a", uid="u", conditions=[{"type": "DiskPressure", "status": "False", "at": beat}]))
        assert await is_quiet(changes)
    known = world.nodes.get("a")
    assert known
    assert known.version == world.api.live("Node", "a")["metadata"]["resourceVersion"]


async def test_node_made_anew_under_its_name_is_new(world: NodeWorld) -> None:
    world.api.put(node("a", uid="u-1"))
    with world.nodes.subscribe() as changes:
        await names(changes)
        world.api.delete("Node", "a")
        world.api.put(node("a", uid="u-2"))
        assert await names(changes) == [("a", True, False)]


async def test_node_that_a_list_does_not_mention_is_gone(world: NodeWorld) -> None:
    world.api.put(node("a"))
    with world.nodes.subscribe() as changes:
        await names(changes)
        world.api.cluster.silently(lambda: world.api.delete("Node", "a"))
        world.api.cluster.relist()
        assert await names(changes) == [("a", False, True)]
    assert world.nodes.get("a") is None
    assert len(world.nodes) == 0


async def test_lost_watch_is_not_current_until_it_is_restored(world: NodeWorld) -> None:
    await settle()
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await settle()
    assert not world.nodes.is_current
    assert world.nodes.obstacle == "refused"
    world.api.cluster.tell(WatchRestored())
    await settle()
    assert world.nodes.is_current
