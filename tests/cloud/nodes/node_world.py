"""What the loops of Nodes live in, and the loops.

world = NodeWorld(life_policy=LifecyclePolicy(dry_run=True))
async with world.running(world.life_loop):
    world.add("a")                     # an initialised Node with its machine; `register`: a new one
    ...
async with world.until_stop(world.life_loop): ...      # it ends by `stop`
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hookrunner.cloud.leader_terms import CloudLoop
from hookrunner.cloud.nodes.address_loop import AddressLoop, AddressPolicy
from hookrunner.cloud.nodes.cloud_node import UNINITIALIZED
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.nodes.node_reports import NodeReports
from hookrunner.cloud.nodes.node_writer import NodeWriter
from tests.cloud.cloud_world import CloudWorld, running
from tests.cloud.node_samples import new_node, node


@dataclass
class NodeWorld(CloudWorld):
    """`counted` is what the metrics have."""

    init_policy: InitializationPolicy = field(default_factory=InitializationPolicy)
    life_policy: LifecyclePolicy = field(default_factory=LifecyclePolicy)
    address_policy: AddressPolicy = field(default_factory=AddressPolicy)

    def __post_init__(self) -> None:
        self.nodes = NodeInformer(self.api)
        self.writer = NodeWriter(self.api.client, self.nodes)
        self.begin_term()

    def begin_term(self) -> None:
        """New loops: what was counted in another term as the leader does not count."""
        parts = self.parts
        self.init_loop = InitializationLoop(parts, self.init_policy)
        self.life_loop = LifecycleLoop(parts, self.life_policy)
        self.address_loop = AddressLoop(parts, self.address_policy)

    @property
    def parts(self) -> NodeLoopParts:
        """What each loop works with."""
        return NodeLoopParts(self.nodes, self.cloud, self.writer, NodeReports(self, self.metrics))

    @property
    def counted(self) -> list[str]:
        """`initialized` for each Node that was, and what became of each deletion."""
        text = self.metrics.exposition().decode()
        initialized = re.findall(r"^cloud_node_init_seconds_count (\d+)$", text, re.MULTILINE)
        deleted = re.findall(r'^cloud_node_deletes_total{result="(.+)"} (\d+)$', text, re.MULTILINE)
        pairs = [*(("initialized", number) for number in initialized), *deleted]
        return [word for word, number in pairs for _ in range(int(number))]

    @property
    def left(self) -> str:
        """The names of all Nodes."""
        return "".join(sorted(key.name for key in self.api.cluster.objects))

    def add(self, *names: str, ready: bool | None = True) -> None:
        """Initialised Nodes with the addresses of their machines."""
        for name in names:
            addresses = [*self.cloud.add(name).addresses, ("Hostname", name)]
            self.api.put(node(name, ready, f"sim://{name}", addresses=addresses))

    def register(self, *names: str, **parts: Any) -> None:
        """New Nodes, with machines."""
        for name in names:
            self.cloud.add(name)
            self.api.put(new_node(name, **parts))

    def say_ready(self, status: str, *names: str) -> None:
        """Have kubelets report this status."""
        for name in names:
            self.api.change("Node", name, {"status": {"conditions": [{"type": "Ready", "status": status}]}})

    def vanish(self, *names: str) -> None:
        """Machines do not exist any more, and their Nodes are silent."""
        self.cloud.terminate(*names)
        self.say_ready("Unknown", *names)

    def reasons(self, name: str = "a") -> list[str]:
        return super().reasons(name)

    def live(self, name: str = "a") -> Any:
        """A Node as the API server has it."""
        return self.api.live("Node", name)

    def taints(self, name: str = "a") -> list[str]:
        """The keys of a Node's taints."""
        return [taint["key"] for taint in self.live(name)["spec"].get("taints") or ()]

    def is_new(self, name: str = "a") -> bool:
        """Has it the kubelet's taint?"""
        return UNINITIALIZED in self.taints(name)

    @asynccontextmanager
    async def running(self, *loops: CloudLoop) -> AsyncIterator[None]:
        """The watch and these loops run, all three if none is named."""
        loops = loops or (self.init_loop, self.life_loop, self.address_loop)
        async with running(self.nodes.follow, *(loop.run for loop in loops)):
            yield

    @asynccontextmanager
    async def until_stop(self, loop: CloudLoop) -> AsyncIterator[None]:
        """The watch and the loop run. At the end of the block it is stopped, and ends by itself."""
        async with running(self.nodes.follow), asyncio.TaskGroup() as group:
            group.create_task(loop.run())
            yield
            loop.stop()
