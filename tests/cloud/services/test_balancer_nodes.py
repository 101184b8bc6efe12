"""Load balancers and the Nodes behind them: which changes reach them, and how, in virtual time. Level: FakeApi."""

from typing import Any

import pytest

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.services.backends import AUTOSCALER_TAINT, EXCLUDED
from tests.cloud.node_samples import node
from tests.cloud.services.balancer_world import ENSURE, GET, UPDATE, BalancerWorld
from tests.cloud.services.service_samples import service

pytestmark = pytest.mark.looptime

DOWN = ProviderError(ErrorCode.UNAVAILABLE, "down")
CREATED = ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]


async def test_no_nodes_is_a_warning_and_a_call(world: BalancerWorld) -> None:
    for name in ("a", "b"):
        world.api.delete("Node", name)
    world.api.put(service())
    async with world.run_loop():
        assert world.asked(ENSURE) == 1
        assert world.reasons() == ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"]


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.api.put(node("c")),
        lambda world: world.api.delete("Node", "b"),
        lambda world: world.api.change("Node", "b", {"metadata": {"labels": {EXCLUDED: ""}}}),
        lambda world: world.api.change("Node", "b", {"spec": {"providerID": "sim://b"}}),
        lambda world: world.api.change("Node", "b", {"spec": {"taints": [{"key": AUTOSCALER_TAINT, "effect": "x"}]}}),
    ],
)
async def test_changed_nodes_reach_every_load_balancer_by_an_update(world: BalancerWorld, change: Any) -> None:
    world.api.put(service("one"))
    world.api.put(service("two"))
    async with world.run_loop():
        change(world)
        await world.rest(1)
        assert (world.asked(ENSURE), world.asked(UPDATE)) == (2, 2)
        assert world.reasons("one") == [*CREATED, "UpdatedLoadBalancer"]


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"spec": {"taints": [{"key": "other", "effect": "NoSchedule"}]}},
        {"metadata": {"labels": {"other": "label"}}},
        {"metadata": {"labels": {EXCLUDED: "false"}}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}},
        {"spec": {"unschedulable": True}},
    ],
)
async def test_other_changes_of_nodes_cost_no_call(world: BalancerWorld, change: Any) -> None:
    world.api.put(service())
    async with world.run_loop():
        world.api.change("Node", "b", change)
        await world.rest(100)
        assert len(world.cloud.calls) == 1


async def test_upstream_hears_of_the_autoscalers_taint_only_with_the_next_change(upstream: BalancerWorld) -> None:
    upstream.api.put(service())
    async with upstream.run_loop():
        upstream.api.change("Node", "b", {"spec": {"taints": [{"key": AUTOSCALER_TAINT, "effect": "NoSchedule"}]}})
        await upstream.rest(100)
        assert upstream.asked(UPDATE) == 0
        upstream.api.put(node("c"))
        await upstream.rest()
        assert upstream.backends() == ("a", "c")


async def test_last_node_that_goes_is_a_warning(world: BalancerWorld) -> None:
    world.api.put(service())
    async with world.run_loop():
        for name in ("a", "b"):
            world.api.delete("Node", name)
        await world.rest()
        assert world.backends() == ()
        assert world.reasons() == [*CREATED, "UnAvailableLoadBalancer"]


async def test_update_that_fails_is_followed_by_an_ensure(world: BalancerWorld) -> None:
    world.api.put(service())
    world.cloud.fail(UPDATE, DOWN, times=1)
    async with world.run_loop():
        world.api.put(node("c"))
        await world.rest()
        assert [call.verb for call in world.cloud.calls] == [ENSURE, UPDATE, ENSURE]
        assert world.backends() == ("a", "b", "c")
        assert world.reasons() == [*CREATED, "UpdateLoadBalancerFailed", *CREATED]


async def test_upstream_says_nothing_of_an_update_that_fails_if_the_load_balancer_is_gone(
    upstream: BalancerWorld,
) -> None:
    upstream.api.put(service())
    upstream.cloud.fail(UPDATE, DOWN)
    async with upstream.run_loop():
        upstream.cloud.load_balancers.clear()
        upstream.api.put(node("c"))
        await upstream.rest(500)
        assert [call.verb for call in upstream.cloud.calls] == [ENSURE, UPDATE, GET]
        assert not any("Failed" in reason for reason in upstream.reasons())


@pytest.mark.parametrize("slow", [ENSURE, UPDATE])
async def test_node_that_comes_during_a_slow_call_is_not_lost(world: BalancerWorld, slow: AnyVerb) -> None:
    world.cloud.seconds[slow] = 10
    world.api.put(service())
    async with world.run_loop():
        await world.rest(5 if slow is ENSURE else 20)
        world.api.put(node("c"))
        await world.rest(3)
        world.api.put(node("d"))
        await world.rest(50)
        assert world.backends() == ("a", "b", "c", "d")


async def test_node_that_comes_and_goes_around_a_slow_update_is_taken_out_again(world: BalancerWorld) -> None:
    """When it goes, the Nodes are those that the load balancer had before the update: only a look after it shows that
    it has one too many."""
    world.cloud.seconds[UPDATE] = 10
    world.api.put(service())
    async with world.run_loop():
        world.api.put(node("c"))
        await world.rest(5)
        world.api.delete("Node", "c")
        await world.rest(50)
        assert world.backends() == ("a", "b")
        assert world.asked(UPDATE) == 2


async def test_change_of_nodes_is_measured_until_every_load_balancer_has_them(world: BalancerWorld) -> None:
    world.api.put(service("one"))
    world.api.put(service("two"))
    async with world.run_loop():
        world.api.put(node("c"))
        await world.rest()
        world.delete("one")
        await world.rest()
    text = world.metrics.exposition()
    assert b"nodesync_latency_seconds_count 1" in text
    assert b"loadbalancer_sync_total 2" in text
    assert b'cloud_service_syncs_total{result="ok"} 5' in text
