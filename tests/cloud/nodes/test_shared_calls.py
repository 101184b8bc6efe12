"""How many calls the loops of Nodes cost, with the batches of the real provider and a cloud that takes its time.

Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.instance_batches import InstanceBatches
from hookrunner.cloud.provider.wire_requests import InstancesQuestion
from tests.cloud.cloud_world import running
from tests.cloud.fake_cloud import FakeCloud
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


@asynccontextmanager
async def working(cloud: BatchingCloud) -> AsyncIterator[NodeWorld]:
    """All loops and the batches run, with addresses every ten seconds."""
    world = NodeWorld(cloud=cloud, address_policy=AddressPolicy(period=10.0))
    async with running(cloud.batches.run_batches, cloud.batches.run_alone), world.running():
        yield world


def names(count: int) -> list[str]:
    return [f"n-{number}" for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "most"), [(200, 3), (500, 3)])
async def test_new_nodes_share_calls(count: int, most: int) -> None:
    async with working(BatchingCloud()) as world:
        await settle()
        world.register(*names(count))
        await asyncio.sleep(5)
        assert not any(map(world.is_new, names(count)))
        assert [(call.at, len(call.about)) for call in world.cloud.calls][most:] == []


async def test_node_at_which_the_program_chokes_costs_the_others_nothing_from_the_second_time_on() -> None:
    cloud = BatchingCloud()
    cloud.choking = {"n-3"}
    async with working(cloud) as world:
        world.register(*names(16))
        await asyncio.sleep(20)
        assert [*filter(world.is_new, names(16))] == ["n-3"]
        world.register("later")
        await asyncio.sleep(0.5)
        assert not world.is_new("later")


@pytest.mark.slow
async def test_minute_with_nodes_that_are_not_ready_costs_few_calls() -> None:
    """500 Nodes, 5 of them not ready: 6 passes about their lives, 6 about addresses, one call for both."""
    async with working(BatchingCloud()) as world:
        world.add(*names(500))
        world.say_ready("False", *names(5))
        await asyncio.sleep(65)
        before = len(world.cloud.calls)
        await asyncio.sleep(60)
        assert len(world.cloud.calls) - before <= 6
        assert world.api.written("DELETE") == []
