"""Initialises Nodes: a loop from the watch over a work queue to the writes.

    loop = InitializationLoop(parts, policy)
    await loop.run()          # while this process is the leader
    loop.stop()               # what is under way is finished, then `run` returns

One object is for one term as the leader. Very many Nodes are worked on at a time, so that the questions about them
share calls; each has a back-off of its own. A Node that is initialised costs no question: of it only the labels are
compared.
"""

import asyncio
import time

from hookrunner import log
from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.initialization import (
    AwaitChange,
    InitializationPolicy,
    Initialize,
    SkipNode,
    TryAgain,
    address_patch,
    decide_initialization,
    node_patch,
)
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts
from hookrunner.cloud.nodes.node_informer import NODES, NodeSubscription
from hookrunner.cloud.nodes.node_labels import corrected_labels, reserved_labels
from hookrunner.cloud.queue_loop import QueueLoop
from hookrunner.cloud.shown_texts import shortened
from hookrunner.controllers.event_recorder import ObjectEvent
from hookrunner.errors import ApiError, HookrunnerError, KubeError, Unreachable
from hookrunner.kube import refusals
from hookrunner.waits import Pauses
from kubetypes.json_values import JSON

_AT_ONCE, _WRITTEN_AT_ONCE = 512, 32
"""Nodes that are worked on at a time: each that waits for the cloud shares the next call with the others. And those of
them that are written, each over a connection of its own."""
_PAUSES, _UPSTREAM_PAUSES = Pauses(1.0, 300.0), Pauses(0.005, 1000.0)
"""Seconds of the back-off of one Node."""
_SKIPPED_AFTER = 300.0
"""Seconds until a Node that is skipped is worth an Event."""
_SYNCED = ObjectEvent("Synced", "Node synced successfully", is_warning=False)
_WANT = frozenset({Want.STATE, Want.METADATA})
_NO_ANSWER = ProviderError(ErrorCode.UNAVAILABLE, "no answer about this Node")
_PURPOSE = "initialise Nodes"
_RULES = refusals.rbac_rule(NODES, ["patch"]), refusals.rbac_rule(NODES, ["patch"], "status")
_log = log.get(__name__)


class NotInitialized(HookrunnerError):
    """A Node could not be initialised; the work queue tries it again."""


class InitializationLoop(QueueLoop):
    """`problems`: why Nodes are not initialised, by name; `skipped`: the Nodes that the provider does not want."""

    def __init__(self, parts: NodeLoopParts, policy: InitializationPolicy) -> None:
        super().__init__("cloud-node", _UPSTREAM_PAUSES if policy.as_upstream else _PAUSES)
        self.problems: dict[str, str] = {}
        self.skipped: set[str] = set()
        self._nodes, self._provider = parts.nodes, parts.provider
        self._writer, self._reports = parts.writer, parts.reports
        self._policy = policy
        self._slots = asyncio.Semaphore(_WRITTEN_AT_ONCE)

    async def run(self) -> None:
        """Initialise Nodes until `stop`."""
        with self._nodes.subscribe() as changes:
            await self._work(self._reconcile, _AT_ONCE, self._enqueue_changes(changes))

    async def _enqueue_changes(self, changes: NodeSubscription) -> None:
        while True:
            for change in await changes.next_batch():
                if change.before and (change.after is None or change.is_new):
                    self._forget(change.name)
                if change.after and not self._writer.is_echo(change.after):
                    self._queue.add(change.name)

    async def _reconcile(self, name: str) -> float | None:
        # A patch of an outdated Node would be a conflict and do no harm. But a Node that is initialised or gone by now
        # would be asked about at each attempt, for as long as the watch is lost.
        if not await self._nodes.wait_for_view(self._stopped):
            return None
        node = self._writer.latest(name)
        if node is None or node.is_initialized:
            self._forget(name)
        try:
            if node and node.is_initialized:
                async with self._slots:
                    await self._writer.patch(node, _label_patch)
            elif node:
                return await self._ask(node)
        except KubeError as error:
            explained = refusals.explain_rights(error, _PURPOSE, *_RULES)
            self.problems[name] = str(explained)
            raise explained from None
        return None

    async def _ask(self, asked: CloudNode) -> float | None:
        is_foreign = asked.provider_id and not self._provider.capabilities.owns(asked.provider_id)
        if is_foreign and not self._policy.as_upstream:
            return self._skip(asked, f"its providerID '{asked.provider_id}' is not of this cloud")
        answers = await self._provider.ask_instances([asked], _WANT)
        node = self._writer.latest(asked.name)
        if node is None or node.uid != asked.uid or node.is_initialized:
            return None
        return await self._act(node, answers.get(node.name, _NO_ANSWER))

    async def _act(self, node: CloudNode, answer: InstanceAnswer | ProviderError) -> float | None:
        match decide_initialization(node, answer, self._provider.capabilities, self._policy):
            case Initialize() as decision:
                self._record(node, decision.event)
                async with self._slots:
                    await self._initialize(node, decision)
            case SkipNode(message):
                return self._skip(node, message or "the provider says that it is not its business")
            case TryAgain(problem, event, seconds):
                self._note(node, problem, event)
                if seconds is None:
                    raise NotInitialized(f"Node {node.name}: {problem}")
                return seconds
            case AwaitChange(problem, event):
                self._note(node, problem, event)
        return None

    async def _initialize(self, node: CloudNode, decision: Initialize) -> None:
        live: CloudNode | None = node
        if not self._policy.as_upstream:
            live = await self._write_addresses(node, decision)
        if live and (live := await self._writer.patch(live, lambda node: node_patch(node, decision, self._policy))):
            if self._policy.as_upstream:
                await self._try_addresses(live, decision)
            self._report_success(live, decision)

    async def _try_addresses(self, node: CloudNode, decision: Initialize) -> None:
        """Write the addresses of a Node that has lost its taint. It is initialised also without them, as upstream has
        it: the next pass over addresses is the retry, since this loop is done with the Node."""
        try:
            await self._write_addresses(node, decision)
        except (ApiError, Unreachable) as error:
            explained = refusals.explain_rights(error, _PURPOSE, *_RULES)
            _log.warn("addresses of a new node not written", node=node.name, error=explained)

    async def _write_addresses(self, node: CloudNode, decision: Initialize) -> CloudNode | None:
        by_type = self._policy.as_upstream
        return await self._writer.patch(node, lambda node: address_patch(node, decision.metadata, by_type), "status")

    def _report_success(self, node: CloudNode, decision: Initialize) -> None:
        seconds = max(0.0, time.time() - node.created_at)
        self._forget(node.name)
        self._reports.count_initialization(seconds)
        self._reports.record(node, _SYNCED)
        provider_id = self._reports.mask(node.provider_id)
        _log.info("node initialized", node=node.name, provider_id=provider_id, seconds=round(seconds, 1))
        if reserved := [shortened(self._reports.mask(key)) for key in reserved_labels(decision.metadata)]:
            _log.warn("labels of Kubernetes dropped from the provider's", node=node.name, labels=reserved)

    def _skip(self, node: CloudNode, why: str) -> float | None:
        """Leave the Node as it is. It is asked about again when it changes, and now and then: the Event says so when it
        has waited for a while."""
        if node.name not in self.skipped:
            _log.info("node skipped", node=node.name, reason=why)
        self.skipped.add(node.name)
        self.problems[node.name] = why
        if self._policy.as_upstream:
            return None
        waited = time.time() - node.created_at
        if waited < _SKIPPED_AFTER:
            return min(_SKIPPED_AFTER - waited, _SKIPPED_AFTER)  # a clock may be set back
        self._reports.record(node, ObjectEvent("NodeSkipped", f"not initialised: {why}"))
        return _SKIPPED_AFTER

    def _note(self, node: CloudNode, problem: str, event: ObjectEvent | None) -> None:
        self.skipped.discard(node.name)
        self.problems[node.name] = problem
        self._record(node, event)

    def _record(self, node: CloudNode, event: ObjectEvent | None) -> None:
        if event and not self._policy.as_upstream:
            self._reports.record(node, event)

    def _forget(self, name: str) -> None:
        self.problems.pop(name, None)
        self.skipped.discard(name)


def _label_patch(node: CloudNode) -> JSON:
    labels = corrected_labels(node)
    return {"metadata": {"labels": labels}} if labels and node.is_initialized else None
