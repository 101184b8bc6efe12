"""Natural batches in virtual time: who shares a call, what a bad Node costs the others, what an outage costs.

Level: pure."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, InstanceState, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.instance_batches import InstanceBatches
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.cloud.provider.wire_requests import InstancesQuestion
from tests.cloud.cloud_world import running
from tests.tables import each

pytestmark = pytest.mark.looptime
STATE = frozenset([Want.STATE])
CALL = 1.0
"""Seconds of a call that is answered."""
HANG = 60.0


def node(name: str) -> CloudNode:
    return CloudNode(name, f"uid-{name}", "", {}, {}, (), (), (), 0.0, None, False, False, None)


def nodes(*names: str) -> list[CloudNode]:
    return [node(name) for name in names]


def numbered(number: int) -> list[CloudNode]:
    return nodes(*(f"n{index}" for index in range(number)))


class Cloud:
    """Answers a call after a second; fails at once at a call with a bad Node, and hangs at one with a hanging Node."""

    def __init__(self, max_batch: int = 500) -> None:
        self.max_batch = max_batch
        self.calls: list[list[str]] = []
        self.wants: list[AbstractSet[Want]] = []
        self.bad: set[str] = set()
        self.hanging: set[str] = set()
        self.error: ProviderError | None = None
        self.running = self.most_running = 0

    async def ask(
        self, verb: AnyVerb, question: InstancesQuestion, lane: str | None = None
    ) -> dict[str, InstanceAnswer]:
        names = [node.name for node in question.nodes]
        self.calls.append(names)
        self.wants.append(question.want)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await asyncio.sleep(HANG if self.hanging & set(names) else CALL)
        finally:
            self.running -= 1
        if self.error:
            raise self.error
        if (self.bad | self.hanging) & set(names):
            raise unavailable("exit status 1")
        return {name: InstanceAnswer(InstanceState.RUNNING) for name in names}


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@asynccontextmanager
async def batches(cloud: Cloud) -> AsyncIterator[InstanceBatches]:
    """What asks this cloud, at work."""
    made = InstanceBatches(cloud)
    async with running(made.run_batches, made.run_alone):
        yield made


@pytest.fixture
async def asked(cloud: Cloud) -> AsyncIterator[InstanceBatches]:
    async with batches(cloud) as made:
        yield made


def states(answers: Mapping[str, InstanceAnswer | ProviderError]) -> dict[str, str]:
    return {
        name: answer.code if isinstance(answer, ProviderError) else answer.state for name, answer in answers.items()
    }


async def test_the_first_question_waits_for_nothing_and_the_others_share_the_next_call(
    cloud: Cloud, asked: InstanceBatches
) -> None:
    first = asyncio.create_task(asked.ask(nodes("first"), STATE))
    await asyncio.sleep(0.1)
    others = [asyncio.create_task(asked.ask([other], STATE)) for other in numbered(300)]
    await first
    assert asyncio.get_running_loop().time() == pytest.approx(CALL)
    await asyncio.gather(*others)
    assert [len(call) for call in cloud.calls] == [1, 300]
    assert cloud.most_running == 1


async def test_a_batch_is_no_larger_than_the_provider_wants() -> None:
    cloud = Cloud(max_batch=200)
    async with batches(cloud) as asked:
        await asked.ask(numbered(450), STATE)
    assert [len(call) for call in cloud.calls] == [200, 200, 50]


async def test_size_of_the_first_batch_is_what_the_provider_said_meanwhile() -> None:
    cloud = Cloud(max_batch=1)
    made = InstanceBatches(cloud)
    running = asyncio.create_task(made.run_batches())
    await asyncio.sleep(1)  # nothing is asked before the provider has told its capabilities
    cloud.max_batch = 500
    await made.ask(numbered(300), STATE)
    running.cancel()
    assert [len(call) for call in cloud.calls] == [300]


async def test_a_question_during_a_call_is_not_answered_by_that_call(cloud: Cloud, asked: InstanceBatches) -> None:
    early = asyncio.create_task(asked.ask(nodes("a"), STATE))
    await asyncio.sleep(0.5)
    await asked.ask(nodes("a"), {Want.METADATA})
    await early
    assert (cloud.calls, cloud.wants) == ([["a"], ["a"]], [{Want.STATE}, {Want.METADATA}])


async def test_callers_share_the_union_of_what_they_want(cloud: Cloud, asked: InstanceBatches) -> None:
    await asyncio.gather(asked.ask(nodes("a"), STATE), asked.ask(nodes("a", "b"), {Want.METADATA}))
    assert (cloud.calls, cloud.wants) == ([["a", "b"]], [{Want.STATE, Want.METADATA}])


async def test_an_empty_question_costs_no_call(cloud: Cloud, asked: InstanceBatches) -> None:
    assert await asked.ask([], STATE) == {}
    assert cloud.calls == []


async def test_a_bad_node_costs_the_others_one_round(cloud: Cloud, asked: InstanceBatches) -> None:
    cloud.bad = {"n7"}
    answers = states(await asked.ask(numbered(100), STATE))
    assert {name: state for name, state in answers.items() if state != "running"} == {"n7": ErrorCode.UNAVAILABLE}
    assert len(cloud.calls) < 20
    cloud.calls.clear()
    answers = states(await asked.ask(numbered(100), STATE))
    assert answers["n7"] == ErrorCode.UNAVAILABLE
    assert sorted(map(len, cloud.calls)) == [1, 99]
    cloud.bad = set()
    assert states(await asked.ask(nodes("n7"), STATE)) == {"n7": "running"}
    cloud.calls.clear()
    await asked.ask(numbered(100), STATE)
    assert [len(call) for call in cloud.calls] == [100]


async def test_a_hanging_node_does_not_hold_up_the_others_again(cloud: Cloud, asked: InstanceBatches) -> None:
    await asked.ask(numbered(8), STATE)
    cloud.hanging = {"n3"}
    await asked.ask(numbered(8), STATE)
    before = asyncio.get_running_loop().time()
    answers = states(await asked.ask(numbered(8), STATE))
    assert asyncio.get_running_loop().time() - before == pytest.approx(CALL)
    assert (answers.pop("n3"), set(answers.values())) == (ErrorCode.UNAVAILABLE, {"running"})


async def test_nodes_set_aside_are_asked_about_one_at_a_time_beside_a_batch(
    cloud: Cloud, asked: InstanceBatches
) -> None:
    await asked.ask(numbered(50), STATE)
    cloud.bad = {"n3", "n4", "n5"}
    while len(asked.aside) < 3:  # both probes may hit bad ones
        await asked.ask(numbered(50), STATE)
    cloud.calls.clear()
    cloud.most_running = 0
    await asyncio.gather(*(asked.ask([one], STATE) for one in numbered(50)))
    assert sorted(map(len, cloud.calls)) == [1, 1, 1, 47]
    assert cloud.most_running == 2


async def test_an_outage_costs_few_calls_and_sets_nothing_aside(cloud: Cloud, asked: InstanceBatches) -> None:
    await asked.ask(numbered(500), STATE)
    cloud.calls.clear()
    cloud.bad = {node.name for node in numbered(500)}
    assert set(states(await asked.ask(numbered(500), STATE)).values()) == {ErrorCode.UNAVAILABLE}
    assert [len(call) for call in cloud.calls] == [500, 1, 1]
    assert asked.aside == set()
    await asked.ask(numbered(500), STATE)
    assert [len(call) for call in cloud.calls] == [500, 1, 1, 1]
    cloud.bad = set()
    assert set(states(await asked.ask(numbered(500), STATE)).values()) == {"running"}
    await asked.ask(numbered(500), STATE)
    assert [len(call) for call in cloud.calls] == [500, 1, 1, 1, 1, 499, 500]


async def test_after_an_outage_a_bad_node_is_set_aside_as_before(cloud: Cloud, asked: InstanceBatches) -> None:
    cloud.bad = {"a", "b"}
    assert set(states(await asked.ask(nodes("a", "b"), STATE)).values()) == {ErrorCode.UNAVAILABLE}
    cloud.bad = {"a"}
    for _ in range(20):
        answers = states(await asked.ask(nodes("a", "b"), STATE))
        if asked.aside:
            break
    assert (answers, asked.aside) == ({"a": ErrorCode.UNAVAILABLE, "b": "running"}, {"a"})


@pytest.mark.parametrize("code", [ErrorCode.THROTTLED, ErrorCode.UNAUTHENTICATED, ErrorCode.NOT_IMPLEMENTED])
async def test_an_error_that_is_no_nodes_fault_is_not_halved(
    cloud: Cloud, asked: InstanceBatches, code: ErrorCode
) -> None:
    cloud.error = ProviderError(code, "no")
    assert states(await asked.ask(nodes("a", "b"), STATE)) == {"a": code, "b": code}
    assert len(cloud.calls) == 1


async def test_a_caller_that_gives_up_harms_no_other(asked: InstanceBatches) -> None:
    gone = asyncio.create_task(asked.ask(nodes("a"), STATE))
    await asyncio.sleep(0.5)
    other = asyncio.create_task(asked.ask(nodes("a"), STATE))
    gone.cancel()
    assert states(await other) == {"a": "running"}


class Clocked(Cloud):
    """Says in each answer when its call began."""

    async def ask(
        self, verb: AnyVerb, question: InstancesQuestion, lane: str | None = None
    ) -> dict[str, InstanceAnswer]:
        began = asyncio.get_running_loop().time()
        answers = await super().ask(verb, question, lane)
        return {name: replace(answer, message=str(began)) for name, answer in answers.items()}


@each("seed", range(20))
async def test_random_histories_answer_every_question_afterwards_and_heal(seed: int) -> None:
    """No answer is of a call that began before its question; at most one Node is asked about beside a batch."""
    chance = random.Random(seed)
    cloud, every = Clocked(chance.choice([1, 5, 500])), numbered(12)
    names = [node.name for node in every]

    async def caller() -> None:
        for _ in range(10):
            await asyncio.sleep(chance.uniform(0, 20))
            asked_at = asyncio.get_running_loop().time()
            some = chance.sample(every, chance.randint(1, len(every)))
            answers = await made.ask(some, STATE)
            assert answers.keys() == {node.name for node in some}
            times = [float(one.message) for one in answers.values() if isinstance(one, InstanceAnswer)]
            assert all(began >= asked_at for began in times)

    async def trouble() -> None:
        for _ in range(8):
            await asyncio.sleep(chance.uniform(0, 30))
            cloud.bad = set(chance.choice([[], names, chance.sample(names, 2), chance.sample(names, 1)]))
            cloud.hanging = set(chance.choice([[], [], chance.sample(names, 1)]))

    async with batches(cloud) as made:
        await asyncio.gather(trouble(), *(caller() for _ in range(4)))
        cloud.bad, cloud.hanging = set(), set()
        await asyncio.gather(*(made.ask([node], STATE) for node in every))
        assert states(await made.ask(every, STATE)) == dict.fromkeys(names, "running")
    assert (made.aside, cloud.most_running <= 2) == (set(), True)
