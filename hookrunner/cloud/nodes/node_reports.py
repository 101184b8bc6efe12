"""What the loops of Nodes say about their work: Events, and what is counted.

The loops know `NodeReports` alone; the assembly fills it with the recorder of Events and the metrics.
"""

from collections.abc import Iterable

from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.cloud.nodes.pass_answers import Answers, describe_unanswered, refusals_in
from hookrunner.cloud.shown_texts import Mask
from hookrunner.controllers.event_recorder import ComponentRecorder, EventLike, ObjectEvent
from hookrunner.log import Logger
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.model.resources import ObjectReference
from kubetypes.light_dataclasses import dataclass

NODE_SOURCE, LIFECYCLE_SOURCE = "cloud-node-controller", "cloud-node-lifecycle-controller"
"""The components that Events of Nodes name, as those of Kubernetes' own manager."""


@dataclass(frozen=True, slots=True)
class NodeReports:
    """Where a loop of Nodes reports to. `mask` takes the provider's secrets out of what the loop logs."""

    recorder: ComponentRecorder
    metrics: CloudMetrics
    mask: Mask = str

    def record(self, node: CloudNode, event: EventLike) -> None:
        """Record an Event about a Node. It is about the one with this UID, also if another has its name by now."""
        self.recorder.record(ObjectReference(NODES.api_version, NODES.kind, "", node.name, node.uid), event)

    def count_initialization(self, seconds: float) -> None:
        """A Node was initialised, so many seconds after it was created: also under upstream's two names."""
        self.metrics.cloud_node_init_seconds.observe(seconds)
        self.metrics.cloud_provider_taint_removal_delay_seconds.observe(seconds)
        self.metrics.initial_node_sync_delay_seconds.observe(seconds)

    def record_refusal(self, nodes: Iterable[CloudNode], answers: Answers) -> None:
        """Record that the cloud refuses the credentials, if it does: one Event about the first of these Nodes, which
        names others. One about each would say the same hundreds of times."""
        refused = refusals_in(answers)
        about = min((node for node in nodes if node.name in refused), key=lambda node: node.name, default=None)
        if about:
            self.record(about, ObjectEvent("InstanceMetadataFailed", describe_unanswered(refused)))


class PassLog:
    """Logs what passes find, once for as long as they find the same."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._last: dict[str, str] = {}

    def warn(self, fact: str, details: str) -> None:
        """Log a fact if its details are other ones than in the last pass; without details it is over."""
        if details and self._last.get(fact) != details:
            self._log.warn(fact, details=details)
        self._last[fact] = details
