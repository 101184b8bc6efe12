"""Which routes are made and deleted, row by row as upstream's tables of CIDRs, of a pass and of Node updates.

Level: pure."""

from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cloud.answers import CloudRoute
from hookrunner.cloud.routes.pod_networks import ClusterNetworks, normalize_cidr
from hookrunner.cloud.routes.route_plan import (
    RoutePlan,
    RoutePolicy,
    RouteView,
    changes_routes,
    decide_routed,
    find_routed,
    plan_routes,
)
from tests.cloud.node_samples import projected
from tests.cloud.routes.route_samples import CLUSTER, nodes_of, route, with_networks
from tests.cloud.upstream_policies import UPSTREAM_ROUTES
from tests.tables import each

OURS = RoutePolicy(CLUSTER)
UPSTREAM = replace(UPSTREAM_ROUTES, cluster_cidrs=CLUSTER)
V4_1, V4_2, V4_3, V4_4 = (f"10.120.{number}.0/24" for number in range(4))
V6_1, V6_2, V6_3 = "a00:100::/24", "a00:200::/24", "a00:300::/24"


@each(
    "cluster, destination, expected",
    [
        ("10.244.0.0/16", "10.244.0.0/24", True),
        ("10.244.0.0/16", "10.244.10.0/24", True),
        ("10.244.0.0/16", "10.244.255.0/24", True),
        ("10.244.0.0/14", "10.244.0.0/24", True),
        ("10.244.0.0/14", "10.247.255.0/24", True),
        ("a00:100::/10", "a00:100::/24", True),
        ("10.244.0.0/16", "10.224.0.0/24", False),
        ("10.244.0.0/16", "10.0.10.0/24", False),
        ("10.244.0.0/16", "10.255.255.0/24", False),
        ("10.244.0.0/14", "10.248.0.0/24", False),
        ("10.244.0.0/14", "10.243.255.0/24", False),
        ("a00:100::/10", "b00:100::/24", False),
        ("10.244.0.0/16", "10.0.0.0/8", False),
        ("10.244.0.0/16", "10.244.255.0/15", True),
        ("10.244.0.0/16", "a00:100::/24", False),
        ("10.244.0.0/16", "no network", False),
        ("10.244.0.0/16", "", False),
    ],
)
def test_routes_within_the_clusters_networks_are_ours(cluster: str, destination: str, expected: bool) -> None:
    assert ClusterNetworks((ip_network(cluster, strict=False),)).cover(destination) is expected


ONE = with_networks("node-1", V4_1, address="10.0.1.1")
TWO = with_networks("node-2", V4_2, address="10.0.2.1")
BARE = with_networks("node-2", address="10.0.5.1")
THREE = with_networks("node-3", V4_1, V6_1, address="10.0.3.1")
FOUR = with_networks("node-4", V4_2, V6_2, address="10.0.4.1")
TWICE = with_networks("node-4", V4_2, V4_2, address="10.0.4.1")

DUAL = (route("node-3", V4_1), route("node-4", V4_2), route("node-3", V6_1), route("node-4", V6_2))
CROSSED = (route("node-3", V4_2), route("node-4", V4_1), route("node-3", V6_2), route("node-4", V6_1))
SINGLE = (route("node-1", V4_1), route("node-2", V4_2))
STALE = (route("node-3", V4_1, "10.0.13.1"), route("node-4", V6_2, "10.0.14.1"))
HOLE, FAR_HOLE = route("", V4_3, blackhole=True), route("", "10.1.2.0/24", blackhole=True)


def pairs(routes: tuple[CloudRoute, ...]) -> set[tuple[str, str]]:
    return {(one.target_node, one.destination_cidr) for one in routes}


@each(
    "nodes, routes, with_addresses, created, deleted",
    [
        ([THREE, FOUR], DUAL, True, pairs(DUAL), pairs(DUAL)),
        ([THREE, FOUR], STALE, True, pairs(DUAL), pairs(STALE)),
        ([THREE, FOUR], (), False, pairs(DUAL), set()),
        ([THREE, FOUR], DUAL, False, set(), set()),
        ([THREE, FOUR], CROSSED, False, pairs(DUAL), pairs(CROSSED)),
        ([THREE, FOUR], (DUAL[0], DUAL[3]), False, pairs((DUAL[1], DUAL[2])), set()),
        ([THREE, FOUR], (*DUAL, route("x", V4_3), route("y", V6_3)), False, set(), {("x", V4_3), ("y", V6_3)}),
        ([ONE, TWO], SINGLE, False, set(), set()),
        ([ONE, TWO], (route("node-1", V4_1, "10.0.1.2"),), True, pairs(SINGLE), {("node-1", V4_1)}),
        ([ONE, TWO], SINGLE[:1], False, pairs(SINGLE[1:]), set()),
        ([ONE, TWO], (), False, pairs(SINGLE), set()),
        (
            [ONE, TWO],
            (*SINGLE, route("node-3", V4_3), route("node-4", V4_4)),
            False,
            set(),
            {("node-3", V4_3), ("node-4", V4_4)},
        ),
        ([ONE, TWO], (SINGLE[0], route("node-3", V4_3)), False, pairs(SINGLE[1:]), {("node-3", V4_3)}),
        ([ONE, BARE], (), False, pairs(SINGLE[:1]), set()),
        ([ONE, TWO], (*SINGLE, HOLE), False, set(), {("", V4_3)}),
        ([ONE, TWO], (*SINGLE, FAR_HOLE), False, set(), set()),
        ([TWICE], (), False, {("node-4", V4_2)}, set()),
    ],
)
def test_pass_that_upstream_lists(
    nodes: list[Any],
    routes: tuple[CloudRoute, ...],
    with_addresses: bool,
    created: set[tuple[str, str]],
    deleted: set[tuple[str, str]],
) -> None:
    for policy in (OURS, UPSTREAM):
        plan = plan_routes(RouteView(nodes_of(nodes), routes, with_addresses), policy)
        assert (pairs(plan.create), pairs(plan.delete)) == (created, deleted)
        assert len(plan.create) == len(created)


@each(
    "routes, created, deleted",
    [
        ((route("node-1", "10.120.0.7/24"),), set(), set()),
        ((route("node-1", V4_1, blackhole=True),), {("node-1", V4_1)}, {("node-1", V4_1)}),
        ((route("node-1", V4_1), route("node-1", "192.0.2.0/24")), set(), set()),
        ((route("node-1", V4_1), route("node-1", "junk")), set(), set()),
        ((route("node-1", V4_1, "10.9.9.9"),), set(), set()),
    ],
)
def test_routes_that_upstream_has_no_row_for(
    routes: tuple[CloudRoute, ...], created: set[tuple[str, str]], deleted: set[tuple[str, str]]
) -> None:
    plan = plan_routes(RouteView(nodes_of([ONE]), routes), OURS)
    assert (pairs(plan.create), pairs(plan.delete)) == (created, deleted)


def test_other_spelling_of_an_ipv6_network_is_the_same_route() -> None:
    spelled = route("node-3", "0a00:0100:0000::/24")
    assert plan_routes(RouteView(nodes_of([THREE]), (DUAL[0], spelled)), OURS).create == ()
    assert normalize_cidr("junk") == "junk"


def test_network_outside_of_the_clusters_is_routed_and_never_deleted() -> None:
    far = with_networks("far", "192.168.7.0/24", address="10.0.7.1")
    (created,) = plan_routes(RouteView(nodes_of([far]), ()), OURS).create
    assert (created.name_hint, created.target_node_addresses[0].address) == ("uid-far", "10.0.7.1")
    moved = replace(created, target_node_addresses=())
    plan = plan_routes(RouteView(nodes_of([far]), (moved,), with_addresses=True), OURS)
    assert (plan.create, plan.delete) == ((), ())


def test_nothing_is_deleted_while_no_node_has_a_network() -> None:
    for nodes in ([], [BARE]):
        assert plan_routes(RouteView(nodes_of(nodes), SINGLE), OURS).delete == ()
        assert plan_routes(RouteView(nodes_of(nodes), SINGLE), UPSTREAM).delete == SINGLE


def test_older_node_keeps_a_network_that_two_have() -> None:
    young = with_networks("a", V4_1, created="2026-11-22T02:00:00Z")
    old = with_networks("b", V4_1, created="2026-11-22T01:00:00Z")
    for routes in ((), (route("a", V4_1),), (route("a", V4_1), route("b", V4_1))):
        plan = plan_routes(RouteView(nodes_of([young, old]), routes), OURS)
        after = [one for one in routes if one not in plan.delete] + [*plan.create]
        assert [one.target_node for one in after] == ["b"]
        assert [(one.node, one.others, one.keeper) for one in plan.duplicates] == [
            ("b", ("a",), "b"),
            ("a", ("b",), "b"),
        ]
    assert len(plan_routes(RouteView(nodes_of([young, old]), ()), UPSTREAM).create) == 2


def test_invalid_route_is_not_tried_again_until_it_changes() -> None:
    first = plan_routes(RouteView(nodes_of([ONE, TWO]), ()), OURS)
    refused = frozenset(first.create[:1])
    second = plan_routes(RouteView(nodes_of([ONE, TWO]), (), refused=refused), OURS)
    assert (pairs(second.create), second.refused) == ({("node-2", V4_2)}, refused)
    moved = with_networks("node-1", V4_1, address="10.0.1.9")
    third = plan_routes(RouteView(nodes_of([moved, TWO]), (), refused=refused), OURS)
    assert (len(third.create), third.refused) == (2, frozenset())


def routed(plan: RoutePlan, document: Any, *failed: CloudRoute) -> bool | None:
    return decide_routed(projected(document), plan, find_routed(plan, failed))


def test_node_is_routed_when_all_its_networks_are() -> None:
    plan = plan_routes(RouteView(nodes_of([THREE, FOUR, BARE]), (DUAL[0], DUAL[2])), OURS)
    failing = next(one for one in plan.create if one.destination_cidr == V6_2)
    assert routed(plan, THREE) is True
    assert routed(plan, FOUR) is True
    assert routed(plan, FOUR, failing) is False
    assert routed(plan, BARE) is None


def test_node_without_networks_is_unrouted_only_if_a_route_leads_to_it() -> None:
    plan = plan_routes(RouteView(nodes_of([ONE, BARE]), (*SINGLE,)), OURS)
    assert pairs(plan.delete) == {("node-2", V4_2)}
    assert routed(plan, BARE) is False


@each(
    "after, with_addresses, expected",
    [
        (with_networks("node-1", V4_1, address="10.0.1.2"), True, True),
        (with_networks("node-1", V4_1, address="10.0.1.2"), False, False),
        (with_networks("node-1", V4_2, address="10.0.1.1"), False, True),
        (ONE, True, False),
        (with_networks("node-1", V4_1, address="10.0.1.1", ready=False), True, False),
        (with_networks("node-1", V4_1, address="10.0.1.1", labels={"a": "b"}), True, False),
        (with_networks("node-1", V4_1, address="10.0.1.1", uid="another"), False, True),
    ],
)
def test_changes_of_nodes_that_begin_a_pass(after: Any, with_addresses: bool, expected: bool) -> None:
    assert changes_routes(projected(ONE), projected(after), with_addresses) is expected
    assert changes_routes(None, projected(after), with_addresses)
    assert changes_routes(projected(ONE), None, with_addresses)


NETWORKS = st.sampled_from((V4_1, V4_2, V6_1, "0a00:0100::/24", "192.168.7.0/24", "junk"))
NAMED = st.sampled_from(("a", "b", "c"))
SOME_NODES = st.dictionaries(NAMED, st.lists(NETWORKS, max_size=2), max_size=3)
SOME_ROUTES = st.lists(st.builds(route, NAMED | st.just(""), NETWORKS, st.just("10.0.9.9"), st.booleans()), max_size=6)


@given(SOME_NODES, SOME_ROUTES, st.booleans(), st.sampled_from((OURS, UPSTREAM)))
def test_second_pass_finds_nothing_to_do(
    nodes: dict[str, list[str]], routes: list[CloudRoute], with_addresses: bool, policy: RoutePolicy
) -> None:
    known = nodes_of(with_networks(name, *cidrs, address="10.0.1.1") for name, cidrs in nodes.items())
    first = plan_routes(RouteView(known, routes, with_addresses), policy)
    after = [one for one in routes if one not in first.delete] + [*first.create]
    second = plan_routes(RouteView(known, after, with_addresses), policy)
    assert (second.create, second.delete) == ((), ())
    assert all(ClusterNetworks(CLUSTER).cover(one.destination_cidr) for one in first.delete)
    if any(nodes.values()) and policy is OURS:
        wanted = {normalize_cidr(cidr) for cidrs in nodes.values() for cidr in cidrs}
        assert {cidr for _, cidr in find_routed(first, ())} == wanted
