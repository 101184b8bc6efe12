"""Random histories of Nodes, machines, answers and watches: whatever happens, a Node goes only if the cloud has said
three times in a row that its machine does not exist, and every Node ends as its machine is.

Level: FakeApi."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import looptime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cloud.answers import (
    ErrorCode,
    InstanceAnswer,
    InstanceState,
    ProviderError,
    Want,
)
from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN, CloudNode
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from hookrunner.errors import Conflict, Denied, Unreachable
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.node_samples import new_node
from tests.cloud.nodes.node_world import NodeWorld

NAMES = "abcd"
DOWN = ProviderError(ErrorCode.UNAVAILABLE, "down")
STEPS = (
    *("vanish", "vanish", "vanish", "start", "start", "terminate", "stop", "unsure", "skip", "silent", "ready"),
    *("anew", "down", "slow", "lost", "heal", "conflict", "forbidden", "cut"),
)
"""What may happen to a machine, a Node, the cloud, the watch or a write."""
REFUSALS = {
    "conflict": Conflict(409, "Conflict", "stale"),
    "forbidden": Denied(403, "Forbidden", "no", raw="no"),
    "cut": Unreachable("cut"),
}


class NotingCloud(FakeCloud):
    """Notes how often in a row each object was said to be gone, when only its state was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.in_a_row: dict[str, int] = defaultdict(int)

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        answers = await super().ask_instances(nodes, want)
        for node in nodes if Want.METADATA not in want else ():
            answer = answers[node.name]
            is_gone = isinstance(answer, InstanceAnswer) and answer.state is InstanceState.NOT_FOUND
            self.in_a_row[node.uid] = self.in_a_row[node.uid] + 1 if is_gone else 0
        return answers


@dataclass
class HistoryWorld(NodeWorld):
    cloud: NotingCloud = field(default_factory=NotingCloud)
    life_policy: LifecyclePolicy = field(default_factory=lambda: LifecyclePolicy(max_ratio=0.5))
    address_policy: AddressPolicy = field(default_factory=lambda: AddressPolicy(period=60.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.api.before_write = self.check

    def check(self, call: ApiCall) -> None:
        """Every deletion is of an object that was said to be gone three times in a row."""
        if call.method == "DELETE":
            body: Any = call.body
            assert self.cloud.in_a_row[body["preconditions"]["uid"]] >= 3
            assert self.nodes.is_current

    def take_step(self, step: str, name: str) -> None:
        match step:
            case "start":
                self.cloud.add(name)
            case "terminate":
                self.cloud.instances.pop(name, None)
            case "vanish":
                self.take_step("terminate", name)
                self.take_step("silent", name)
            case "stop" | "unsure" | "skip" if name in self.cloud.instances:
                states = {"stop": InstanceState.SHUTDOWN, "unsure": InstanceState.UNKNOWN, "skip": InstanceState.SKIP}
                self.cloud.say(name, states[step])
            case "silent" | "ready" if self.api.has("Node", name):
                self.say_ready("True" if step == "ready" else "Unknown", name)
            case "conflict" | "forbidden" | "cut":
                for path in (f"/nodes/{name}", f"/nodes/{name}/status"):
                    self.api.refuse("PATCH", path, REFUSALS[step], times=3)
                self.api.refuse("DELETE", f"/nodes/{name}", REFUSALS[step], times=3)
            case "anew":
                self.recreate(name)
            case _:
                self.break_or_heal(step)

    def nodes_without_machine(self) -> dict[str, bool]:
        """Nodes of this cloud whose machines do not exist, and whether they are ready."""
        live = {name: self.live(name) for name in NAMES if self.api.has("Node", name)}
        return {
            name: node["status"]["conditions"][0]["status"] == "True"
            for name, node in live.items()
            if node["spec"].get("providerID") and name not in self.cloud.instances
        }

    def recreate(self, name: str) -> None:
        if self.api.has("Node", name):
            self.api.delete("Node", name)
        self.api.put(new_node(name))

    def break_or_heal(self, step: str) -> None:
        match step:
            case "down":
                self.cloud.fail(verbs.INSTANCES, DOWN, times=2)
            case "slow":
                self.cloud.seconds[verbs.INSTANCES] = 7.0
            case "lost":
                self.api.cluster.tell(WatchLost("refused", brief=True))
            case "heal":
                self.cloud.seconds.clear()
                self.api.cluster.tell(WatchRestored())


async def live_through(history: list[tuple[str, str, int]]) -> HistoryWorld:
    """The world after this history and half an hour of peace."""
    world = HistoryWorld()
    async with world.running():
        world.register(*NAMES)
        for step, name, seconds in history:
            world.take_step(step, name)
            await asyncio.sleep(seconds)
        world.break_or_heal("heal")
        world.api.accept_all()
        world.cloud.fail(verbs.INSTANCES, DOWN, times=0)
        await asyncio.sleep(1800)
    return world


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.integers(0, 15)), max_size=30))
def test_any_history_of_nodes_ends_as_the_machines_are(history: list[tuple[str, str, int]]) -> None:
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        world = runner.run(live_through(history))
    for name in (name for name in NAMES if world.api.has("Node", name)):
        live, answer = world.live(name), world.cloud.instances.get(name)
        is_ready = live["status"]["conditions"][0]["status"] == "True"
        if answer and answer.state in (InstanceState.RUNNING, InstanceState.SHUTDOWN):
            assert not world.is_new(name)
            assert live["spec"]["providerID"] == f"sim://{name}"
            assert live["status"]["addresses"]
            assert (SHUTDOWN in world.taints(name)) <= (not is_ready)
    gone = world.nodes_without_machine()
    states = [answer.state for name, answer in world.cloud.instances.items() if world.api.has("Node", name)]
    if InstanceState.RUNNING in states and len(gone) == 1:
        assert list(gone.values()) == [True]
