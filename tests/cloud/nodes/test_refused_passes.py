"""Passes over Nodes of which the provider has answered none: when the next one comes, and who hears of it; in virtual
time.

Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, InstanceState, ProviderError
from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.nodes.pass_answers import Answers, pause_of
from hookrunner.cloud.provider import verbs
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_ADDRESSES, UPSTREAM_LIFECYCLE
from tests.tables import each

EXPIRED = ProviderError(ErrorCode.UNAUTHENTICATED, "the token has expired")
PENDING = ProviderError(ErrorCode.PENDING, "listing machines", 3.0)
DOWN = ProviderError(ErrorCode.UNAVAILABLE, "the cloud is down")
HERE = InstanceAnswer(InstanceState.RUNNING)


@asynccontextmanager
async def machines(policy: LifecyclePolicy | AddressPolicy) -> AsyncIterator[NodeWorld]:
    """A loop with this policy; three Nodes with machines, of which the first is ready."""
    world = NodeWorld(life_policy=policy) if isinstance(policy, LifecyclePolicy) else NodeWorld(address_policy=policy)
    for name, ready in (("a", True), ("b", None), ("c", False)):
        world.add(name, ready=ready)
    async with world.running(world.life_loop if isinstance(policy, LifecyclePolicy) else world.address_loop):
        yield world


def times(world: NodeWorld) -> Sequence[int]:
    """When calls began, in whole seconds after the first."""
    began = [call.at for call in world.cloud.calls]
    return [round(at - began[0]) for at in began]


@each(
    ("answers", "pause"),
    [
        ({}, None),
        ({"a": EXPIRED, "b": EXPIRED}, 60.0),
        ({"a": EXPIRED, "b": PENDING}, 3.0),
        ({"a": EXPIRED, "b": HERE}, None),
        ({"a": EXPIRED, "b": DOWN}, None),
        ({"a": DOWN}, None),
    ],
)
def test_pass_is_repeated_when_the_provider_says_if_it_has_answered_about_none(
    answers: Answers, pause: float | None
) -> None:
    assert pause_of(answers) == pause


@pytest.mark.looptime
@each(("policy", "about"), [(LifecyclePolicy(), "b"), (AddressPolicy(), "a")])
async def test_refused_credentials_are_one_event_and_tried_again_after_a_minute(
    policy: LifecyclePolicy | AddressPolicy, about: str
) -> None:
    async with machines(policy) as world:
        world.cloud.fail(verbs.INSTANCES, EXPIRED, times=2)
        await asyncio.sleep(130)
        assert times(world)[:3] == [0, 60, 120]
        text = "no answer about a, b, c: Unauthenticated: the token has expired"
        assert world.events == [(about, "InstanceMetadataFailed", text)] * 2


@pytest.mark.looptime
@each("policy", [UPSTREAM_LIFECYCLE, UPSTREAM_ADDRESSES])
async def test_upstream_records_no_event_of_them(policy: LifecyclePolicy | AddressPolicy) -> None:
    async with machines(policy) as world:
        world.cloud.fail(verbs.INSTANCES, EXPIRED)
        await asyncio.sleep(130)
        assert (times(world), world.events) == ([0, 60, 120], [])


@pytest.mark.looptime
@each("policy", [LifecyclePolicy(), AddressPolicy()])
async def test_answer_that_is_under_way_is_asked_for_after_exactly_its_time(
    policy: LifecyclePolicy | AddressPolicy,
) -> None:
    async with machines(policy) as world:
        world.cloud.fail(verbs.INSTANCES, PENDING, times=3)
        await asyncio.sleep(9.5)
        assert (times(world), world.events) == ([0, 3, 6, 9], [])


@pytest.mark.looptime
async def test_passes_with_an_answer_come_at_their_period() -> None:
    async with machines(LifecyclePolicy()) as world:
        world.cloud.garbled["a"] = EXPIRED
        await asyncio.sleep(5)
        began = len(world.cloud.calls)
        await asyncio.sleep(50)
        assert len(world.cloud.calls) == began + 5
        assert world.events == []
