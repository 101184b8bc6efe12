"""Writes Nodes: patches that are made for one state of a Node, and made anew if another client was quicker.

    written = await writer.patch(node, patch_of)              # the Node as it is then
    written = await writer.patch(node, patch_of, "status")
    await writer.delete(node)                                 # this Node, in this state

A patch names the resourceVersion that it was made for, so that no list of taints or addresses undoes what others wrote
meanwhile, and a Node that came again under its name is never touched. The watch shows our own writes a little later:
until then `latest` has them.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

from collections.abc import Callable

from hookrunner.cloud.nodes.cloud_node import CloudNode, read_node
from hookrunner.cloud.nodes.node_informer import NODES, NodeInformer
from hookrunner.errors import NotFound
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import DeleteOptions, ObjectRef, WriteOptions
from kubetypes.json_values import JSON

_TIMEOUT = 10.0
_OPTIONS = WriteOptions(timeout=_TIMEOUT)


class NodeWriter:
    """Writes Nodes for all loops. `nodes` is what the watch shows."""

    def __init__(self, client: Client, nodes: NodeInformer) -> None:
        self._client = client
        self._nodes = nodes
        self._written: dict[str, CloudNode] = {}
        """Of each Node what we have written last, until the watch shows it."""

    def latest(self, name: str) -> CloudNode | None:
        """The newest state that is known of a Node; None if it does not exist."""
        shown, written = self._nodes.get(name), self._written.get(name)
        if shown and written and shown.uid == written.uid and _is_older(shown.version, written.version):
            return written
        self._written.pop(name, None)
        return shown

    def is_echo(self, node: CloudNode) -> bool:
        """Is this what we have written last? The watch shows our own writes, too, and they are no news."""
        is_written = self._written.get(node.name) == node
        self.latest(node.name)  # drops what the watch has shown
        return is_written

    async def patch(
        self, node: CloudNode, patch_of: Callable[[CloudNode], JSON], subresource: str = ""
    ) -> CloudNode | None:
        """Patch the Node with what `patch_of` makes of it; None is no patch. The Node as it is then, None if it does
        not exist any more. Raises KubeError; Conflict after five attempts."""
        whole, ref = ObjectRef(NODES, "", node.name), ObjectRef(NODES, "", node.name, subresource)
        known: CloudNode | None = node

        async def attempt() -> CloudNode | None:
            nonlocal known
            live, known = known or read_node(await writes.read(self._client, whole, _TIMEOUT)), None
            if live.uid != node.uid:
                return None
            if (patch := patch_of(live)) is None:
                return live
            metadata = patch.get("metadata", {}) | {"resourceVersion": live.version}
            answer = await writes.merge_patch(self._client, ref, patch | {"metadata": metadata}, _OPTIONS)
            written = self._written[node.name] = read_node(answer.json)
            return written

        try:
            return await writes.retry_on_conflict(attempt)
        except NotFound:
            return None

    async def delete(self, node: CloudNode) -> None:
        """Delete the Node if it is still in this state. One that does not exist is no error. Raises KubeError; Conflict
        if it has changed."""
        options = DeleteOptions(uid=node.uid, version=node.version, timeout=_TIMEOUT)
        try:
            await writes.delete(self._client, ObjectRef(NODES, "", node.name), options)
        except NotFound:
            return


def _is_older(version: str, other: str) -> bool:
    """False if that cannot be said: resourceVersions are numbers by convention."""
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
