"""A Service that is created again between our reading and writing gets nothing of its predecessor. Level: FakeApi."""

import pytest

from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.kube.client import ApiCall
from tests.cloud.services.balancer_world import ENSURE, BalancerWorld
from tests.cloud.services.service_samples import kept, service

pytestmark = pytest.mark.looptime


async def test_address_is_not_written_to_a_service_created_again_meanwhile(world: BalancerWorld) -> None:
    """It would show the load balancer of its predecessor, which is about to be deleted."""
    addresses: list[list[str]] = []

    def create_again(call: ApiCall) -> None:
        if "ingress" in str(call.body) and world.live()["metadata"]["uid"] == "old":
            world.remove()
            world.api.put(service(uid="new"))
        elif "ingress" not in str(call.body):
            addresses.append(world.addresses())

    world.api.before_write = create_again
    world.api.put(service(uid="old"))
    async with world.run_loop():
        await world.rest(600)
    assert (world.live()["metadata"]["uid"], world.addresses()) == ("new", ["192.0.2.2"])
    assert addresses[-1] == []


async def test_finalizer_of_a_service_created_again_meanwhile_stays(world: BalancerWorld) -> None:
    """The cleanup that ends is its predecessor's."""

    def create_again(call: ApiCall) -> None:
        if world.live()["metadata"]["uid"] == "old":
            world.remove()
            world.api.put(kept(uid="new"))

    world.api.before_write = create_again
    world.api.put(service(uid="old", kind="ClusterIP", finalizers=[CLEANUP_FINALIZER]))
    async with world.run_loop():
        await world.rest(600)
    assert world.live()["metadata"]["uid"] == "new"
    assert len([call for call in world.api.calls if "finalizers" in str(call.body)]) == 1, "the one that was refused"


async def test_service_created_again_before_it_is_kept_is_no_reason_for_a_call(world: BalancerWorld) -> None:
    """Nothing would delete the load balancer of its predecessor."""

    def create_again(call: ApiCall) -> None:
        if world.live()["metadata"]["uid"] == "old":
            world.remove()
            world.api.put(service(uid="new"))

    world.api.before_write = create_again
    world.api.put(service(uid="old"))
    async with world.run_loop():
        await world.rest(600)
    assert (world.asked(ENSURE), world.addresses()) == (1, ["192.0.2.1"])
