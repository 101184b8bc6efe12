"""Addresses and labels of Nodes that follow the cloud, in virtual time. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from hookrunner.cloud.answers import (
    ErrorCode,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    NodeAddress,
    ProviderError,
)
from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.node_addresses import PROVIDED_NODE_IP
from hookrunner.cloud.nodes.node_labels import BETA_NAMES, ZONE
from hookrunner.cloud.provider import verbs
from hookrunner.errors import Conflict
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.node_samples import new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_ADDRESSES
from tests.tables import each

pytestmark = pytest.mark.looptime

DOWN = ProviderError(ErrorCode.UNAVAILABLE, "the cloud is down")


def move(world: NodeWorld, name: str, *addresses: str, zone: str = "zone-a") -> None:
    answer = world.cloud.instances[name]
    assert answer.metadata
    given = tuple(NodeAddress("InternalIP", address) for address in addresses)
    metadata = replace(answer.metadata, addresses=given, zone=zone)
    world.cloud.instances[name] = replace(answer, metadata=metadata)


def ips(world: NodeWorld, name: str = "a") -> list[str]:
    return [one["address"] for one in world.live(name)["status"]["addresses"] if one["type"] != "Hostname"]


@pytest.fixture
async def world() -> AsyncIterator[NodeWorld]:
    world = NodeWorld()
    async with world.running(world.address_loop):
        yield world


async def test_hundred_nodes_are_one_question_and_no_write_if_nothing_changed(world: NodeWorld) -> None:
    world.add(*(f"n-{number}" for number in range(100)))
    await asyncio.sleep(10)
    assert [len(about) for about in world.cloud.asked(verbs.INSTANCES)] == [100]
    assert world.api.calls == []


async def test_new_address_is_written_in_the_next_pass_and_the_host_name_stays(world: NodeWorld) -> None:
    world.add("a", "b")
    await asyncio.sleep(10)
    move(world, "a", "10.9.9.9")
    await asyncio.sleep(280)
    assert world.api.calls == []
    await asyncio.sleep(20)
    assert (ips(world), world.api.written()) == (["10.9.9.9"], ["nodes/a/status"])
    assert world.live()["status"]["addresses"][-1] == {"type": "Hostname", "address": "a"}


async def test_addresses_follow_at_once_when_a_lost_watch_is_restored(world: NodeWorld) -> None:
    world.add("a")
    await asyncio.sleep(10)
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await asyncio.sleep(500)
    assert len(world.cloud.calls) == 1
    world.api.cluster.tell(WatchRestored())
    await asyncio.sleep(1)
    assert len(world.cloud.calls) == 2


async def test_another_order_is_written_and_two_of_a_type_are_not_rewritten(world: NodeWorld) -> None:
    world.add("a")
    move(world, "a", "10.0.0.2", "10.0.0.1")
    await asyncio.sleep(1)
    move(world, "a", "10.0.0.1", "10.0.0.2")
    await asyncio.sleep(2000)
    assert (ips(world), len(world.api.written())) == (["10.0.0.1", "10.0.0.2"], 2)


async def test_upstream_writes_two_of_a_type_in_every_pass() -> None:
    world = NodeWorld(address_policy=UPSTREAM_ADDRESSES)
    async with world.running(world.address_loop):
        world.add("a")
        move(world, "a", "10.0.0.1", "10.0.0.2")
        await asyncio.sleep(1000)
    assert len(world.cloud.calls) == 4
    assert ips(world) == ["10.0.0.1", "10.0.0.2"]


async def test_nodes_that_are_not_to_be_touched_are_not(world: NodeWorld) -> None:
    world.api.put(new_node("a"))
    world.cloud.add("a")
    world.api.put(node("b", provider_id="other://b"))
    world.cloud.add("b")
    world.api.put(node("c", provider_id="sim://c", addresses=[("InternalIP", "10.0.0.7")]))
    world.cloud.add("c")
    move(world, "c")
    world.api.put(node("d", provider_id="sim://d"))
    world.cloud.add("d")
    world.cloud.say("d", InstanceState.SKIP)
    await asyncio.sleep(10)
    assert (world.cloud.asked(verbs.INSTANCES), world.api.calls) == ([("c", "d")], [])


async def test_node_that_fails_costs_no_other_its_addresses(world: NodeWorld) -> None:
    world.add("a", "b", "c")
    world.cloud.garbled["a"] = DOWN
    move(world, "b", "here")
    move(world, "c", "10.9.9.9")
    await asyncio.sleep(10)
    assert (ips(world, "c"), world.api.written()) == (["10.9.9.9"], ["nodes/c/status"])
    assert world.reasons("b") == ["InvalidInstanceMetadata"]


async def test_address_that_is_not_the_kubelets_is_not_written(world: NodeWorld) -> None:
    world.api.put(node("a", annotations={PROVIDED_NODE_IP: "10.0.0.1"}, addresses=[("InternalIP", "10.0.0.1")]))
    world.cloud.add("a", NodeAddress("InternalIP", "10.0.0.2"))
    await asyncio.sleep(10)
    assert world.api.calls == []


@each("policy", [AddressPolicy(syncs_labels=True), replace(UPSTREAM_ADDRESSES, syncs_labels=True)])
async def test_metadata_that_could_not_be_read_changes_nothing(policy: AddressPolicy) -> None:
    world = NodeWorld(address_policy=policy)
    async with world.running(world.address_loop):
        world.add("a")
        unusable = InstanceMetadata(problems=("address '***' of type 'InternalIP' is no IP address",))
        world.cloud.instances["a"] = InstanceAnswer(InstanceState.RUNNING, unusable)
        await asyncio.sleep(310)
        assert world.api.written() == []


async def test_failed_write_is_named_and_repeated_by_the_next_pass(world: NodeWorld) -> None:
    world.add("a")
    move(world, "a", "10.9.9.9")
    world.api.refuse("PATCH", "/status", Conflict(409, "Conflict", "stale"), times=5)
    await asyncio.sleep(10)
    assert (world.address_loop.problem, world.api.written()) == ("Node a: stale", [])
    await asyncio.sleep(300)
    assert (world.address_loop.problem, ips(world)) == ("", ["10.9.9.9"])


async def test_node_made_anew_during_the_call_gets_nothing_of_its_predecessor(world: NodeWorld) -> None:
    def make_anew(_call: ApiCall) -> None:
        if world.live()["metadata"]["uid"] == "u-1":
            world.api.delete("Node", "a")
            world.api.put(node("a", uid="u-2"))

    world.api.before_write = make_anew
    world.api.put(node("a", uid="u-1"))
    world.cloud.add("a")
    await asyncio.sleep(10)
    assert world.live()["status"]["addresses"] == []


async def test_answer_about_its_predecessor_is_not_written_to_a_node(world: NodeWorld) -> None:
    world.cloud.seconds[verbs.INSTANCES] = 8.0
    world.add("a")
    await asyncio.sleep(4)
    world.api.delete("Node", "a")
    world.api.put(node("a", uid="u-2"))
    await asyncio.sleep(10)
    assert world.live()["status"]["addresses"] == []


async def test_labels_follow_only_if_asked_for(world: NodeWorld) -> None:
    world.add("a")
    move(world, "a", "10.0.0.1", zone="zone-b")
    await asyncio.sleep(10)
    assert world.api.calls == []


async def test_labels_follow_the_cloud_and_leave_those_of_users() -> None:
    world = NodeWorld(address_policy=AddressPolicy(syncs_labels=True))
    async with world.running(world.address_loop):
        metadata = world.cloud.add("a", rack="1", tier="x")
        world.api.put(node("a", labels={"tier": "mine"}, addresses=metadata.addresses))
        await asyncio.sleep(1)
        labels = world.live()["metadata"]["labels"]
        assert (labels["rack"], labels["tier"], labels[ZONE]) == ("1", "mine", "zone-a")
        assert labels[BETA_NAMES[ZONE]] == "zone-a"
        changed = replace(metadata, zone="zone-b", additional_labels={"rack": "2", "tier": "y"})
        world.cloud.instances["a"] = replace(world.cloud.instances["a"], metadata=changed)
        await asyncio.sleep(300)
    labels = world.live()["metadata"]["labels"]
    assert (labels["rack"], labels["tier"], labels[ZONE]) == ("2", "mine", "zone-b")


async def test_nothing_is_asked_before_the_nodes_are_listed() -> None:
    world = NodeWorld()
    world.api.cluster.listing.clear()
    async with world.running(world.address_loop):
        world.add("a")
        await asyncio.sleep(50.5)
        assert world.cloud.calls == []
        world.api.cluster.listing.set()
        await asyncio.sleep(1)
        assert len(world.cloud.calls) == 1


async def test_stop_finishes_the_pass() -> None:
    world = NodeWorld()
    async with world.until_stop(world.address_loop):
        world.add("a")
        move(world, "a", "10.9.9.9")
        world.cloud.seconds[verbs.INSTANCES] = 8.0
        await asyncio.sleep(4)
    assert ips(world) == ["10.9.9.9"]


async def test_stop_ends_the_wait_for_the_first_list() -> None:
    world = NodeWorld()
    world.api.cluster.listing.clear()
    async with world.until_stop(world.address_loop):
        await asyncio.sleep(4)
    assert world.cloud.calls == []
