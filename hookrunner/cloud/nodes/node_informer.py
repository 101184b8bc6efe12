"""The Nodes of the cluster as projections, kept by one watch for all loops of the cloud.

    informer = NodeInformer(watches)
    node = informer.get("worker-1")

Everything else is in `cloud/projection_informer.py`.
"""

from typing import TypeAlias

from hookrunner.cloud.nodes.cloud_node import CloudNode, read_node
from hookrunner.cloud.projection_informer import ProjectionInformer, ProjectionSubscription
from hookrunner.kube.informer import Opener
from hookrunner.model.resources import Resource

NODES = Resource("v1", "Node", "nodes", False)
"""How requests about Nodes are made."""

NodeSubscription: TypeAlias = ProjectionSubscription[CloudNode]


class NodeInformer(ProjectionInformer[CloudNode]):
    """All Nodes."""

    def __init__(self, watches: Opener) -> None:
        super().__init__(watches, NODES, lambda obj, _: read_node(obj))

    def get(self, name: str) -> CloudNode | None:
        """The latest state of a Node, None if it is not known."""
        return self.find("", name)
