"""How many calls the loops of Nodes cost, with the batches of the real provider and a cloud that takes its time.

Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.address_loop import AddressLoop, AddressPolicy
from hookrunner.cloud.nodes.cloud_node import UNINITIALIZED, CloudNode
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.instance_batches import InstanceBatches
from hookrunner.cloud.provider.wire_requests import InstancesQuestion
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.node_samples import new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.fakes.cluster import settle

pytestmark = pytest.mark.looptime

CALL = 0.05
"""Seconds that a call takes."""


class BatchingCloud(FakeCloud):
    """Asks in batches; a call about one of the Nodes in `choking` fails as a whole, after a second."""

    def __init__(self) -> None:
        super().__init__()
        self.choking: set[str] = set()
        self.seconds[verbs.INSTANCES] = CALL
        self.batches = InstanceBatches(self)

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        return await self.batches.ask(nodes, want)

    @property
    def max_batch(self) -> int:
        return self.capabilities.max_batch

    async def ask(
        self, verb: AnyVerb, question: InstancesQuestion, lane: str | None = None
    ) -> dict[str, InstanceAnswer]:
        answers = await super().ask_instances(question.nodes, question.want)
        if self.choking & answers.keys():
            await asyncio.sleep(1)
            raise ProviderError(ErrorCode.UNAVAILABLE, "exit code 1")
        return {name: answer for name, answer in answers.items() if isinstance(answer, InstanceAnswer)}


@dataclass
class World(NodeWorld):
    cloud: BatchingCloud = field(default_factory=BatchingCloud)

    def register(self, *names: str) -> None:
        for name in names:
            self.cloud.add(name)
            self.api.put(new_node(name))

    def uninitialized(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if UNINITIALIZED in self.taints(name)]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """All loops and the batches run, with addresses every ten seconds."""
        parts = self.parts
        loops = (
            InitializationLoop(parts, InitializationPolicy()).run,
            LifecycleLoop(parts, LifecyclePolicy()).run,
            AddressLoop(parts, replace(AddressPolicy(), period=10.0)).run,
        )
        runs = (*loops, self.cloud.batches.run_batches)
        tasks = [asyncio.create_task(run()) for run in runs]
        async with self.running(self.cloud.batches.run_alone):
            yield
            for task in tasks:
                task.cancel()


def names(count: int) -> list[str]:
    return [f"n-{number}" for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "most"), [(200, 3), (500, 3)])
async def test_new_nodes_share_calls(count: int, most: int) -> None:
    world = World()
    async with world.working():
        await settle()
        world.register(*names(count))
        await asyncio.sleep(5)
        assert world.uninitialized(names(count)) == []
        assert [(call.at, len(call.about)) for call in world.cloud.calls][most:] == []


async def test_node_at_which_the_program_chokes_costs_the_others_nothing_from_the_second_time_on() -> None:
    world = World()
    async with world.working():
        world.cloud.choking = {"n-3"}
        world.register(*names(16))
        await asyncio.sleep(20)
        assert world.uninitialized(names(16)) == ["n-3"]
        world.register("later")
        await asyncio.sleep(0.5)
        assert world.uninitialized(["later"]) == []


@pytest.mark.slow
async def test_minute_with_nodes_that_are_not_ready_costs_few_calls() -> None:
    """500 Nodes, 5 of them not ready: 6 passes about their lives, 6 about addresses, one call for both."""
    world = World()
    async with world.working():
        for number, name in enumerate(names(500)):
            metadata = world.cloud.add(name)
            world.api.put(node(name, number >= 5, metadata.provider_id, addresses=metadata.addresses))
        await asyncio.sleep(65)
        before = len(world.cloud.calls)
        await asyncio.sleep(60)
        assert len(world.cloud.calls) - before <= 6
        assert world.api.written("DELETE") == []
