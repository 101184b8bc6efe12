"""The nodes that a load balancer sends traffic to, and which changes of Nodes it must hear of.

    backends = sets.select(informer)        # `identity` to remember, and to compare with what was remembered
    if any(changes_backends(change.before, change.after, policy) for change in batch): ...

Whether a Node is ready does not count: the load balancer's health checks know that better and sooner
(https://kubernetes.io/docs/reference/labels-annotations-taints/#node-kubernetes-io-exclude-from-external-load-balancers
and https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/3458-remove-transient-node-predicates-from-service-controller).
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from hookrunner.cloud.nodes.cloud_node import CloudNode

AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"

_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})
"""What Go reads as a false: https://pkg.go.dev/strconv#ParseBool"""

BackendSet: TypeAlias = frozenset[tuple[str, str]]
"""Name and providerID of each node: what a load balancer got last."""


def select_backends(nodes: Iterable[CloudNode]) -> tuple[CloudNode, ...]:
    """The nodes of all load balancers, by name."""
    return tuple(sorted(filter(_is_backend, nodes), key=lambda node: node.name))


def identify_backends(nodes: Iterable[CloudNode]) -> BackendSet:
    """What two sets of nodes are compared by."""
    return frozenset((node.name, node.provider_id) for node in nodes)


class Backends(NamedTuple):
    """The Nodes that load balancers get now, and what they are compared by."""

    nodes: tuple[CloudNode, ...]
    identity: BackendSet


class BackendSets:
    """Makes equal sets one object: with 5,000 Nodes and 500 load balancers, a set for each would be 400 MB."""

    def __init__(self) -> None:
        self._last: BackendSet = frozenset()

    def select(self, nodes: Iterable[CloudNode]) -> Backends:
        """Those that are backends of all Nodes; their `identity` is the same object as the last one, if it is equal."""
        backends = select_backends(nodes)
        identity = identify_backends(backends)
        if identity != self._last:
            self._last = identity
        return Backends(backends, self._last)


def changes_backends(before: CloudNode | None, after: CloudNode | None, with_autoscaler: bool) -> bool:
    """Must load balancers be compared with the nodes after this change? `with_autoscaler`: also if the cluster
    autoscaler is about to take the Node away, so that its connections are drained in time."""
    if before is None or after is None or before.uid != after.uid:
        return True
    if before.provider_id != after.provider_id or _is_excluded(before) != _is_excluded(after):
        return True
    return with_autoscaler and before.has_taint(AUTOSCALER_TAINT) != after.has_taint(AUTOSCALER_TAINT)


def _is_backend(node: CloudNode) -> bool:
    return not (node.is_deleting or _is_excluded(node) or node.has_taint(AUTOSCALER_TAINT))


def _is_excluded(node: CloudNode) -> bool:
    """Has it the label, with any value that is not a false?"""
    return node.labels.get(EXCLUDED, "false") not in _FALSE
