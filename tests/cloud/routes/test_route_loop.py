"""Passes over routes, with a cluster and a cloud that have memory, in virtual time. Level: FakeApi."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.cloud.answers import ErrorCode, Interface, ProviderError, RouteResults
from hookrunner.errors import Denied
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.fake_cloud import EVERYTHING, FakeCloud
from tests.cloud.routes.route_samples import CLUSTER, route, with_networks
from tests.cloud.routes.route_world import APPLY, LIST, RouteWorld
from tests.cloud.upstream_policies import UPSTREAM_ROUTES

pytestmark = pytest.mark.looptime

FIRST, SECOND = "10.120.0.0/24", "10.120.1.0/24"
READY = [{"type": "MemoryPressure", "status": "False"}]


@pytest.fixture
def world() -> RouteWorld:
    world = RouteWorld()
    world.api.put(with_networks("a", FIRST, conditions=READY))
    world.api.put(with_networks("b", SECOND, conditions=READY))
    return world


async def test_each_network_gets_its_route_in_one_call_and_each_node_its_condition(world: RouteWorld) -> None:
    async with world.run_loop():
        assert world.routes == {FIRST: "a", SECOND: "b"}
        assert (len(world.times(LIST)), len(world.times(APPLY))) == (1, 1)
        assert world.condition("a") == ("False", "RouteCreated")
        types = [one["type"] for one in world.api.live("Node", "a")["status"]["conditions"]]
        assert sorted(types) == ["MemoryPressure", "NetworkUnavailable", "Ready"]


async def test_condition_is_not_written_to_a_node_created_again_meanwhile(world: RouteWorld) -> None:
    """What holds for its predecessor need not hold for it: the next pass says so."""
    conditions: list[tuple[str, str] | None] = []

    def create_again(call: ApiCall) -> None:
        if call.path.endswith("/nodes/a/status") and not conditions:
            conditions.append(None)
            world.api.delete("Node", "a")
            world.api.put(with_networks("a", FIRST, conditions=READY))

    world.api.before_write = create_again
    async with world.run_loop():
        assert (conditions, world.condition("a")) == ([None], None)
        await world.rest(120)
        assert world.condition("a") == ("False", "RouteCreated")


async def test_routes_of_its_predecessor_are_no_condition_of_a_node(world: RouteWorld) -> None:
    world.cloud.seconds[APPLY] = 8.0
    async with world.run_loop():
        await world.rest(4)
        world.api.delete("Node", "a")
        world.api.put(with_networks("a", FIRST, conditions=READY))
        await world.rest(5)
        assert (world.condition("a"), world.condition("b")) == (None, ("False", "RouteCreated"))


async def test_idle_cluster_costs_one_list_a_period_and_no_write(world: RouteWorld) -> None:
    async with world.run_loop():
        writes = len(world.api.calls)
        for beat in range(100):
            world.api.change("Node", "a", {"status": {"heartbeat": beat}})
            await world.rest(3)
        assert world.times(LIST) == [0, 60, 120, 180, 240, 300]
        assert (len(world.times(APPLY)), len(world.api.calls)) == (1, writes)


async def test_upstream_lists_every_ten_seconds_and_hears_of_no_change(world: RouteWorld) -> None:
    world.policy = replace(UPSTREAM_ROUTES, cluster_cidrs=CLUSTER)
    async with world.run_loop():
        await world.rest(5)
        world.api.put(with_networks("c", "10.120.2.0/24"))
        await world.rest(15)
        assert world.times(LIST) == [0, 10, 20]


async def test_changes_of_nodes_begin_a_pass_ten_seconds_after_the_last_at_the_earliest(world: RouteWorld) -> None:
    async with world.run_loop():
        await world.rest(3)
        world.api.put(with_networks("c", "10.120.2.0/24"))
        await world.rest(6)
        assert "10.120.2.0/24" not in world.routes
        await world.rest(2)
        assert world.routes["10.120.2.0/24"] == "c"
        await world.rest(20)
        world.api.delete("Node", "c")
        await world.rest(1)
        assert world.times(LIST) == [0, 10, 31]
        assert "10.120.2.0/24" not in world.routes


async def test_list_that_fails_changes_nothing(world: RouteWorld) -> None:
    world.cloud.routes = [route("gone", "10.120.9.0/24")]
    world.cloud.fail(LIST, ProviderError(ErrorCode.UNAVAILABLE, "down"), times=1)
    async with world.run_loop() as loop:
        assert (world.api.calls, world.times(APPLY)) == ([], [])
        assert "down" in loop.problem
        await world.rest(60)
        assert world.routes == {FIRST: "a", SECOND: "b"}
        assert loop.problem == ""


async def test_passes_and_results_are_counted(world: RouteWorld) -> None:
    world.cloud.routes = [route("gone", "10.120.9.0/24")]
    world.cloud.fail(APPLY, ProviderError(ErrorCode.UNAVAILABLE, "quota"), times=1)
    async with world.run_loop():
        await world.rest(150)
    shown = world.metrics.exposition().decode().splitlines()
    counted = [line for line in shown if line.startswith(("cloud_routes_total", "route_controller_route_sync_total"))]
    assert sorted(counted) == [
        'cloud_routes_total{action="create",result="failed"} 2',
        'cloud_routes_total{action="create",result="ok"} 2',
        'cloud_routes_total{action="delete",result="failed"} 1',
        'cloud_routes_total{action="delete",result="ok"} 1',
        "route_controller_route_sync_total 3",
    ]


async def test_creation_that_fails_is_an_event_and_a_condition_and_heals(world: RouteWorld) -> None:
    world.cloud.fail(APPLY, ProviderError(ErrorCode.UNAVAILABLE, "quota"), times=1)
    async with world.run_loop():
        assert [(reason, name) for name, reason, _ in world.events] == [
            *(("FailedToCreateRoute", "a"), ("FailedToCreateRoute", "b"))
        ]
        assert world.condition("a") == ("True", "NoRouteCreated")
        await world.rest(60)
        assert world.condition("a") == ("False", "RouteCreated")
        assert len(world.events) == 2


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ProviderError(ErrorCode.PENDING, "soon", 7), 7),
        (ProviderError(ErrorCode.THROTTLED, "429", 90), 90),
        (ProviderError(ErrorCode.UNAVAILABLE, "down"), 60),
    ],
)
async def test_pause_that_is_asked_for_is_kept(world: RouteWorld, error: ProviderError, seconds: int) -> None:
    world.cloud.fail(LIST, error, times=1)
    async with world.run_loop():
        await world.rest(seconds + 1)
        assert world.times(LIST) == [0, seconds]


async def test_refused_credentials_are_an_event_about_the_first_node(world: RouteWorld) -> None:
    expired = ProviderError(ErrorCode.UNAUTHENTICATED, "the token has expired")
    world.cloud.fail(LIST, expired)
    world.api.put(with_networks("0"))
    async with world.run_loop():
        ((name, reason, text),) = world.events
        assert (reason, name) == ("FailedToCreateRoute", "a")
        assert text.endswith("the cloud does not list them: Unauthenticated: the token has expired")


async def test_upstream_records_no_event_of_refused_credentials(world: RouteWorld) -> None:
    world.policy = replace(UPSTREAM_ROUTES, cluster_cidrs=CLUSTER)
    world.cloud.fail(LIST, ProviderError(ErrorCode.UNAUTHENTICATED, "the token has expired"))
    async with world.run_loop():
        assert world.events == []


class Picky(FakeCloud):
    """Refuses the first of all routes."""

    async def apply_routes(self, create: Any, delete: Any) -> RouteResults:
        await super().apply_routes(create[1:], delete)
        invalid = ProviderError(ErrorCode.INVALID, "no such gateway")
        return RouteResults((invalid, *(None for _ in create[1:])), tuple(None for _ in delete))


async def test_invalid_route_is_one_event_and_no_attempt_before_it_changes(world: RouteWorld) -> None:
    world.cloud = Picky()
    async with world.run_loop():
        assert world.routes == {SECOND: "b"}
        await world.rest(300)
        assert len(world.times(APPLY)) == 1
        assert [reason for _, reason, _ in world.events] == ["FailedToCreateRoute"]
        assert (world.condition("a"), world.condition("b")) == (("True", "NoRouteCreated"), ("False", "RouteCreated"))


async def test_deletion_that_fails_is_tried_again_in_the_next_pass(world: RouteWorld) -> None:
    world.cloud.routes = [route("a", FIRST), route("b", SECOND), route("gone", "10.120.9.0/24")]
    world.cloud.fail(APPLY, ProviderError(ErrorCode.UNAVAILABLE, "down"), times=1)
    async with world.run_loop():
        assert (len(world.routes), world.events) == (3, [])
        assert world.condition("a") == ("False", "RouteCreated")
        await world.rest(60)
        assert world.routes == {FIRST: "a", SECOND: "b"}


async def test_duplicate_network_is_one_warning_on_both_and_no_flapping(world: RouteWorld) -> None:
    world.api.put(with_networks("c", FIRST, created="2026-11-22T05:00:00Z"))
    async with world.run_loop():
        await world.rest(300)
        warned = {name: text for name, reason, text in world.events if reason == "DuplicatePodCIDR"}
        assert (len(world.events), sorted(warned)) == (2, ["a", "c"])
        assert "the route leads to a" in warned["a"]
        assert world.routes[FIRST] == "a"
        assert (world.condition("a"), world.condition("c")) == (("False", "RouteCreated"), ("True", "NoRouteCreated"))


async def test_condition_of_a_network_plugin_is_kept_where_that_is_on(world: RouteWorld) -> None:
    world.policy = replace(world.policy, keeps_foreign_condition=True)
    calico = {"type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp"}
    world.api.put(with_networks("a", FIRST, conditions=[calico]))
    async with world.run_loop():
        assert (world.condition("a"), world.condition("b")) == (("False", "CalicoIsUp"), ("False", "RouteCreated"))


async def test_node_that_cannot_be_written_holds_up_no_other(world: RouteWorld) -> None:
    text = 'nodes "a" is forbidden: User "me" cannot patch resource "nodes/status" in API group ""'
    world.api.refuse("PATCH", "nodes/a/status", Denied(403, "Forbidden", text, raw=text))
    async with world.run_loop() as loop:
        assert (world.condition("a"), world.condition("b")) == (None, ("False", "RouteCreated"))
        assert "resources: [nodes/status], verbs: [patch]" in loop.problem
        await world.rest(60)
        assert (world.condition("a"), loop.problem) == (("False", "RouteCreated"), "")


async def test_nothing_is_done_while_the_watch_of_nodes_is_lost(world: RouteWorld) -> None:
    async with world.run_loop():
        world.api.cluster.tell(WatchLost("cut", brief=True))
        await world.rest(300)
        assert world.times(LIST) == [0]
        world.api.cluster.tell(WatchRestored())
        await world.rest(1)
        assert len(world.times(LIST)) == 2


async def test_stop_ends_the_wait_for_the_first_list(world: RouteWorld) -> None:
    loop, _ = world.build()
    running = asyncio.create_task(loop.run())
    await world.rest(4)
    loop.stop()
    await running
    assert world.cloud.calls == []


async def test_provider_without_routes_is_not_asked(world: RouteWorld) -> None:
    world.cloud.capabilities = EVERYTHING.without(Interface.ROUTES)
    async with world.run_loop():
        await world.rest(300)
        assert world.cloud.calls == []


async def test_addresses_that_change_make_the_route_anew_where_the_cloud_needs_that(world: RouteWorld) -> None:
    world.cloud.capabilities = replace(EVERYTHING, route_node_addresses=True)
    async with world.run_loop():
        await world.rest(20)
        world.api.change("Node", "a", {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.9.9"}]}})
        await world.rest(1)
        (renewed,) = [one for one in world.cloud.routes if one.target_node == "a"]
        assert renewed.target_node_addresses[0].address == "10.0.9.9"
        assert world.cloud.asked(APPLY)[-1] == (FIRST, FIRST)


async def test_stop_finishes_the_pass(world: RouteWorld) -> None:
    world.cloud.seconds[APPLY] = 10
    async with world.run_loop() as loop:
        loop.stop()
        await world.rest(100)
        assert world.condition("a") == ("False", "RouteCreated")
        assert world.times(LIST) == [0]
