"""What is done about one Service: pure decisions on the object, what was last done about it, and the nodes.

    if needs_sync(before, after, policy): queue.add(key)          # a change that the watch has shown
    decision = decide_service(service, record, backends, policy)     # when the key has its turn

A Service is ours if it has no `loadBalancerClass`, or the one that is ours. Ours get a finalizer before their load
balancer, so that none is forgotten. A class of others is left alone, even with that finalizer: all managers share it.
The rules are those of upstream's service controller where `ServicePolicy` does not say otherwise
(https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer).
"""

from enum import Enum, auto

from hookrunner.cloud.services.backends import BackendSet
from hookrunner.cloud.services.cloud_service import CloudService, compared_fields
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServicePolicy:
    """How load balancers are kept. `resync_period`: seconds after which each is ensured again, 0 for never.

    `as_upstream`: as Kubernetes' own manager, which does not spare finalizers of other classes, asks `lb-get` before a
    deletion and after an update that failed, tries again after `Invalid`, and does not update load balancers when the
    cluster autoscaler is about to take a Node away.
    """

    concurrent_syncs: int = 4
    load_balancer_class: str = ""
    unclassed: bool = True
    resync_period: float = 0.0
    as_upstream: bool = False


@dataclass(frozen=True, slots=True)
class BalancerRecord:
    """What was done about a Service in this process. `service`: as it was when its load balancer was last asked for,
    None if it never was. `is_settled`: that has succeeded, and its status was written. `backends`: the nodes that the
    provider got last. `refused`: what the provider has called invalid. `is_elsewhere`: another controller does it.
    `problem` is why the last attempt failed, and `again` when the next one is made, in epoch seconds."""

    service: CloudService | None = None
    is_settled: bool = False
    backends: BackendSet = frozenset()
    refused: JSON = None
    is_elsewhere: bool = False
    problem: str = ""
    again: float = 0.0


class ServiceAction(Enum):
    """What is done next."""

    NOTHING = auto()
    ENSURE = auto()
    """Create the load balancer or bring it to the wanted state, and write its addresses."""
    UPDATE = auto()
    """Change its nodes alone."""
    CLEAN_UP = auto()
    """Delete it, then let the Service go."""
    DELETE_OLD = auto()
    """Delete that of a Service that is gone, or has another one under its name. Then decide again."""


@dataclass(frozen=True, slots=True)
class ServiceDecision:
    """What is done, about which Service."""

    action: ServiceAction
    service: CloudService | None = None


def is_ours(service: CloudService, policy: ServicePolicy) -> bool:
    """Is its class, now or when it last had one, ours? One of another type whose class was never seen may be."""
    if service.balancer_class is None:
        return True
    if not service.balancer_class:
        return policy.unclassed
    return service.balancer_class == policy.load_balancer_class


def wants_balancer(service: CloudService, policy: ServicePolicy) -> bool:
    """Is it ours, and should it have a load balancer?"""
    return service.is_load_balancer and is_ours(service, policy)


def needs_cleanup(service: CloudService, policy: ServicePolicy) -> bool:
    """Does it wait for its load balancer to be deleted?"""
    is_over = service.is_deleting or not service.is_load_balancer
    return service.has_finalizer and is_over and (is_ours(service, policy) or policy.as_upstream)


def needs_update(before: CloudService, after: CloudService, policy: ServicePolicy) -> bool:
    """Does its load balancer have to be ensured, or deleted, after this change?"""
    wanted = wants_balancer(before, policy), wants_balancer(after, policy)
    return any(wanted) and (not all(wanted) or compared_fields(before) != compared_fields(after))


def needs_sync(before: CloudService | None, after: CloudService | None, policy: ServicePolicy) -> bool:
    """Is there anything to decide after this change? One that is gone may have left a load balancer behind, if its
    finalizer was taken away by hand."""
    if after is None:
        return before is not None
    if before is None:
        return wants_balancer(after, policy) or needs_cleanup(after, policy)
    return needs_update(before, after, policy) or needs_cleanup(after, policy)


def decide_service(
    service: CloudService | None, record: BalancerRecord, backends: BackendSet, policy: ServicePolicy
) -> ServiceDecision:
    """What is done about the Service of one name. `service` is None if it does not exist, `backends` are those of
    all load balancers."""
    old = record.service
    if old and (service is None or service.uid != old.uid):
        return ServiceDecision(ServiceAction.DELETE_OLD, old)
    if service is None or (record.refused is not None and record.refused == identify_attempt(service)):
        return ServiceDecision(ServiceAction.NOTHING, service)
    if needs_cleanup(service, policy):
        return ServiceDecision(ServiceAction.CLEAN_UP, service)
    if not wants_balancer(service, policy):
        return _decide_unwanted(service, old, policy)
    if service.is_deleting:
        return ServiceDecision(ServiceAction.DELETE_OLD if old else ServiceAction.NOTHING, old)
    return ServiceDecision(_decide_wanted(service, record, backends, policy), service)


def has_other_backends(record: BalancerRecord, backends: BackendSet) -> bool:
    """Does a load balancer that is as it should be have other nodes than these? The next attempt at any other takes the
    nodes of its time. Equal sets are compared element by element, one with itself too, and most records have the very
    same set."""
    return record.is_settled and record.backends is not backends and record.backends != backends


def name_state(service: CloudService | None, record: BalancerRecord, policy: ServicePolicy) -> str:
    """How far it is, for a person: synced, pending, failed, invalid, elsewhere or deleting; empty for a Service that
    needs nothing."""
    wanted = service is not None and wants_balancer(service, policy)
    if not wanted and record.service is None and not (service and needs_cleanup(service, policy)):
        return ""
    if record.refused is not None:
        return "invalid"
    if record.problem:
        return "failed"
    if service is None or not wanted or service.is_deleting:
        return "deleting"
    if record.is_elsewhere:
        return "elsewhere"
    return "synced" if record.is_settled else "pending"


def identify_attempt(service: CloudService) -> JSON:
    """What an answer of the provider is about: another attempt can only end otherwise if this changes."""
    return compared_fields(service), service.type, service.is_deleting


def _decide_unwanted(service: CloudService, old: CloudService | None, policy: ServicePolicy) -> ServiceDecision:
    """It lost its load balancer between two looks, and perhaps another manager has it now, with its finalizer."""
    if old is None:
        return ServiceDecision(ServiceAction.NOTHING, service)
    is_free = is_ours(service, policy) or policy.as_upstream
    if is_free:
        return ServiceDecision(ServiceAction.CLEAN_UP, service)
    return ServiceDecision(ServiceAction.DELETE_OLD, old)


def _decide_wanted(
    service: CloudService, record: BalancerRecord, backends: BackendSet, policy: ServicePolicy
) -> ServiceAction:
    """Only the nodes, if nothing else has changed since the load balancer was ensured. If nothing has changed at all,
    it is time to ensure it again."""
    has_changed = record.service is None or needs_update(record.service, service, policy)
    return ServiceAction.UPDATE if has_other_backends(record, backends) and not has_changed else ServiceAction.ENSURE
