"""What the loop of routes says about its work: Events of Nodes, and what is counted.

The loop knows `RouteReports` alone; the assembly fills it with the recorder of Events and the metrics.
"""

from collections.abc import Iterable

from hookrunner import log
from hookrunner.cloud.answers import CloudRoute, ProviderError
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.cloud.routes.route_plan import DuplicateNetwork
from hookrunner.cloud.shown_texts import Mask, shortened
from hookrunner.controllers.event_recorder import ComponentRecorder, ObjectEvent
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.model.resources import ObjectReference
from kubetypes.light_dataclasses import dataclass

ROUTE_SOURCE = "route_controller"
"""The component that Events of routes name, as those of Kubernetes' own manager."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class RouteReports:
    """Where the loop of routes reports to. `mask` takes the provider's secrets out of what is logged."""

    recorder: ComponentRecorder
    metrics: CloudMetrics
    mask: Mask = str

    def report_creation(self, route: CloudRoute, error: ProviderError | None) -> None:
        """A route was created, or could not be. Equal messages are counted in one Event, so they have no times."""
        self._count("create", error)
        if error is None:
            _log.info("route created", destination=route.destination_cidr, node=route.target_node)
        else:
            text = f"Could not create route {route.destination_cidr} for node {route.target_node}: {error}"
            self._record(route.target_node, route.name_hint, ObjectEvent("FailedToCreateRoute", text))

    def report_deletion(self, route: CloudRoute, error: ProviderError | None) -> None:
        """A route was deleted, or could not be: the next pass tries that again."""
        self._count("delete", error)
        if error is None:
            _log.info("route deleted", destination=route.destination_cidr, **self._shown(route))
        else:
            _log.warn("route cannot be deleted", destination=route.destination_cidr, error=error, **self._shown(route))

    def report_duplicate(self, duplicate: DuplicateNetwork) -> None:
        """Two Nodes have one Pod network."""
        others = ", ".join(duplicate.others)
        end = f"the route leads to {duplicate.keeper}"
        text = f"podCIDR {duplicate.cidr} is also that of {others}: {end}, which is the oldest; give each node its own"
        self._record(duplicate.node, duplicate.uid, ObjectEvent("DuplicatePodCIDR", text))

    def report_refusal(self, nodes: Iterable[CloudNode], error: ProviderError) -> None:
        """The cloud refuses the credentials, so it is not known which routes there are: one Event, about the first Node
        with a Pod network."""
        about = min((node for node in nodes if node.pod_cidrs), key=lambda node: node.name, default=None)
        if about:
            text = f"routes of the nodes are neither created nor deleted, the cloud does not list them: {error}"
            self._record(about.name, about.uid, ObjectEvent("FailedToCreateRoute", text))

    def _shown(self, route: CloudRoute) -> dict[str, str]:
        """What the provider calls the route and its Node; its destination is a network."""
        return {"route": shortened(self.mask(route.name)), "node": shortened(self.mask(route.target_node))}

    def _count(self, action: str, error: ProviderError | None) -> None:
        self.metrics.cloud_routes.inc(action, "failed" if error else "ok")

    def _record(self, node: str, uid: str, event: ObjectEvent) -> None:
        self.recorder.record(ObjectReference(NODES.api_version, NODES.kind, "", node, uid), event)
