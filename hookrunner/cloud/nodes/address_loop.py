"""Keeps addresses, and on demand labels, of initialised Nodes as the cloud has them: a pass every few minutes.

    loop = AddressLoop(parts, policy)
    await loop.run()          # while this process is the leader
    loop.stop()               # the pass that is under way is finished, then `run` returns

A pass is one question about all Nodes. One that fails costs no other its addresses; the next pass is the retry, and
comes when the provider says if it has answered about none. Nodes with the kubelet's taint are the matter of
`initialization_loop.py`.
"""

import asyncio
from collections.abc import Mapping

from hookrunner import log
from hookrunner.cloud.answers import InstanceAnswer, InstanceMetadata, InstanceState, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.initialization import address_patch, invalid_metadata, provider_id_mismatch
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts, PassLoop
from hookrunner.cloud.nodes.node_addresses import address_problem
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.cloud.nodes.node_labels import synced_labels
from hookrunner.errors import KubeError
from hookrunner.kube import refusals
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_WANT = frozenset({Want.STATE, Want.METADATA})
_RULES = refusals.rbac_rule(NODES, ["patch"]), refusals.rbac_rule(NODES, ["patch"], "status")
_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """What a pass does, every `period` seconds.

    `syncs_labels`: bring labels up to date too; `beta_labels`: also under their names of old. `as_upstream`: as
    Kubernetes' own manager, which compares addresses by their types, asks about Nodes with another cloud's providerID,
    writes what the API server refuses, and records no Event if the cloud refuses the credentials.
    """

    period: float = 300.0
    syncs_labels: bool = False
    beta_labels: bool = True
    as_upstream: bool = False


class AddressLoop(PassLoop):
    """Keeps addresses."""

    def __init__(self, parts: NodeLoopParts, policy: AddressPolicy) -> None:
        super().__init__(parts, policy.period, _log)
        self._policy = policy
        self._last: dict[str, Mapping[str, str]] = {}
        """The labels that the cloud has given each Node last, by uid."""

    async def run(self) -> None:
        """Make passes until `stop`, the first as soon as all Nodes are known."""
        while await self._clock.wait_for_pass(self._nodes.wait_for_view):
            await self.make_pass()

    async def make_pass(self) -> None:
        """Ask about all initialised Nodes, and write what has changed."""
        asked = [node for node in self._nodes if node.is_initialized and self._is_asked(node)]
        answers = await self._provider.ask_instances(asked, _WANT) if asked else {}
        self._note_answers(answers)
        if not self._policy.as_upstream:
            self._reports.record_refusal(asked, answers)
        await asyncio.gather(*(self._bring_up_to_date(node, answers.get(node.name)) for node in asked))
        self._last = {node.uid: self._last[node.uid] for node in self._nodes if node.uid in self._last}

    def _is_asked(self, node: CloudNode) -> bool:
        is_ours = not node.provider_id or self._provider.capabilities.owns(node.provider_id)
        return is_ours or self._policy.as_upstream

    async def _bring_up_to_date(self, asked: CloudNode, answer: InstanceAnswer | ProviderError | None) -> None:
        """Write what an answer changes of a Node, if it still is the one that was asked about."""
        node = self._writer.latest(asked.name)
        if node is None or node.uid != asked.uid or not node.is_initialized:
            return
        if isinstance(answer, InstanceAnswer) and (metadata := self._usable_metadata(node, answer)):
            async with self._slots:
                await self._write(node, metadata)

    def _usable_metadata(self, node: CloudNode, answer: InstanceAnswer) -> InstanceMetadata | None:
        metadata = answer.metadata
        if metadata is None or answer.state not in (InstanceState.RUNNING, InstanceState.SHUTDOWN):
            return None
        if metadata.problems and self._policy.as_upstream:
            return None
        if not self._policy.as_upstream:
            if event := invalid_metadata(metadata, self._provider.capabilities):
                self._reports.record(node, event)
                return None
            if event := provider_id_mismatch(node, metadata):
                self._reports.record(node, event)
        if metadata.addresses and (problem := address_problem(node, metadata.addresses)):
            _log.warn("addresses of a node not updated", node=node.name, reason=problem)
        return metadata

    async def _write(self, node: CloudNode, metadata: InstanceMetadata) -> None:
        by_type, last = self._policy.as_upstream, self._last.get(node.uid, {})
        try:
            live = await self._writer.patch(
                node, lambda node: address_patch(node, metadata, by_type) if node.is_initialized else None, "status"
            )
            if live and self._policy.syncs_labels:
                await self._writer.patch(live, lambda node: self._label_patch(node, metadata, last))
        except KubeError as error:
            explained = refusals.explain_rights(error, "update Nodes", *_RULES)
            self.problem = f"Node {node.name}: {explained}"
            _log.warn("node cannot be updated", node=node.name, error=explained)
        else:
            self._last[node.uid] = metadata.additional_labels

    def _label_patch(self, node: CloudNode, metadata: InstanceMetadata, last: Mapping[str, str]) -> JSON:
        labels = synced_labels(node, metadata, last, self._policy.beta_labels)
        return {"metadata": {"labels": labels}} if labels and node.is_initialized else None
