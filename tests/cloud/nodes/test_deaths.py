"""A process that dies at any of its writes, before or after the API server has it, leads to the same end.

Level: FakeApi."""

import asyncio
from contextlib import suppress
from typing import Any, TypedDict

import pytest

from hookrunner.cloud.nodes.address_loop import AddressPolicy
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from tests.cloud.mortal_parts import MortalApi
from tests.cloud.node_samples import new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_INITIALIZATION, UPSTREAM_LIFECYCLE
from tests.fakes.deaths import Death
from tests.fakes.fake_api import FakeApi

pytestmark = pytest.mark.looptime


class Policies(TypedDict, total=False):
    """Policies of a `NodeWorld`."""

    init_policy: InitializationPolicy
    life_policy: LifecyclePolicy
    address_policy: AddressPolicy


DEFAULT: Policies = {"address_policy": AddressPolicy(period=86_400, syncs_labels=True)}
"""One pass over addresses a life, at its start: a second one would hide what the initialization did not write."""
UPSTREAM: Policies = {**DEFAULT, "init_policy": UPSTREAM_INITIALIZATION, "life_policy": UPSTREAM_LIFECYCLE}


def populate(world: NodeWorld) -> None:
    """One Node that is new, one whose machine is gone, one whose machine is off, and two that vouch: their addresses
    are written by the loops."""
    world.cloud.add("new", rack="1")
    world.api.put(new_node("new", uid="u-1"))
    world.api.put(node("gone", None, "sim://gone", uid="u-2"))
    world.cloud.add("off")
    world.cloud.stop("off")
    world.api.put(node("off", False, "sim://off", uid="u-3"))
    for name in ("well", "moved"):
        world.cloud.add(name)
        world.api.put(node(name, True, f"sim://{name}", uid=name))


def end_state(world: NodeWorld) -> dict[str, Any]:
    """All Nodes without what depends on the number of writes."""
    objects = world.api.cluster.objects
    return {
        key.name: (obj["spec"], obj["status"], obj["metadata"].get("labels")) for key, obj in sorted(objects.items())
    }


async def live(world: NodeWorld, death: Death, seconds: float = 400) -> None:
    """Run all loops so long, or until death."""
    async with world.running():
        with suppress(TimeoutError):
            await asyncio.wait_for(death.happened.wait(), seconds)


async def live_twice(policies: Policies, at: int, done: bool) -> tuple[dict[str, Any], int]:
    """The end after a death and a second life, and the writes of the first."""
    death = Death(at, done)
    first = NodeWorld(MortalApi(death=death), **policies)
    populate(first)
    await live(first, death)
    second = NodeWorld(FakeApi(first.api.cluster), first.cloud, **policies)
    await live(second, Death())
    return end_state(second), death.steps


@pytest.mark.slow
@pytest.mark.parametrize("policies", [DEFAULT, UPSTREAM], ids=["default", "upstream"])
async def test_death_at_any_write_leads_to_the_same_end(policies: Policies) -> None:
    expected, writes = await live_twice(policies, -1, done=True)
    assert (list(expected), writes > 6) == (["moved", "new", "off", "well"], True)
    for number in range(writes):
        for done in (False, True):
            end, _ = await live_twice(policies, number, done)
            assert end == expected, f"died at write {number}, done: {done}"


@pytest.mark.slow
async def test_call_that_was_under_way_at_the_death_is_repeated() -> None:
    world = NodeWorld()
    populate(world)
    world.cloud.seconds[verbs.INSTANCES] = 30.0
    await live(world, Death(), 15)
    assert (world.api.calls, len(world.cloud.calls)) == ([], 3)
    world.cloud.seconds.clear()
    world.begin_term()
    await live(world, Death())
    assert list(end_state(world)) == ["moved", "new", "off", "well"]
