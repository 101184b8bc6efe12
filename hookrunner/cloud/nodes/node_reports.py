"""What the loops of Nodes say about their work: Events, and what is counted.

The loops know `NodeReports` alone; the assembly fills it with the recorder of Events and the metrics.
"""

from dataclasses import dataclass
from typing import Protocol

from hookrunner.cloud.cloud_node import CloudNode
from hookrunner.cloud.node_informer import NODES
from hookrunner.controllers.event_recorder import ComponentRecorder, EventLike
from hookrunner.model.resources import ObjectReference

NODE_SOURCE, LIFECYCLE_SOURCE = "cloud-node-controller", "cloud-node-lifecycle-controller"
"""The components that Events of Nodes name, as those of Kubernetes' own manager."""


class NodeMeter(Protocol):
    """Counts what happens to Nodes."""

    def node_initialized(self, seconds: float) -> None:
        """A Node was initialised, so many seconds after it was created."""
        ...

    def node_deleted(self, result: str) -> None:
        """A Node was deleted (`deleted`), could not be (`failed`), or would have been (`dry-run`)."""
        ...


@dataclass(frozen=True, slots=True)
class NodeReports:
    """Where a loop of Nodes reports to."""

    recorder: ComponentRecorder
    meter: NodeMeter

    def record(self, node: CloudNode, event: EventLike) -> None:
        """Record an Event about a Node. It is about the one with this UID, also if another has its name by now."""
        self.recorder.record(ObjectReference(NODES.api_version, NODES.kind, "", node.name, node.uid), event)
