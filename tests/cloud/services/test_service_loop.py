"""Load balancers from a Service's creation to its end, with a cluster and a cloud that have memory, in virtual time.

Level: FakeApi."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.cloud.answers import ErrorCode, Ingress, ProviderError
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.cloud.services.service_loop import until_resync
from hookrunner.errors import Conflict, NotFound
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.cloud_world import running
from tests.cloud.node_samples import node
from tests.cloud.services.balancer_world import DELETE, ENSURE, GET, UPDATE, BalancerWorld
from tests.cloud.services.service_samples import PORT, kept, service
from tests.cloud.upstream_policies import UPSTREAM_SERVICES
from tests.tables import each

pytestmark = pytest.mark.looptime

DOWN = ProviderError(ErrorCode.UNAVAILABLE, "down")
INVALID = ProviderError(ErrorCode.INVALID, "no such size")
CREATED = ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]
STATUS = "services/web/status"


@pytest.mark.parametrize("protocol", ["TCP", "UDP", "SCTP"])
async def test_wanted_service_gets_finalizer_load_balancer_and_address_in_two_writes(
    world: BalancerWorld, protocol: str
) -> None:
    async with world.run_loop():
        world.api.put(service(ports=[PORT | {"protocol": protocol}]))
        await world.rest()
        assert world.finalizers() == [CLEANUP_FINALIZER]
        assert world.live()["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}]
        assert world.api.written() == ["web/status", "web/status"]
        assert world.backends() == ("a", "b")
        assert world.reasons() == CREATED


async def test_finalizer_that_is_there_is_not_written_again(world: BalancerWorld) -> None:
    world.api.put(kept())
    async with world.run_loop():
        assert len(world.api.written()) == 1
        assert world.addresses() == ["192.0.2.1"]


@pytest.mark.parametrize(
    "document", [service(loadBalancerClass="example.com/theirs"), service(kind="ClusterIP"), service(kind="NodePort")]
)
async def test_other_services_cost_neither_a_call_nor_a_write(world: BalancerWorld, document: Any) -> None:
    world.api.put(document)
    async with world.run_loop():
        assert (world.cloud.calls, world.api.calls, world.events) == ([], [], [])


async def test_services_of_our_class_are_kept_and_others_may_be_left_alone(world: BalancerWorld) -> None:
    world.policy = ServicePolicy(load_balancer_class="example.com/ours", unclassed=False)
    world.api.put(service("ours", loadBalancerClass="example.com/ours"))
    world.api.put(service("unclassed"))
    async with world.run_loop():
        assert [lb.service for lb in world.cloud.load_balancers.values()] == ["default/ours"]


async def test_type_that_changes_away_deletes_the_load_balancer_and_the_finalizer(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        world.change({"spec": {"type": "ClusterIP"}})
        await world.rest()
        assert not world.cloud.load_balancers
        assert (world.finalizers(), world.addresses()) == ([], [])
        assert world.reasons() == [*CREATED, "DeletingLoadBalancer", "DeletedLoadBalancer"]


@each("policy", [ServicePolicy(), UPSTREAM_SERVICES])
async def test_deleted_service_vanishes_when_its_load_balancer_is_gone(policy: ServicePolicy) -> None:
    world = BalancerWorld(policy=policy)
    world.api.put(service())
    async with world.run_loop():
        world.delete()
        await world.rest()
        assert not world.exists()
        assert not world.cloud.load_balancers
        assert world.reasons()[2:] == ["DeletingLoadBalancer", "DeletedLoadBalancer"]


async def test_upstream_asks_first_and_deletes_nothing_that_is_not_there(upstream: BalancerWorld) -> None:
    upstream.api.put(kept(deletionTimestamp="2026-11-23T00:00:00Z"))
    async with upstream.run_loop():
        assert [call.verb for call in upstream.cloud.calls] == [GET]
        assert not upstream.exists()
        assert upstream.reasons() == ["DeletedLoadBalancer"]


async def test_we_always_delete_since_parts_may_be_left(world: BalancerWorld) -> None:
    world.api.put(kept(deletionTimestamp="2026-11-23T00:00:00Z"))
    async with world.run_loop():
        assert [call.verb for call in world.cloud.calls] == [DELETE]
        assert not world.exists()


async def test_deletion_that_fails_keeps_the_finalizer_and_backs_off(world: BalancerWorld) -> None:
    world.api.put(service())
    world.cloud.fail(DELETE, DOWN, times=3)
    async with world.run_loop():
        world.delete()
        await world.rest(34)
        assert world.finalizers() == [CLEANUP_FINALIZER]
        assert world.reasons()[-1] == "SyncLoadBalancerFailed"
        await world.rest(2)
        assert world.times(DELETE) == [0, 5, 15, 35]
        assert not world.exists()


async def test_label_or_selector_is_no_reason_for_a_call_but_an_annotation_is(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        world.change({"metadata": {"labels": {"a": "b"}}, "spec": {"selector": {"a": "b"}}})
        await world.rest()
        assert world.asked(ENSURE) == 1
        world.annotate()
        await world.rest()
        assert world.asked(ENSURE) == 2
        assert len(world.api.written()) == 2


async def test_failures_back_off_up_to_five_minutes_and_a_success_resets_that(world: BalancerWorld) -> None:
    world.cloud.fail(ENSURE, DOWN, times=8)
    world.api.put(service())
    async with world.run_loop() as loop:
        await world.rest(1300)
        assert world.times(ENSURE) == [0, 5, 15, 35, 75, 155, 315, 615, 915]
        assert world.addresses() == ["192.0.2.1"]
        world.cloud.fail(ENSURE, DOWN, times=1)
        world.annotate()
        await world.rest(1)
        (shown,) = loop.describe()
        assert (shown.state, shown.again > time.time()) == ("failed", True)
        await world.rest(5)
        assert world.times(ENSURE)[-2:] == [1300, 1305]


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ProviderError(ErrorCode.PENDING, "being made", 42), 42),
        (ProviderError(ErrorCode.THROTTLED, "429", 30), 30),
        (ProviderError(ErrorCode.UNAUTHENTICATED, "no token"), 60),
    ],
)
async def test_pause_that_is_asked_for_is_kept_exactly_and_counts_no_failure(
    world: BalancerWorld, error: ProviderError, seconds: int
) -> None:
    world.cloud.fail(ENSURE, error, times=2)
    world.api.put(service())
    async with world.run_loop() as loop:
        await world.rest(2 * seconds)
        assert world.times(ENSURE) == [0, seconds, 2 * seconds]
        assert loop.backing_off == 0
        assert world.reasons().count("SyncLoadBalancerFailed") == 2


async def test_load_balancer_of_another_controller_gets_a_finalizer_and_no_status(world: BalancerWorld) -> None:
    elsewhere = ProviderError(ErrorCode.IMPLEMENTED_ELSEWHERE, "not here")
    for verb in (ENSURE, UPDATE, DELETE):
        world.cloud.fail(verb, elsewhere)
    world.api.put(service())
    async with world.run_loop():
        assert (world.finalizers(), world.addresses()) == ([CLEANUP_FINALIZER], [])
        world.api.put(node("c"))
        await world.rest(500)
        assert (world.asked(ENSURE), world.asked(UPDATE)) == (1, 1)
        assert not any("Failed" in reason for reason in world.reasons())
        world.delete()
        await world.rest()
        assert not world.exists()


async def test_conflict_at_the_status_is_tried_again_and_a_service_that_is_gone_is_not(world: BalancerWorld) -> None:
    world.api.put(kept())
    world.api.refuse("PATCH", STATUS, Conflict(409, "Conflict", "modified"))
    async with world.run_loop():
        assert world.reasons()[-1] == "SyncLoadBalancerFailed"
        await world.rest(5)
        assert world.addresses() == ["192.0.2.1"]
        world.change({"status": {"loadBalancer": {"ingress": None}}})
        world.api.refuse("PATCH", STATUS, NotFound(404, "NotFound", "gone"))
        world.annotate()
        await world.rest(500)
        assert (world.asked(ENSURE), world.reasons()[-1]) == (3, "EnsuredLoadBalancer")


async def test_finalizer_of_others_that_comes_meanwhile_is_kept(world: BalancerWorld) -> None:
    world.api.put(service())
    other = {"metadata": {"finalizers": ["example.com/other"]}}
    world.api.before_write = lambda call: None if world.finalizers() else world.change(other)
    async with world.run_loop():
        assert sorted(world.finalizers()) == ["example.com/other", CLEANUP_FINALIZER]


async def test_cleanup_leaves_finalizers_of_others(world: BalancerWorld) -> None:
    world.api.put(service(kind="ClusterIP", finalizers=["example.com/other", CLEANUP_FINALIZER, "example.com/more"]))
    async with world.run_loop():
        assert world.finalizers() == ["example.com/other", "example.com/more"]


async def test_service_made_anew_under_its_name_has_the_old_load_balancer_deleted_first(world: BalancerWorld) -> None:
    world.api.put(service(uid="old"))
    async with world.run_loop():
        world.change({"metadata": {"finalizers": None}})
        world.remove()
        world.api.put(service(uid="new"))
        await world.rest()
        assert [(call.verb, call.about) for call in world.cloud.calls][1:] == [(DELETE, ("old",)), (ENSURE, ("new",))]
        assert world.addresses() == ["192.0.2.2"]


async def test_service_created_again_during_the_call_is_no_failure_of_its_predecessor(world: BalancerWorld) -> None:
    world.cloud.seconds[ENSURE] = 8.0
    async with world.run_loop():
        world.api.put(service())
        await world.rest(4)
        world.remove()
        world.api.put(service())
        await world.rest(60)
        assert (world.addresses(), list(world.cloud.load_balancers)) == (
            ["192.0.2.2"],
            [world.live()["metadata"]["uid"]],
        )
        assert "SyncLoadBalancerFailed" not in world.reasons()


async def test_foreign_class_with_the_shared_finalizer_is_not_touched(world: BalancerWorld) -> None:
    theirs = kept(loadBalancerClass="example.com/theirs", deletionTimestamp="2026-11-23T00:00:00Z")
    world.api.put(theirs)
    async with world.run_loop():
        await world.rest(500)
        assert (world.cloud.calls, world.api.calls) == ([], [])
        assert world.exists()


async def test_one_service_that_hangs_holds_up_no_other(world: BalancerWorld) -> None:
    world.api.put(service("slow"))
    world.cloud.seconds[ENSURE] = 1000
    async with world.run_loop():
        world.cloud.seconds.clear()
        for name in ("one", "two", "three", "four"):
            world.api.put(service(name))
        await world.rest(1)
        assert sorted(lb.service for lb in world.cloud.load_balancers.values()) == [
            *("default/four", "default/one", "default/three", "default/two")
        ]


async def test_invalid_service_is_one_event_and_no_attempt_before_it_changes(world: BalancerWorld) -> None:
    world.cloud.fail(ENSURE, INVALID)
    world.api.put(service())
    async with world.run_loop() as loop:
        world.change({"metadata": {"labels": {"a": "b"}}})
        world.api.put(node("c"))
        await world.rest(10_000)
        assert (world.asked(ENSURE), world.asked(UPDATE), loop.backing_off) == (1, 0, 0)
        (shown,) = loop.describe()
        assert (shown.state, shown.reason, shown.again) == ("invalid", "Invalid: no such size", 0.0)
        assert world.reasons().count("SyncLoadBalancerFailed") == 1
        world.cloud.fail(ENSURE, INVALID, times=0)
        world.change({"metadata": {"annotations": {"size": "large"}}})
        await world.rest()
        assert world.addresses() == ["192.0.2.1"]


async def test_upstream_tries_invalid_services_again_and_again(upstream: BalancerWorld) -> None:
    upstream.cloud.fail(ENSURE, INVALID)
    upstream.api.put(service())
    async with upstream.run_loop():
        await upstream.rest(16)
        assert upstream.times(ENSURE) == [0, 5, 15]


@pytest.mark.parametrize("bad", [Ingress(), Ingress(ip="lb.example.com"), Ingress(hostname="192.0.2.1")])
async def test_ingress_that_the_api_would_refuse_is_not_written(world: BalancerWorld, bad: Ingress) -> None:
    world.api.put(service("bad"))
    async with world.run_loop():
        (balancer,) = world.cloud.load_balancers.values()
        balancer.ingress = (bad,)
        world.annotate("bad")
        world.api.put(service("good"))
        await world.rest()
        assert (world.addresses("bad"), world.addresses("good")) == (["192.0.2.1"], ["192.0.2.2"])
        assert any("ingress[0]" in message for message in world.messages)


async def test_ingress_without_a_mode_causes_no_second_write(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        for number in range(3):
            world.annotate(value=str(number))
            await world.rest()
        assert (world.asked(ENSURE), len(world.api.written())) == (4, 2)


async def test_finalizer_taken_away_by_hand_leaves_no_load_balancer_behind(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        world.change({"metadata": {"finalizers": None}})
        await world.rest()
        world.remove()
        await world.rest()
        assert not world.cloud.load_balancers


async def test_old_load_balancer_that_cannot_be_deleted_is_tried_again(world: BalancerWorld) -> None:
    world.api.put(service())
    world.cloud.fail(DELETE, INVALID, times=2)
    async with world.run_loop():
        world.remove()
        await world.rest(20)
        assert world.times(DELETE) == [0, 5, 15]
        assert world.reasons()[2:4] == ["DeletingLoadBalancer", "DeleteLoadBalancerFailed"]
        assert not world.cloud.load_balancers


async def test_nothing_is_decided_while_a_watch_is_lost(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        world.api.cluster.tell(WatchLost("refused", brief=True))
        world.delete()
        await world.rest(500)
        assert world.asked(DELETE) == 0
        world.api.cluster.tell(WatchRestored())
        await world.rest()
        assert not world.exists()


async def test_nothing_is_done_before_the_first_list(world: BalancerWorld) -> None:
    world.api.cluster.listing.clear()
    world.api.put(service())
    async with world.run_loop():
        assert not world.cloud.calls
        world.api.cluster.listing.set()
        await world.rest()
        assert world.backends() == ("a", "b")


async def test_stop_finishes_what_runs_and_begins_nothing_more(world: BalancerWorld) -> None:
    world.policy = replace(world.policy, concurrent_syncs=1)
    world.cloud.seconds[ENSURE] = 10
    world.api.put(service("one"))
    world.api.put(service("two"))
    async with world.run_loop() as loop:
        loop.stop()
        await world.rest(100)
        assert world.addresses("one") == ["192.0.2.1"]
        assert world.asked(ENSURE) == 1


async def test_stop_ends_the_wait_for_nodes_that_are_not_listed(world: BalancerWorld) -> None:
    world.api.put(service("one"))
    loop = world.build()
    async with running(world.services.follow), asyncio.TaskGroup() as group:
        group.create_task(loop.run())
        await world.rest(4)
        loop.stop()
    assert (world.asked(ENSURE), world.live("one")["status"]) == (0, {"loadBalancer": {}})


async def test_each_service_is_ensured_once_in_a_resync_period(world: BalancerWorld) -> None:
    world.policy = ServicePolicy(resync_period=100.0)
    world.api.put(service("one"))
    world.api.put(service("two"))
    async with world.run_loop():
        await world.rest(1001)
        assert 20 <= world.asked(ENSURE) <= 24
        assert len({call.at for call in world.cloud.calls}) > 10


def test_resync_has_a_fixed_place_in_the_period() -> None:
    first = until_resync("uid", 60.0, 1000.0)
    assert first
    assert 0 < first <= 60
    later = until_resync("uid", 60.0, 1000.0 + first / 2)
    assert later
    assert abs(later - first / 2) < 1e-6
    assert until_resync("uid", 0.0, 1000.0) is None
