"""What the three loops of Nodes work with, and what they ask the cloud."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from hookrunner.cloud.answers import CloudCapabilities, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.nodes.node_reports import NodeReports
from hookrunner.cloud.nodes.node_writer import NodeWriter


class InstanceProvider(Protocol):
    """The interface `instances`; how it is asked is the matter of `cloud/provider/`."""

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the provider can do, by its last answer."""
        ...

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        """An answer for each Node, by name. It may wait: for a pause that the cloud has asked for, for its turn, for
        the answer. Questions of several callers share calls; a Node about which no call succeeds gets the error."""
        ...


@dataclass(frozen=True, slots=True)
class NodeLoopParts:
    """The Nodes as the watch shows them, the cloud, and where a loop writes and reports to."""

    nodes: NodeInformer
    provider: InstanceProvider
    writer: NodeWriter
    reports: NodeReports
