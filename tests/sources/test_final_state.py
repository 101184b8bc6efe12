"""Whatever happens, in whatever order, the events lead each listener to the truth, and none comes twice.

Random stories on a cluster without HTTP, in virtual time: objects change before the eyes of the watches or behind them,
lists begin anew, watches die, listeners come late, fail their Synchronization and change objects themselves.

Level: FakeCluster.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import looptime
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner.background import Background
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Change, Kubernetes
from hookrunner.model.contexts import Entry
from hookrunner.model.events import BindingId, FilterBroke, ObjectChanged, Progressed, Report, WatchLost, WatchRestored
from hookrunner.model.resources import Selection, key_of
from hookrunner.sources.monitor import Monitor
from hookrunner.sources.monitors import Monitors, Streams
from kubetypes.json_values import JSON
from tests.examples import several
from tests.fakes.cluster import FakeCluster, settle
from tests.fakes.objects import config_map

RECOVERY = 300.0
"""Virtual seconds in which crashed tasks have started again."""

LATENCY, MOMENT = 0.5, 0.6
"""Virtual seconds until a list begins, and between one `wait` and the next step."""

Step: TypeAlias = tuple[str, str, str]
"""What happens, to which object or listener, with which value."""

CHANGES = [(action, name, value) for action in ("put", "put", "delete") for name in "abc" for value in "01"]
UNSEEN = [(f"silent {action}", name, "2") for action in ("put", "delete") for name in "abc"]
FAULTS = [(action, "", "") for action in ("relist", "crash", "lose", "find", "settle", "wait", "wait", "wait")]
LISTENING = [(action, name, "") for action in ("join", "read", "fail", "succeed") for name in "xyz"]
START = [("join", "x", ""), ("wait", "", ""), ("read", "x", "")]
STORIES = st.lists(st.sampled_from(CHANGES + UNSEEN + FAULTS + LISTENING), min_size=20, max_size=60)


@dataclass(eq=False)
class Listener:
    """A hook as the engine would treat it: what it knows of each object, and how many events it got.

    With `patches` it labels each object that it gets an event for, once per value, as hooks do.
    """

    monitor: Monitor
    world: "World"
    patches: bool
    runs: bool = False
    known: dict[str, bytes] = field(default_factory=dict)
    received: Counter[str] = field(default_factory=Counter)

    def read(self) -> None:
        """Begin the Synchronization run, if it is due."""
        if self.monitor.locked and self.monitor.obstacle is None:
            self.known = {entry.key.name: state(entry) for entry in self.monitor.read_for_synchronization()}
            self.runs = True

    def end(self, well: bool) -> None:
        """The run has ended; after a failure it will begin again."""
        if self.runs and well:
            self.monitor.unlock()
        self.runs = False

    def hear(self, event: ObjectChanged) -> None:
        """Take in a change."""
        name, new = event.key.name, state(event)
        self.received[name] += 1
        if event.change is Change.DELETED:
            self.known.pop(name, None)
            return
        assert self.known.get(name) != new, f"{name} came twice"
        self.known[name] = new
        obj = self.world.cluster.objects.get(event.key)
        if self.patches and obj and obj["metadata"].get("labels", {}).get("seen") != obj["data"]["v"]:
            self.world.put({**obj, "metadata": {**obj["metadata"], "labels": {"seen": obj["data"]["v"]}}})


def state(seen: Entry | ObjectChanged) -> bytes:
    """What a listener sees of an object."""
    return seen.filtered or seen.obj or b""


BINDINGS = {
    "x": Kubernetes("cms", "ConfigMap"),
    "y": Kubernetes("cms", "ConfigMap", jq_filter=".data.v"),
    "z": Kubernetes("cms", "ConfigMap", jq_filter=".data", keep_full_objects=False),
}


@dataclass(eq=False)
class World:
    """A cluster, its watches and their listeners."""

    cluster: FakeCluster
    monitors: Monitors
    jq: Jq
    listeners: dict[str, Listener] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)

    async def listen(self) -> None:
        """Pass events on until cancelled."""
        while True:
            for event in await self.monitors.events.next_batch():
                assert not isinstance(event, FilterBroke)
                if not isinstance(event, Progressed):
                    self.listeners[event.binding.hook].hear(event)

    async def step(self, action: str, target: str, value: str) -> None:
        """Let one thing happen."""
        match action.split():
            case ["silent", change]:
                self.cluster.silently(lambda: self.change(change, target, value))
            case ["put" | "delete"]:
                self.change(action, target, value)
            case ["join"]:
                await self.join(target)
            case ["read"] if target in self.listeners:
                self.listeners[target].read()
            case ["succeed" | "fail"] if target in self.listeners:
                self.listeners[target].end(well=action == "succeed")
            case [fault]:
                await self.fault(fault)

    def change(self, action: str, name: str, value: str) -> None:
        """Put or delete an object."""
        obj = config_map(name, v=value)
        if action == "put":
            self.put(obj)
        elif key_of(obj) in self.cluster.objects:
            self.changes[name] += 1
            self.cluster.delete(obj)

    def put(self, obj: JSON) -> None:
        """Create or replace an object."""
        self.changes[obj["metadata"]["name"]] += 1
        self.cluster.put(obj)

    async def fault(self, action: str) -> None:
        """Something goes wrong, or time goes by."""
        match action:
            case "relist":
                self.cluster.relist()
            case "crash":
                self.cluster.crash()
            case "lose":
                self.cluster.tell(WatchLost("no connection", brief=True))
            case "find":
                self.cluster.tell(WatchRestored())
            case "settle":
                await settle()
            case "wait":
                await asyncio.sleep(MOMENT)

    async def join(self, name: str) -> None:
        """Start a listener of this name, unless it exists."""
        if name not in self.listeners:
            binding = BINDINGS[name]
            program = await self.jq.compile(binding.jq_filter) if binding.jq_filter else None
            monitor = self.monitors.add(BindingId(name, 0), binding, program)
            self.listeners[name] = Listener(monitor, self, patches=name == "x")
            await settle()


async def live(story: list[Step]) -> World:
    """Let a story happen, then peace: everything recovers and each listener is synchronized."""
    cluster, metrics = FakeCluster(), Metrics("")
    with suppress(asyncio.CancelledError):
        async with Jq() as jq, asyncio.TaskGroup() as group:
            background = Background(group)

            async def late(selection: Selection) -> AsyncGenerator[list[Report], None]:
                await asyncio.sleep(LATENCY)
                async with aclosing(cluster.watch(selection)) as story:
                    async for reports in story:
                        yield reports

            metrics = Metrics("")
            streams = Streams(late, background, metrics)
            monitors = Monitors(streams, jq, background, metrics, asyncio.get_running_loop().time)
            world = World(cluster, monitors, jq)
            listening = group.create_task(world.listen())
            for step in [*START, *story, ("join", "y", "")]:
                await world.step(*step)
            await peace(world)
            background.stop()
            listening.cancel()
    return world


async def peace(world: World) -> None:
    """Relist: before the Synchronization of those that had none, and after it, for changes that no watch saw."""
    await asyncio.sleep(RECOVERY)
    for _ in range(3):
        world.cluster.relist()
        await asyncio.sleep(1)
        for listener in world.listeners.values():
            listener.read()
            listener.end(well=True)


@pytest.mark.slow
@settings(deadline=None, max_examples=several(300))
@given(STORIES)
def test_all_listeners_end_with_the_truth_and_get_each_change_once(story: list[Step]) -> None:
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        world = runner.run(live(story))
    for name, listener in world.listeners.items():
        assert listener.monitor.obstacle is None
        assert listener.known == truth(world.cluster, BINDINGS[name]), name
        assert listener.received <= world.changes


def truth(cluster: FakeCluster, binding: Kubernetes) -> dict[str, bytes]:
    """What a listener should know in the end."""
    seen = {"": lambda obj: obj, ".data": lambda obj: obj["data"], ".data.v": lambda obj: obj["data"]["v"]}
    return {key.name: orjson.dumps(seen[binding.jq_filter](obj)) for key, obj in cluster.objects.items()}
