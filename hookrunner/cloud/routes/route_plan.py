"""Which routes the cloud should have: one to each Pod network, through the Node that has it.

    plan = plan_routes(RouteView(nodes, routes), policy)
    routed = find_routed(plan, failed)                 # networks that have their route afterwards
    decide_routed(node, plan, routed)                  # True, False, None: leave its condition alone

The rules are those of upstream's route controller where `RoutePolicy` does not say otherwise: a route is deleted if its
destination belongs to the cluster and no Node has that network, or it leads nowhere. Functions of values.
Source: https://kubernetes.io/docs/concepts/architecture/cloud-controller/#route-controller
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from hookrunner.cloud.answers import CloudRoute
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.routes.pod_networks import ClusterNetworks, Network, normalize_cidr
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """How routes are kept. `period`: seconds between two passes; `shortest_gap`: seconds after the beginning of a pass
    in which no change of Nodes begins another. `keeps_foreign_condition`: leave a `NetworkUnavailable` alone that
    another controller has set to False.

    Changes of Nodes begin a pass; nothing is deleted while no Node has a Pod network; of two Nodes with the same
    network the older keeps the route; after `Invalid` a route is not tried again until it changes; that the cloud
    refuses the credentials for the list of routes is an Event. `as_upstream`: none of this, as in Kubernetes' own
    manager.
    """

    cluster_cidrs: tuple[Network, ...] = ()
    period: float = 60.0
    shortest_gap: float = 10.0
    keeps_foreign_condition: bool = False
    as_upstream: bool = False


PodNetwork: TypeAlias = tuple[str, str]
"""The name of a Node, and one of its networks."""


@dataclass(frozen=True, slots=True)
class DuplicateNetwork:
    """A Node whose network another Node has, too. `keeper` is the Node that keeps the route."""

    node: str
    uid: str
    cidr: str
    others: tuple[str, ...]
    keeper: str


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """What to do. `kept`: the networks whose routes are as they should be; `owners`: Nodes to which a route leads,
    whatever its destination; `refused`: routes that the provider has called invalid, and that are not tried again."""

    create: tuple[CloudRoute, ...]
    delete: tuple[CloudRoute, ...]
    kept: frozenset[PodNetwork]
    owners: frozenset[str]
    refused: frozenset[CloudRoute]
    duplicates: tuple[DuplicateNetwork, ...]


@dataclass(frozen=True, slots=True)
class RouteView:
    """What is compared: the Nodes, and the routes of the cloud. `with_addresses`: routes lead to addresses of a Node,
    and are made anew when these change. `refused`: what the provider has called invalid."""

    nodes: Sequence[CloudNode]
    routes: Sequence[CloudRoute]
    with_addresses: bool = False
    refused: frozenset[CloudRoute] = frozenset()


@dataclass(slots=True)
class _Draft:
    """The wanted routes by Node and network, and what becomes of the routes that exist."""

    wanted: Mapping[PodNetwork, CloudRoute]
    kept: set[PodNetwork] = field(default_factory=set)
    delete: list[CloudRoute] = field(default_factory=list)


def plan_routes(view: RouteView, policy: RoutePolicy) -> RoutePlan:
    """What is created and deleted, so that each network has its route."""
    networks, duplicates = ClusterNetworks(policy.cluster_cidrs), tuple(_find_duplicates(view.nodes))
    losers = {(one.node, one.cidr) for one in duplicates if not policy.as_upstream and one.keeper != one.node}
    draft = _Draft({key: route for key, route in _wanted_routes(view.nodes) if key not in losers})
    for route in view.routes:
        _judge(route, draft, networks, view.with_addresses)
    if not policy.as_upstream and not any(node.pod_cidrs for node in view.nodes):
        draft.delete.clear()
    missing = [route for key, route in draft.wanted.items() if key not in draft.kept]
    return RoutePlan(
        create=tuple(route for route in missing if route not in view.refused),
        delete=tuple(draft.delete),
        kept=frozenset(draft.kept),
        owners=frozenset(route.target_node for route in view.routes),
        refused=view.refused.intersection(missing),
        duplicates=() if policy.as_upstream else duplicates,
    )


def find_routed(plan: RoutePlan, failed: Iterable[CloudRoute]) -> frozenset[PodNetwork]:
    """The networks that have their routes after all but the `failed` ones were created."""
    created = set(map(identify_network, plan.create)) - set(map(identify_network, failed))
    return plan.kept | created


def decide_routed(node: CloudNode, plan: RoutePlan, routed: frozenset[PodNetwork]) -> bool | None:
    """Have all networks of the Node their routes? None for a Node without networks, unless a route leads to it."""
    if not node.pod_cidrs:
        return False if node.name in plan.owners else None
    return all((node.name, normalize_cidr(cidr)) in routed for cidr in node.pod_cidrs)


def changes_routes(before: CloudNode | None, after: CloudNode | None, with_addresses: bool) -> bool:
    """Must routes be compared with the Nodes after this change?"""
    if before is None or after is None or before.uid != after.uid or before.pod_cidrs != after.pod_cidrs:
        return True
    return with_addresses and before.addresses != after.addresses


def identify_network(route: CloudRoute) -> PodNetwork:
    """The Node and the network that a route is for."""
    return route.target_node, normalize_cidr(route.destination_cidr)


def _judge(route: CloudRoute, draft: _Draft, networks: ClusterNetworks, with_addresses: bool) -> None:
    """Keep a route, delete it, or leave it alone because it is not the cluster's."""
    key, is_ours = identify_network(route), networks.cover(route.destination_cidr)
    wanted = draft.wanted.get(key)
    is_current = not with_addresses or set(route.target_node_addresses) == set(
        wanted.target_node_addresses if wanted else ()
    )
    if wanted and not route.blackhole and (is_current or not is_ours):
        draft.kept.add(key)
    elif is_ours:
        draft.delete.append(route)


def _wanted_routes(nodes: Iterable[CloudNode]) -> Iterator[tuple[PodNetwork, CloudRoute]]:
    for node in nodes:
        for cidr in node.pod_cidrs:
            route = CloudRoute(node.name, cidr, target_node_addresses=node.addresses, name_hint=node.uid)
            yield identify_network(route), route


def _find_duplicates(nodes: Iterable[CloudNode]) -> Iterator[DuplicateNetwork]:
    """Each Node of each network that several have, the oldest of them first."""
    sharers = defaultdict[str, dict[str, CloudNode]](dict)
    for node in sorted(nodes, key=lambda node: (node.created_at, node.name)):
        for cidr in node.pod_cidrs:
            sharers[normalize_cidr(cidr)][node.name] = node
    for cidr, by_name in sharers.items():
        for node in by_name.values() if len(by_name) > 1 else ():
            others = tuple(name for name in by_name if name != node.name)
            yield DuplicateNetwork(node.name, node.uid, cidr, others, keeper=next(iter(by_name)))
