"""Nodes and Services that come, fail and go leave nothing behind in the loops: no task, no object, in virtual time.

The soak (`tests/cloud/scenarios/test_soak.py`) measures the memory of a process for minutes; here each object counts.

Level: FakeApi.
"""

import asyncio
import gc
from collections import Counter

import pytest

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from tests.cloud.node_samples import node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.routes.route_world import RouteWorld
from tests.cloud.services.balancer_world import DELETE, ENSURE, UPDATE, BalancerWorld
from tests.cloud.services.service_samples import service
from tests.examples import several

pytestmark = pytest.mark.looptime

DOWN = ProviderError(ErrorCode.UNAVAILABLE, "down")
INVALID = ProviderError(ErrorCode.INVALID, "no such size")
ROUNDS, MANY = 2, several(20)
LONG = 2000.0
"""Seconds in which every back-off is over."""


def alive() -> Counter[str]:
    """How many objects of the cloud's rooms there are, by type, and how many tasks."""
    for error in (DOWN, INVALID):
        error.__traceback__ = error.__context__ = None  # it was raised again and again, and has all their frames
    gc.collect()
    ours = (
        type(obj)
        for obj in gc.get_objects()
        if type(obj).__module__.startswith(("hookrunner.cloud", "hookrunner.controllers"))
    )
    return Counter(kind.__name__ for kind in ours) + Counter(tasks=len(asyncio.all_tasks()))


@pytest.mark.slow
async def test_services_leave_nothing() -> None:
    world = BalancerWorld()
    left: list[Counter[str]] = []
    async with world.run_loop():
        for number in range(ROUNDS):
            names = [f"s-{number}-{index}" for index in range(MANY)]
            world.cloud.fail(ENSURE, DOWN, times=5)
            for name in names:
                world.api.put(service(name))
            await world.rest(LONG)
            world.cloud.fail(UPDATE, DOWN, times=3)
            world.api.put(node("c"))
            await world.rest(LONG)
            world.cloud.fail(ENSURE, INVALID, times=2)
            for name in names[:3]:
                world.annotate(name)
            await world.rest(LONG)
            world.cloud.fail(DELETE, DOWN, times=5)
            world.api.delete("Node", "c")
            for name in names:
                world.delete(name)
            await world.rest(LONG)
            assert world.cloud.load_balancers == {}
            left.append(alive())
    assert left[1:] == left[:1] * (ROUNDS - 1)


@pytest.mark.slow
async def test_nodes_leave_nothing() -> None:
    world = NodeWorld(life_policy=LifecyclePolicy(min_age=0, max_per_pass=0, max_ratio=1))
    left: list[Counter[str]] = []
    world.add("witness")
    async with world.running():
        for number in range(ROUNDS):
            names = [f"n-{number}-{index}" for index in range(MANY)]
            world.cloud.fail(verbs.INSTANCES, DOWN, times=5)
            world.register(*names)
            world.cloud.garbled[names[0]] = DOWN
            await asyncio.sleep(LONG)
            world.cloud.garbled.clear()
            await asyncio.sleep(LONG)
            world.vanish(*names)
            await asyncio.sleep(LONG)
            assert len(world.nodes) == 1
            left.append(alive())
    assert left[1:] == left[:1] * (ROUNDS - 1)


@pytest.mark.slow
async def test_routes_leave_nothing() -> None:
    world = RouteWorld()
    left: list[Counter[str]] = []
    world.api.put(node("witness", pod_cidrs=["10.120.99.0/24"]))
    async with world.run_loop():
        for number in range(ROUNDS):
            names = [f"n-{number}-{index}" for index in range(MANY)]
            world.cloud.fail(verbs.ROUTES_APPLY, DOWN, times=2)
            for index, name in enumerate(names):
                world.api.put(node(name, pod_cidrs=[f"10.120.{index}.0/24"]))
            await world.rest(LONG)
            for name in names:
                world.api.delete("Node", name)
            await world.rest(LONG)
            assert list(world.routes.values()) == ["witness"]
            left.append(alive())
    assert left[1:] == left[:1] * (ROUNDS - 1)
