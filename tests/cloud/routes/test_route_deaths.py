"""A process that dies at any of its writes or calls, before or after they are done, leads to the same routes and
conditions.

Level: FakeApi."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.cloud.routes.route_plan import RoutePolicy
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.mortal_parts import MortalApi, MortalCloud
from tests.cloud.routes.route_samples import CLUSTER, route, with_networks
from tests.cloud.routes.route_world import APPLY, RouteWorld
from tests.cloud.upstream_policies import UPSTREAM_ROUTES
from tests.fakes.deaths import Death
from tests.fakes.fake_api import FakeApi

pytestmark = pytest.mark.looptime

OLD = "10.120.9.0/24"


def populate(world: RouteWorld) -> None:
    """A new Node, one whose route was written down as failed, one with another network by now, and a route of a Node
    that does not exist."""
    failed = {"type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated"}
    world.api.put(with_networks("new", "10.120.0.0/24", uid="u-new"))
    world.api.put(with_networks("failed", "10.120.1.0/24", uid="u-failed", conditions=[failed]))
    world.api.put(with_networks("moved", "10.120.2.0/24", uid="u-moved"))
    world.cloud.routes = [route("moved", OLD), route("gone", "10.120.8.0/24"), route("failed", "10.120.1.0/24")]


def end_state(world: RouteWorld) -> dict[str, Any]:
    """The routes, and the condition of each Node."""
    conditions = {key.name: world.condition(key.name) for key in world.api.cluster.objects}
    return {"routes": sorted(world.routes.items()), "number": len(world.cloud.routes), "conditions": conditions}


async def live_twice(policy: RoutePolicy, at: int, done: bool) -> tuple[dict[str, Any], int]:
    """The end after a death and a second life, and the steps of the first, in which a Node joins and another goes."""
    death = Death(at, done)
    first = RouteWorld(MortalApi(death=death), MortalCloud(death=death), policy=policy)
    populate(first)
    async with first.run_loop():
        await first.rest(90)
        first.api.put(with_networks("late", "10.120.3.0/24", uid="u-late"))
        first.api.delete("Node", "new")
        await first.rest(90)
    second = RouteWorld(FakeApi(first.api.cluster), FakeCloud(routes=first.cloud.routes), policy=policy)
    async with second.run_loop():
        await second.rest(90)
    return end_state(second), death.steps


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [RoutePolicy(CLUSTER), replace(UPSTREAM_ROUTES, cluster_cidrs=CLUSTER)],
    ids=["default", "upstream"],
)
async def test_death_at_any_step_leads_to_the_same_end(policy: RoutePolicy) -> None:
    expected, steps = await live_twice(policy, -1, done=True)
    names = {"failed": "10.120.1.0/24", "late": "10.120.3.0/24", "moved": "10.120.2.0/24"}
    assert expected["routes"] == sorted((cidr, name) for name, cidr in names.items())
    assert (expected["number"], set(expected["conditions"].values())) == (3, {("False", "RouteCreated")})
    assert steps == 6
    for number in range(steps):
        for done in (False, True):
            end, _ = await live_twice(policy, number, done)
            assert end == expected, f"died at step {number}, done: {done}"


async def test_call_that_was_under_way_at_the_death_is_repeated() -> None:
    first = RouteWorld()
    populate(first)
    first.cloud.seconds[APPLY] = 10.0
    async with first.run_loop():
        await first.rest(5)
    assert (len(first.times(APPLY)), first.api.calls) == (1, [])
    second = RouteWorld(api=FakeApi(first.api.cluster), cloud=FakeCloud(routes=first.cloud.routes))
    async with second.run_loop():
        assert sorted(second.routes.values()) == ["failed", "moved", "new"]
        assert {second.condition(name) for name in second.routes.values()} == {("False", "RouteCreated")}
