"""New Nodes from the watch to the writes, in virtual time. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceState, Interface, NodeAddress, ProviderError
from hookrunner.cloud.nodes.node_labels import BETA_NAMES, ZONE
from hookrunner.cloud.provider import verbs
from hookrunner.errors import Conflict, Denied, NotFound, Unreachable
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.node_samples import CREATED, NOT_READY_TAINT, new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_INITIALIZATION
from tests.fakes.cluster import settle
from tests.fakes.fake_api import FakeApi
from tests.tables import each

pytestmark = pytest.mark.looptime

ASK = verbs.INSTANCES
DOWN = ProviderError(ErrorCode.UNAVAILABLE, "the cloud is down")
STALE = Conflict(409, "Conflict", "stale")


def skip(world: NodeWorld, name: str, created: str) -> None:
    """A new Node that the provider does not want."""
    world.register(name, created=created)
    world.cloud.say(name, InstanceState.SKIP)


@pytest.fixture
async def world() -> AsyncIterator[NodeWorld]:
    world = NodeWorld()
    async with world.running(world.init_loop):
        yield world


async def test_new_node_has_addresses_before_the_taint_goes(world: NodeWorld) -> None:
    world.register("a", addresses=[("Hostname", "a")])
    await settle()
    live = world.live()
    assert [address["type"] for address in live["status"]["addresses"]] == ["InternalIP", "Hostname"]
    assert live["spec"] == {"providerID": "sim://a", "taints": [NOT_READY_TAINT]}
    assert world.api.written() == ["nodes/a/status", "nodes/a"]
    assert (world.events, world.counted) == ([("a", "Synced", "Node synced successfully")], ["initialized"])
    assert len(world.cloud.calls) == 1


@each("addresses", [1, 0], ids=["all is written", "addresses are refused"])
async def test_upstream_takes_the_taint_first(addresses: int) -> None:
    """A pass over addresses writes those that were refused: the Node is initialised."""
    world = NodeWorld(init_policy=UPSTREAM_INITIALIZATION)
    if not addresses:
        world.api.refuse("PATCH", "/nodes/a/status", Unreachable("for a moment"))
    async with world.running(world.init_loop):
        world.register("a")
        await settle()
    assert world.api.written() == ["nodes/a", "nodes/a/status"][: 1 + addresses]
    assert (len(world.live()["status"]["addresses"]), len(world.cloud.calls)) == (addresses, 1)
    assert (world.reasons(), world.counted, world.init_loop.backing_off) == (["Synced"], ["initialized"], 0)


async def test_node_without_the_taint_costs_no_question(world: NodeWorld) -> None:
    world.api.put(node("a", labels={BETA_NAMES[ZONE]: "x"}))
    await settle()
    assert world.live()["metadata"]["labels"] == {BETA_NAMES[ZONE]: "x", ZONE: "x"}
    for beat in range(500):
        world.api.change("Node", "a", {"status": {"beat": beat}})
    await settle()
    assert (world.cloud.calls, world.api.written()) == ([], ["nodes/a"])


async def test_failures_are_retried_ever_later_and_the_success_begins_anew(world: NodeWorld) -> None:
    world.cloud.fail(ASK, DOWN)
    world.register("a")
    await asyncio.sleep(700)
    assert world.times(ASK) == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]
    assert world.init_loop.problems == {"a": str(DOWN)}
    world.cloud.fail(ASK, DOWN, times=0)
    await asyncio.sleep(300)
    assert (world.times(ASK)[-1], world.taints(), world.init_loop.problems) == (811, [NOT_READY_TAINT["key"]], {})


async def test_pending_comes_back_after_exactly_its_time(world: NodeWorld) -> None:
    world.cloud.fail(ASK, ProviderError(ErrorCode.PENDING, "boots", 42.0), times=3)
    world.register("a")
    await asyncio.sleep(200)
    assert world.times(ASK) == [0, 42, 84, 126]
    assert world.reasons() == ["Synced"]


async def test_invalid_waits_for_a_change_of_the_node(world: NodeWorld) -> None:
    world.cloud.fail(ASK, ProviderError(ErrorCode.INVALID, "no such zone"), times=1)
    world.register("a")
    await asyncio.sleep(4000)
    assert (world.times(ASK), world.reasons()) == ([0], ["InstanceMetadataFailed"])
    world.api.change("Node", "a", {"metadata": {"labels": {"zone": "a"}}})
    await settle()
    assert not world.is_new()


async def test_node_that_fails_holds_up_no_other(world: NodeWorld) -> None:
    world.register("a", "b")
    world.cloud.garbled["a"] = DOWN
    await settle()
    assert (world.is_new("a"), world.is_new("b")) == (True, False)


async def test_skipped_node_is_reported_after_five_minutes(world: NodeWorld) -> None:
    skip(world, "a", datetime.now(UTC).isoformat())
    await settle()
    assert (world.events, world.init_loop.skipped, world.api.written()) == ([], {"a"}, [])
    skip(world, "b", CREATED)
    await settle()
    assert world.reasons("b") == ["NodeSkipped"]


async def test_skipped_node_is_asked_about_every_five_minutes_also_if_the_clock_was_set_back(world: NodeWorld) -> None:
    skip(world, "a", (datetime.now(UTC) + timedelta(hours=5)).isoformat())
    await asyncio.sleep(1000)
    assert len(world.cloud.calls) == 4


async def test_node_of_another_cloud_is_not_asked_about(world: NodeWorld) -> None:
    world.api.put(new_node("a", provider_id="other://a"))
    await settle()
    assert (world.cloud.calls, world.init_loop.skipped, world.reasons()) == ([], {"a"}, ["NodeSkipped"])


async def test_node_of_a_cloud_that_becomes_ours_is_initialised(world: NodeWorld) -> None:
    world.cloud.add("a")
    known = world.cloud.capabilities
    world.cloud.capabilities = replace(known, provider_id_prefixes=("x://",))
    world.api.put(new_node("a", provider_id="sim://a"))
    await settle()
    assert (world.cloud.calls, world.init_loop.skipped) == ([], {"a"})
    world.cloud.capabilities = known
    await asyncio.sleep(301)
    assert (world.init_loop.skipped, world.is_new()) == (set(), False)


async def test_foreign_provider_id_is_never_written(world: NodeWorld) -> None:
    metadata = world.cloud.add("a")
    world.cloud.instances["b"] = world.cloud.instances["a"]
    world.cloud.capabilities = world.cloud.capabilities.__class__("x", ("x://",), (Interface.INSTANCES,))
    world.api.put(new_node("a"))
    await asyncio.sleep(100)
    assert metadata.provider_id not in str(world.live())
    assert (world.api.written(), set(world.reasons())) == ([], {"InvalidInstanceMetadata"})


async def test_writer_that_is_quicker_loses_nothing(world: NodeWorld) -> None:
    other = {"key": "other", "effect": "NoSchedule"}

    def interfere(call: ApiCall) -> None:
        if call.path.endswith("/nodes/a") and "other" not in world.taints():
            world.api.change("Node", "a", {"spec": {"taints": [other, *world.live()["spec"]["taints"]]}})

    world.api.before_write = interfere
    world.register("a")
    await settle()
    assert world.live()["spec"]["taints"] == [other, NOT_READY_TAINT]
    assert world.reasons() == ["Synced"]


async def test_conflicts_without_end_are_a_failure_and_tried_again(world: NodeWorld) -> None:
    world.api.refuse("PATCH", "/nodes/a", STALE, times=5)
    world.register("a")
    await settle()
    assert (world.is_new(), len(world.cloud.calls)) == (True, 1)
    await asyncio.sleep(2)
    assert not world.is_new()


async def test_node_deleted_during_the_call_is_left_alone(world: NodeWorld) -> None:
    world.cloud.seconds[ASK] = 10.0
    world.register("a", uid="u-1")
    await asyncio.sleep(5)
    world.api.delete("Node", "a")
    await asyncio.sleep(60)
    assert (world.api.calls, world.events, len(world.cloud.calls)) == ([], [], 1)


async def test_node_made_anew_during_the_call_is_asked_about_again(world: NodeWorld) -> None:
    world.cloud.seconds[ASK] = 10.0
    world.register("a", uid="u-1")
    await asyncio.sleep(5)
    world.api.delete("Node", "a")
    world.api.put(new_node("a", uid="u-2"))
    await asyncio.sleep(60)
    assert len(world.cloud.calls) == 2
    assert (world.taints(), world.reasons()) == ([NOT_READY_TAINT["key"]], ["Synced"])


async def test_node_that_goes_between_two_writes_is_no_failure(world: NodeWorld) -> None:
    world.api.refuse("PATCH", "/nodes/a", NotFound(404, "NotFound", "gone"))
    world.register("a")
    await settle()
    assert (world.events, world.init_loop.backing_off) == ([], 0)


@pytest.mark.parametrize("resource", ["nodes", "nodes/status"])
async def test_missing_right_is_named_holds_up_no_other_and_heals_by_itself(world: NodeWorld, resource: str) -> None:
    text = f'User "x" cannot patch resource "{resource}"'
    path_end = "/nodes/a/status" if "status" in resource else "/nodes/a"
    world.api.refuse("PATCH", path_end, Denied(403, "Forbidden", text, raw=text))
    world.register("a", "b")
    await settle()
    assert f"resources: [{resource}], verbs: [patch]" in world.init_loop.problems["a"]
    assert (world.is_new("a"), world.is_new("b")) == (True, False)
    await asyncio.sleep(2)
    assert (world.init_loop.problems, world.is_new("a")) == ({}, False)


async def test_nothing_is_asked_while_the_watch_is_lost(world: NodeWorld) -> None:
    world.cloud.fail(ASK, DOWN)
    world.register("a")
    await settle()
    world.api.cluster.tell(WatchLost("cut", brief=True))
    await asyncio.sleep(300)
    assert world.times(ASK) == [0]
    world.cloud.fail(ASK, DOWN, times=0)
    world.api.cluster.tell(WatchRestored())
    await settle()
    assert (world.times(ASK), world.is_new()) == ([0, 300], False)


async def test_stop_ends_the_wait_for_a_lost_watch() -> None:
    world = NodeWorld()
    async with world.until_stop(world.init_loop):
        world.cloud.fail(ASK, DOWN)
        world.api.put(new_node("a"))
        await settle()
        world.api.cluster.tell(WatchLost("cut", brief=True))
        await asyncio.sleep(10)
    assert world.times(ASK) == [0]


async def test_death_after_the_addresses_leads_to_the_same_end() -> None:
    dying = NodeWorld()
    dying.cloud.add("a", NodeAddress("InternalIP", "10.0.0.1"))
    async with dying.running(dying.init_loop):
        dying.api.refuse("PATCH", "/nodes/a", STALE, times=1000)
        dying.api.put(new_node("a"))
        await settle()
    world = NodeWorld(FakeApi(dying.api.cluster), dying.cloud)
    async with world.running(world.init_loop):
        await settle()
    assert world.api.written() == ["nodes/a"]
    assert (world.taints(), world.reasons()) == ([NOT_READY_TAINT["key"]], ["Synced"])


async def test_stop_finishes_what_is_under_way_and_begins_nothing() -> None:
    world = NodeWorld()
    async with world.until_stop(world.init_loop):
        world.cloud.seconds[ASK] = 10.0
        world.register("a")
        await asyncio.sleep(5)
        world.init_loop.stop()
        world.api.put(new_node("b"))
    assert (world.is_new("a"), world.is_new("b")) == (False, True)


@pytest.mark.slow
async def test_two_hundred_nodes_are_asked_about_at_a_time(world: NodeWorld) -> None:
    world.cloud.seconds[ASK] = 1.0
    names = [f"n-{number}" for number in range(200)]
    world.register(*names)
    await asyncio.sleep(2.5)
    assert not any(world.is_new(name) for name in names)
    assert {call.at for call in world.cloud.calls} == {0.0}
