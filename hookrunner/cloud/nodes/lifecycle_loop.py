"""Deletes Nodes whose machines are gone, and marks those whose machines are off: a pass every few seconds.

    loop = LifecycleLoop(parts, policy)
    await loop.run()          # while this process is the leader
    loop.stop()               # the pass that is under way is finished, then `run` returns
    names = loop.release()    # lets deletions go on that are held at the moment

One object is for one term as the leader: what was counted in another one does not count. While all Nodes are ready
nothing is asked. A pass that finds the watch of Nodes lost, before or after the answer, decides nothing, and begins
every count anew. One without any answer is repeated when the provider says. What is decided is in `lifecycle.py`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from hookrunner import log
from hookrunner.cloud.answers import InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.lifecycle import (
    DeletionCandidate,
    LifecycleDecision,
    LifecyclePolicy,
    PassTime,
    decide_lifecycle,
    note_failure,
    ready_patch,
    release_held,
    taint_patch,
)
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts, PassLoop
from hookrunner.cloud.nodes.node_ages import NodeAges
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.controllers.event_recorder import ObjectEvent
from hookrunner.errors import Conflict, KubeError
from hookrunner.kube import refusals
from hookrunner.model.cloud import DeletionDump
from hookrunner.model.status import some
from kubetypes.json_values import JSON

_PatchOf: TypeAlias = Callable[[CloudNode], JSON]

_NOTHING = LifecycleDecision({})
_WANT = frozenset({Want.STATE})
_log = log.get(__name__)


class LifecycleLoop(PassLoop):
    """Deletes and marks Nodes."""

    def __init__(self, parts: NodeLoopParts, policy: LifecyclePolicy) -> None:
        super().__init__(parts, policy.period, _log)
        self._policy = policy
        self._decision = _NOTHING
        self._ages: NodeAges | None = None

    @property
    def candidates(self) -> tuple[DeletionCandidate, ...]:
        """The Nodes whose machines were said to be gone in the last pass."""
        return self._decision.candidates

    def dump(self) -> tuple[DeletionDump, ...]:
        """The same, for `hookrunner cloud status`."""
        needed = self._policy.confirmations
        return tuple(
            DeletionDump(one.node.name, one.claim.gone, needed, one.is_held, one.obstacle) for one in self.candidates
        )

    def release(self) -> Sequence[str]:
        """Let exactly those deletions go on that are held now; the names of their Nodes."""
        held = [node.name for node in self._decision.held]
        self._decision = release_held(self._decision)
        if held:
            _log.warn("held deletions released", nodes=held)
        return held

    async def run(self) -> None:
        """Make passes until `stop`."""
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._untaint_ready())
            # While a watch is lost, passes go on, without questions: each forgets what was said before it was lost.
            while await self._clock.wait_for_pass(self._nodes.wait_for_list):
                await self.make_pass()
            watching.cancel()

    async def make_pass(self) -> None:
        """Ask about the Nodes, if any of them is not ready, and do what follows."""
        self._read_ages(self._nodes)
        asked = self._choose_nodes()
        answers = await self._provider.ask_instances(asked, _WANT) if asked else {}
        self._decision = self._decide(asked, answers)
        self._note_answers(answers)
        if not self._policy.as_upstream:
            self._reports.record_refusal((node for node in asked if not node.ready), answers)
        self._report_held()
        for node in self._decision.delete:
            await self._delete(node)
        patches = [self._patch(node, partial(taint_patch, taints=taints)) for node, taints in self._decision.taints]
        await asyncio.gather(*patches)

    def _choose_nodes(self) -> Sequence[CloudNode]:
        """The Nodes that a pass asks about: none if all are ready, or if it is not known which there are."""
        nodes = [node for node in self._nodes if self._is_asked(node)] if self._nodes.is_current else []
        return [] if all(node.ready for node in nodes) else nodes

    def _is_asked(self, node: CloudNode) -> bool:
        """All of this cloud, since others vouch; for upstream those that are not ready, of any cloud."""
        return not node.ready if self._policy.as_upstream else self._provider.capabilities.owns(node.provider_id)

    def _decide(
        self, asked: Sequence[CloudNode], answers: Mapping[str, InstanceAnswer | ProviderError]
    ) -> LifecycleDecision:
        """Answers count for the object that was asked about, and are judged by what it is now."""
        if not (asked and self._nodes.is_current):
            return _NOTHING
        nodes = [live for node in asked if (live := self._writer.latest(node.name)) and live.uid == node.uid]
        by_uid = {node.uid: answers[node.name] for node in nodes if node.name in answers}
        now = PassTime(asyncio.get_running_loop().time(), self._read_ages([*self._nodes, *nodes]))
        return decide_lifecycle(nodes, by_uid, self._decision.claims, now, self._policy)

    def _read_ages(self, nodes: Iterable[CloudNode]) -> Mapping[str, float]:
        now, epoch_seconds = asyncio.get_running_loop().time(), time.time()
        self._ages = self._ages or NodeAges(now, epoch_seconds)
        return self._ages.of(nodes, now, epoch_seconds)

    async def _delete(self, node: CloudNode) -> None:
        """Delete the Node, unless the view of it is no longer what was decided on."""
        if self._policy.dry_run:
            provider_id = self._reports.mask(node.provider_id)
            _log.warn("node would be deleted (dry run)", node=node.name, provider_id=provider_id)
            self._reports.record(node, ObjectEvent("DeletingNode", f"Would delete {_why(node)} (dry run)"))
            self._reports.metrics.cloud_node_deletes.inc("dry-run")
            return
        live = self._writer.latest(node.name)
        if not self._nodes.is_current or live is None or live.uid != node.uid or live.ready:
            return
        self._reports.record(node, ObjectEvent("DeletingNode", f"Deleting {_why(node)}", is_warning=False))
        try:
            await self._writer.delete(live)
        except Conflict:
            _log.info("node changed before its deletion, looking again", node=node.name)
        except KubeError as error:
            self._fail_deletion(node, error)
        else:
            _log.warn("node deleted", node=node.name, provider_id=self._reports.mask(node.provider_id))
            self._reports.metrics.cloud_node_deletes.inc("deleted")

    def _fail_deletion(self, node: CloudNode, error: KubeError) -> None:
        explained = refusals.explain_rights(error, "delete Nodes", refusals.rbac_rule(NODES, ["delete"]))
        self.problem = str(explained)
        _log.warn("node cannot be deleted", node=node.name, error=explained)
        self._reports.record(
            node, ObjectEvent("DeletingNodeFailed", f"Failed deleting node {node.name}: {self.problem}")
        )
        self._reports.metrics.cloud_node_deletes.inc("failed")
        claims = note_failure(self._decision.claims, node.uid)
        self._decision = LifecycleDecision(claims, self._decision.candidates, self._decision.taints)

    def _report_held(self) -> None:
        for candidate in self._decision.candidates:
            if candidate.is_held and candidate.obstacle:
                text = f"not deleted: {candidate.obstacle}; if that is right, run `hookrunner cloud release`"
                self._reports.record(candidate.node, ObjectEvent("NodeDeletionHeld", text))
        held = some([node.name for node in self._decision.held])
        self._pass_log.warn("deletions held, too many machines are said to be gone", held)

    async def _untaint_ready(self) -> None:
        """Take our taints off Nodes that have become ready. One that cannot be written is tried again a little
        later."""
        failed: set[str] = set()
        with self._nodes.subscribe() as changes:
            while True:
                names = failed
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._policy.period if failed else None):
                        names = failed | {change.name for change in await changes.next_batch()}
                failed = {name for name in names if not await self._settle(name)}

    async def _settle(self, name: str) -> bool:
        node = self._writer.latest(name)
        return node is None or await self._patch(node, lambda node: ready_patch(node, self._policy))

    async def _patch(self, node: CloudNode, patch_of: _PatchOf) -> bool:
        """Patch the Node; False if that failed, which holds up no other."""
        try:
            async with self._slots:
                await self._writer.patch(node, patch_of)
        except KubeError as error:
            explained = refusals.explain_rights(error, "taint Nodes", refusals.rbac_rule(NODES, ["patch"]))
            self.problem = str(explained)
            _log.warn("taints of a node cannot be written", node=node.name, error=explained)
            return False
        return True


def _why(node: CloudNode) -> str:
    return f"node {node.name} because it does not exist in the cloud provider"
