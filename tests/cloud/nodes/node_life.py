"""A life of Nodes before a real API server, all loops of Nodes at work: `tests/cloud/test_loops_on_servers.py`.

    await follow_nodes(NodesOnServer(client, metrics))

The cloud is an object, and the time is that of the clock.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from hookrunner.cloud.answers import InstanceState, NodeAddress
from hookrunner.cloud.nodes.address_loop import AddressLoop, AddressPolicy
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN, UNINITIALIZED, read_node
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts
from hookrunner.cloud.nodes.node_informer import NODES, NodeInformer
from hookrunner.cloud.nodes.node_reports import NodeReports
from hookrunner.cloud.nodes.node_writer import NodeWriter
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.errors import Conflict, NotFound
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.node_samples import new_node, node
from tests.fakes.cluster import running
from tests.flows.waiting import until


@dataclass
class NodesOnServer:
    """The loops, quick and with little patience, and what they report. `live`: the Nodes as the watch shows them."""

    client: Client
    metrics: Metrics
    cloud: FakeCloud = field(default_factory=FakeCloud)
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        watches = Watches(self.client, Discovery(self.client), self.metrics, idle=75.0)
        self.nodes = NodeInformer(watches)
        self.writer = NodeWriter(self.client, self.nodes)
        parts = NodeLoopParts(self.nodes, self.cloud, self.writer, NodeReports(self, self.metrics))
        self.lifecycle = LifecycleLoop(parts, replace(LifecyclePolicy(), period=0.05, min_age=0.0))
        self.runs = (
            self.nodes.follow,
            InitializationLoop(parts, InitializationPolicy()).run,
            AddressLoop(parts, AddressPolicy(period=0.2)).run,
            self.lifecycle.run,
        )

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.reasons.append((about.name, event.reason))

    async def create(self, document: Any) -> None:
        """A Node as its kubelet makes it: with its status in the same request."""
        await writes.create(self.client, ObjectRef(NODES), document)

    async def read(self, name: str) -> Any:
        return await writes.read(self.client, ObjectRef(NODES, "", name))

    async def say_ready(self, name: str, status: str) -> None:
        patch = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        await writes.merge_patch(self.client, ObjectRef(NODES, "", name, "status"), patch)

    def has_taint(self, name: str, key: str) -> bool:
        live = self.nodes.get(name)
        return live is not None and live.has_taint(key)


async def follow_nodes(world: NodesOnServer) -> None:
    """From the first Nodes to their end, in an empty cluster."""
    async with running(*(run() for run in world.runs)) as tasks:
        await initialize(world)
        await follow_addresses(world)
        await turn_off_and_on(world)
        await terminate(world)
        await leave_alone(world)
        await hold_and_release(world)
        await check_preconditions(world)
        assert not any(task.done() for task in tasks)
    check_counts(world.metrics)


def check_counts(metrics: Metrics) -> None:
    text = metrics.exposition().decode()
    assert set(re.findall(r'^cloud_node_deletes_total{result="(.+)"}', text, re.MULTILINE)) == {"deleted"}
    seconds = re.search(r"^cloud_node_init_seconds_sum (.+)$", text, re.MULTILINE)
    assert seconds
    assert float(seconds[1]) < 60


async def initialize(world: NodesOnServer) -> None:
    for name in ("a", "b", "c"):
        world.cloud.add(name, rack="1")
        await world.create(new_node(name, addresses=[("Hostname", name)]))
    await until(lambda: len(world.reasons) == 3, "all Nodes to be initialised")
    live = await world.read("a")
    assert [address["type"] for address in live["status"]["addresses"]] == ["InternalIP", "Hostname"]
    assert live["spec"]["providerID"] == "sim://a"
    assert UNINITIALIZED not in [taint["key"] for taint in live["spec"]["taints"]]
    assert live["metadata"]["labels"]["topology.kubernetes.io/zone"] == "zone-a"
    assert live["metadata"]["labels"]["rack"] == "1"
    assert sorted(world.reasons) == [(name, "Synced") for name in ("a", "b", "c")]


async def follow_addresses(world: NodesOnServer) -> None:
    world.cloud.add("a", NodeAddress("InternalIP", "10.1.1.1"), NodeAddress("InternalIP", "10.1.1.2"))
    await until(lambda: (live := world.nodes.get("a")) and len(live.addresses) == 3, "the new addresses")
    live = await world.read("a")
    assert [one["address"] for one in live["status"]["addresses"]] == ["10.1.1.1", "10.1.1.2", "a"]
    assert live["status"]["conditions"]


async def turn_off_and_on(world: NodesOnServer) -> None:
    world.cloud.stop("a")
    await world.say_ready("a", "Unknown")
    await until(lambda: world.has_taint("a", SHUTDOWN), "the taint of a machine that is off")
    world.cloud.add("a")
    await world.say_ready("a", "True")
    await until(lambda: not world.has_taint("a", SHUTDOWN), "the taint to go")


async def terminate(world: NodesOnServer) -> None:
    world.cloud.terminate("c")
    await world.say_ready("c", "False")
    await until(lambda: world.nodes.get("c") is None, "the Node of a vanished machine to go")
    assert ("c", "DeletingNode") in world.reasons
    with pytest.raises(NotFound):
        await world.read("c")


async def leave_alone(world: NodesOnServer) -> None:
    """Nodes that are not ours, and metadata that the API server would refuse, or could never take back."""
    for name in ("long", "other", "skipped"):
        world.cloud.add(name, zone="z" * 64 if name == "long" else "")
    world.cloud.edit("other", provider_id="other://1")
    world.cloud.say("skipped", InstanceState.SKIP)
    for name in ("long", "other", "skipped"):
        await world.create(new_node(name))
    await world.create(node("foreign", None, "other://2"))
    await world.create(node("unclaimed", None))
    await until(lambda: len({"long", "other"} & {name for name, _ in world.reasons}) == 2, "both Events")
    assert {reason for name, reason in world.reasons if name in ("long", "other")} == {"InvalidInstanceMetadata"}
    for name in ("long", "other", "skipped"):
        live = read_node(await world.read(name))
        assert (live.is_initialized, live.provider_id, live.addresses) == (False, "", ())


async def hold_and_release(world: NodesOnServer) -> None:
    """Of five Nodes of this cloud three are said to be gone: they stay until a person lets them go."""
    for name in ("d", "e", "f"):
        world.cloud.add(name)
        await world.create(new_node(name, ready=False))
    names = {"d", "e", "f"}
    await until(lambda: all((live := world.nodes.get(name)) and live.is_initialized for name in names), "three more")
    world.cloud.terminate(*names)
    await until(lambda: {one.node for one in world.lifecycle.dump() if one.held} == names, "three held deletions")
    assert all(world.nodes.get(name) for name in names)
    assert set(world.lifecycle.release()) == names
    await until(lambda: not any(world.nodes.get(name) for name in names), "their Nodes to go")
    assert world.nodes.get("foreign")
    assert world.nodes.get("unclaimed")


async def check_preconditions(world: NodesOnServer) -> None:
    """What makes it safe: neither an older state nor another object of the name is deleted or patched."""
    live = read_node(await world.read("b"))
    with pytest.raises(Conflict):
        await world.writer.delete(replace(live, uid="another"))
    with pytest.raises(Conflict):
        await world.writer.delete(replace(live, version="1"))
    patched = await world.writer.patch(replace(live, version="1"), lambda _: {"metadata": {"labels": {"x": "y"}}})
    assert patched
    assert patched.labels["x"] == "y"
    refused = replace(live, version="1", uid="another")
    assert await world.writer.patch(refused, lambda _: {"metadata": {"labels": {"x": "z"}}}) is None
