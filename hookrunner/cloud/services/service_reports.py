"""What the loop of load balancers says about its work: Events, in upstream's words, and what is counted.

The loop knows `ServiceReports` alone; the assembly fills it with the recorder of Events and the metrics.
"""

import time
from collections.abc import Iterable, Sequence

from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.services.cloud_service import CloudService
from hookrunner.cloud.services.service_informer import SERVICES
from hookrunner.cloud.shown_texts import Mask
from hookrunner.controllers.event_recorder import ComponentRecorder, EventLike, ObjectEvent
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.model.resources import ObjectReference
from kubetypes.light_dataclasses import dataclass

SERVICE_SOURCE = "service-controller"
"""The component that Events of Services name, as those of Kubernetes' own manager."""

_MOST_NAMES = 20

ENSURING = ObjectEvent("EnsuringLoadBalancer", "Ensuring load balancer", is_warning=False)
ENSURED = ObjectEvent("EnsuredLoadBalancer", "Ensured load balancer", is_warning=False)
UPDATED = ObjectEvent("UpdatedLoadBalancer", "Updated load balancer with new hosts", is_warning=False)
DELETING = ObjectEvent("DeletingLoadBalancer", "Deleting load balancer", is_warning=False)
DELETED = ObjectEvent("DeletedLoadBalancer", "Deleted load balancer", is_warning=False)
WITHOUT_NODES = ObjectEvent("UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")


def report_failed_sync(error: object) -> ObjectEvent:
    """The load balancer could not be ensured, or deleted before its Service goes."""
    return ObjectEvent("SyncLoadBalancerFailed", f"Error syncing load balancer: {error}")


def report_failed_deletion(error: object) -> ObjectEvent:
    """The load balancer of a Service that is gone could not be deleted."""
    return ObjectEvent("DeleteLoadBalancerFailed", f"Error deleting load balancer: {error}")


def report_failed_update(nodes: Sequence[CloudNode], error: object) -> ObjectEvent:
    """The load balancer could not be given these nodes; of many only the first are named."""
    names = [node.name for node in nodes[:_MOST_NAMES]]
    if len(nodes) > _MOST_NAMES:
        names.append(f"<{len(nodes) - _MOST_NAMES} more>")
    hosts = f"[{' '.join(names)}] [node names limited, total number of nodes: {len(nodes)}]"
    text = f"Error updating load balancer with new hosts {hosts}, error: {error}"
    return ObjectEvent("UpdateLoadBalancerFailed", text)


class NodeSyncTimer:
    """Measures how long it takes until all load balancers have the Nodes of the last change."""

    def __init__(self, metrics: CloudMetrics) -> None:
        self._seconds = metrics.nodesync_latency_seconds
        self._outdated: set[str] = set()
        self._began = 0.0

    def begin(self, keys: Iterable[str]) -> None:
        """The load balancers of these Services have other nodes."""
        self._began = self._began if self._outdated else time.monotonic()
        self._outdated.update(keys)

    def end(self, key: str) -> None:
        """This one has its nodes, or is gone."""
        if key in self._outdated:
            self._outdated.remove(key)
            if not self._outdated:
                self._seconds.observe(time.monotonic() - self._began)


@dataclass(frozen=True, slots=True)
class ServiceReports:
    """Where the loop of load balancers reports to. `mask` takes the provider's secrets out of what the loop logs."""

    recorder: ComponentRecorder
    metrics: CloudMetrics
    mask: Mask = str

    def record(self, service: CloudService, event: EventLike) -> None:
        """Record an Event about a Service, also if it is gone by now or another has its name."""
        about = ObjectReference(SERVICES.api_version, SERVICES.kind, service.namespace, service.name, service.uid)
        self.recorder.record(about, event)
