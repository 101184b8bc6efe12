"""What the loop of load balancers says about its work: Events, in upstream's words, and what is counted.

The loop knows `ServiceReports` alone; the assembly fills it with the recorder of Events and the metrics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hookrunner.cloud.cloud_node import CloudNode
from hookrunner.cloud.services.cloud_service import CloudService
from hookrunner.cloud.services.service_informer import SERVICES
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.model.resources import ObjectReference

SERVICE_SOURCE = "service-controller"
"""The component that Events of Services name, as those of Kubernetes' own manager."""

_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An Event of a Service: one word in CamelCase, and a sentence for a person."""

    reason: str
    message: str
    is_warning: bool = False


ENSURING = ServiceEvent("EnsuringLoadBalancer", "Ensuring load balancer")
ENSURED = ServiceEvent("EnsuredLoadBalancer", "Ensured load balancer")
UPDATED = ServiceEvent("UpdatedLoadBalancer", "Updated load balancer with new hosts")
DELETING = ServiceEvent("DeletingLoadBalancer", "Deleting load balancer")
DELETED = ServiceEvent("DeletedLoadBalancer", "Deleted load balancer")
WITHOUT_NODES = ServiceEvent(
    "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer", is_warning=True
)


def report_failed_sync(error: object) -> ServiceEvent:
    """The load balancer could not be ensured, or deleted before its Service goes."""
    return ServiceEvent("SyncLoadBalancerFailed", f"Error syncing load balancer: {error}", is_warning=True)


def report_failed_deletion(error: object) -> ServiceEvent:
    """The load balancer of a Service that is gone could not be deleted."""
    return ServiceEvent("DeleteLoadBalancerFailed", f"Error deleting load balancer: {error}", is_warning=True)


def report_failed_update(nodes: Sequence[CloudNode], error: object) -> ServiceEvent:
    """The load balancer could not be given these nodes; of many only the first are named."""
    names = [node.name for node in nodes[:_MOST_NAMES]]
    if len(nodes) > _MOST_NAMES:
        names.append(f"<{len(nodes) - _MOST_NAMES} more>")
    hosts = f"[{' '.join(names)}] [node names limited, total number of nodes: {len(nodes)}]"
    text = f"Error updating load balancer with new hosts {hosts}, error: {error}"
    return ServiceEvent("UpdateLoadBalancerFailed", text, is_warning=True)


class ServiceEventRecorder(Protocol):
    """Takes Events of one source. To record one never waits and never fails."""

    def record(self, about: ObjectReference, event: ServiceEvent) -> None:
        """An Event about this object."""
        ...


@dataclass(frozen=True, slots=True)
class ServiceReports:
    """Where the loop of load balancers reports to."""

    recorder: ServiceEventRecorder
    metrics: CloudMetrics

    def record(self, service: CloudService, event: ServiceEvent) -> None:
        """Record an Event about a Service, also if it is gone by now or another has its name."""
        about = ObjectReference(SERVICES.api_version, SERVICES.kind, service.namespace, service.name, service.uid)
        self.recorder.record(about, event)
