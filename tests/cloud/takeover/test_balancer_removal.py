"""All load balancers go, and no Service is stuck: what `hookrunner cloud clean` does. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.takeover.balancer_removal import BalancerRemoval
from hookrunner.errors import Denied
from tests.cloud.cloud_world import running
from tests.cloud.services.balancer_world import DELETE, BalancerWorld, balancer_actions
from tests.cloud.services.service_samples import kept, service

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def removing(world: BalancerWorld) -> AsyncIterator[tuple[BalancerRemoval, "asyncio.Task[None]"]]:
    """A removal that runs."""
    services = ServiceInformer(world.api)
    removal = BalancerRemoval(services, balancer_actions(world, services)[0], world.policy)
    async with running(services.follow), asyncio.TaskGroup() as group:
        task = group.create_task(removal.run())
        yield removal, task
        task.cancel()


async def with_two() -> BalancerWorld:
    """Two Services with load balancers, and a manager that has just ended."""
    world = BalancerWorld()
    for name in ("web", "api"):
        world.api.put(service(name))
    async with world.run_loop():
        await world.rest(1)
    assert len(world.cloud.load_balancers) == 2
    return world


async def test_each_load_balancer_goes_and_its_service_is_let_go() -> None:
    world = await with_two()
    async with removing(world) as (removal, task):
        await task
    assert (world.cloud.load_balancers, removal.left) == ({}, {})
    for name in ("web", "api"):
        assert (world.finalizers(name), world.addresses(name)) == ([], [])
        assert world.reasons(name)[-2:] == ["DeletingLoadBalancer", "DeletedLoadBalancer"]


async def test_service_that_is_being_deleted_is_not_stuck() -> None:
    world = await with_two()
    world.delete("web")
    async with removing(world) as (_, task):
        await task
    assert (world.exists("web"), world.exists("api")) == (False, True)


async def test_services_of_others_are_left_alone() -> None:
    world = await with_two()
    world.api.put(kept("theirs", loadBalancerClass="example.com/lb"))
    world.api.put(service("plain", "ClusterIP"))
    async with removing(world) as (_, task):
        await task
    assert world.finalizers("theirs") == [CLEANUP_FINALIZER]
    assert world.asked(DELETE) == 2


async def test_nothing_to_do_ends_at_once() -> None:
    world = BalancerWorld()
    async with removing(world) as (_, task):
        await task
    assert world.cloud.calls == []


async def test_failures_are_named_and_repeated() -> None:
    world = await with_two()
    world.cloud.fail(verbs.LB_DELETE, ProviderError(ErrorCode.UNAVAILABLE, "cloud is down"))
    async with removing(world) as (removal, task):
        await asyncio.sleep(20)
        assert removal.left == dict.fromkeys(("default/api", "default/web"), "Unavailable: cloud is down")
        assert world.finalizers("web") == [CLEANUP_FINALIZER]
        world.cloud.fail(verbs.LB_DELETE, ProviderError(ErrorCode.PENDING, "wait", 42.0), times=1)
        await task
    assert world.cloud.load_balancers == {}


async def test_missing_right_holds_one_service_and_no_other() -> None:
    world = await with_two()
    world.api.refuse("PATCH", "/services/web/status", Denied(403, "Forbidden", "no"), times=100)
    async with removing(world) as (removal, _):
        await asyncio.sleep(60)
        assert ([*removal.left], world.finalizers("api")) == (["default/web"], [])
