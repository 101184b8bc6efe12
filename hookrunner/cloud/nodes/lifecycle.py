"""What becomes of Nodes that are not ready, decided from what the cloud says of their machines.

    decision = decide_lifecycle(nodes, answers, claims, PassTime(now, ages), policy)
    decision.delete, decision.held, decision.taints

Only the state `notFound` counts towards a deletion, never an error or a missing answer; and a deletion needs all of:

1. the Node is not ready, and so many answers in a row about this very object (its uid) said `notFound`;
2. it has a certain age;
3. of at least one other Node the cloud says that its machine exists: a cloud that knows no machine at all is broken,
   or it is asked with the wrong credentials;
4. not too many Nodes at once are said to be gone. Those that were announced (cordoned, or chosen by an autoscaler) do
   not count, nor those that a person has released;
5. only a few Nodes a pass, the oldest claim first.

That the view of the Nodes is up to date, and that this process leads, is the matter of the loop. Functions of values.
Source: https://kubernetes.io/docs/concepts/architecture/cloud-controller/#node-controller
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hookrunner.cloud.answers import InstanceAnswer, InstanceState, ProviderError
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN, CloudNode, Taint
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

SHUTDOWN_TAINT = Taint(SHUTDOWN, "NoSchedule")
OUT_OF_SERVICE_TAINT = Taint("node.kubernetes.io/out-of-service", "NoExecute", "nodeshutdown")
"""Lets the volumes of a machine that is off go to other Nodes
(https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown)."""

_ANNOUNCED = "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"
"""Taints by which an autoscaler says that a Node will go."""


@dataclass(frozen=True, slots=True)
class LifecyclePolicy:
    """How careful deletions are.

    `period`: seconds between two passes. `confirmations`: answers in a row. `min_age`: seconds. `max_per_pass`: 0 is
    any number. `max_ratio`: the share of Nodes that may have no machine at once. `as_upstream`: as Kubernetes' own
    manager, without condition 3, also for Nodes of other clouds, and without an Event if the cloud refuses the
    credentials.
    """

    period: float = 10.0
    confirmations: int = 3
    min_age: float = 300.0
    max_per_pass: int = 1
    max_ratio: float = 0.2
    dry_run: bool = False
    out_of_service_taint: bool = False
    as_upstream: bool = False


@dataclass(frozen=True, slots=True)
class PassTime:
    """When a pass decides: seconds of the event loop's clock, and how many each Node exists, by uid."""

    now: float
    ages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class DeletionClaim:
    """What the cloud has said in a row about one object: how often that its machine is gone, or is off. `since`: the
    time of the first; `failures`: deletions that were refused; `is_released`: a person lets it go."""

    gone: int = 0
    off: int = 0
    since: float = 0.0
    failures: int = 0
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class DeletionCandidate:
    """A Node whose machine is said to be gone, and what holds its deletion; empty if nothing does. `is_held`: too many
    are gone at once."""

    node: CloudNode
    claim: DeletionClaim
    obstacle: str = ""
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class LifecycleDecision:
    """`claims`: by uid, for the next pass; `taints`: what each Node gets."""

    claims: Mapping[str, DeletionClaim]
    candidates: tuple[DeletionCandidate, ...] = ()
    taints: tuple[tuple[CloudNode, tuple[Taint, ...]], ...] = ()

    @property
    def delete(self) -> tuple[CloudNode, ...]:
        """The Nodes to be deleted now."""
        return tuple(candidate.node for candidate in self.candidates if not candidate.obstacle)

    @property
    def held(self) -> tuple[CloudNode, ...]:
        """The Nodes that would be deleted if fewer were gone at once."""
        return tuple(candidate.node for candidate in self.candidates if candidate.is_held)


def decide_lifecycle(
    nodes: Collection[CloudNode],
    answers: Mapping[str, InstanceAnswer | ProviderError],
    claims: Mapping[str, DeletionClaim],
    time: PassTime,
    policy: LifecyclePolicy,
) -> LifecycleDecision:
    """What a pass does. `nodes` are all that it was about, as they are now; `answers` are by uid."""
    states = {node.uid: _state_of(answers.get(node.uid)) for node in nodes}
    counted = {node.uid: claim for node in nodes if (claim := _count(node, states[node.uid], claims, time.now))}
    gone = [node for node in nodes if node.uid in counted and counted[node.uid].gone and not node.is_deleting]
    gone.sort(key=lambda node: (counted[node.uid].failures, counted[node.uid].since, node.name))
    general = _general_obstacle(nodes, states, counted, policy)
    candidates = tuple(_judge(node, counted[node.uid], general, time.ages[node.uid], policy) for node in gone)
    return LifecycleDecision(counted, _limit(candidates, policy.max_per_pass), tuple(_taints(nodes, counted, policy)))


def taint_patch(node: CloudNode, taints: Collection[Taint]) -> JSON:
    """The merge patch that adds taints to the Node as it is now; None if it has them, or has become ready."""
    missing = [taint for taint in taints if not node.has_taint(taint.key, taint.effect)]
    if node.ready or not missing:
        return None
    return {"spec": {"taints": [taint.document for taint in (*node.taints, *missing)]}}


def ready_patch(node: CloudNode, policy: LifecyclePolicy) -> JSON:
    """The merge patch that takes our taints off a Node that is ready; None if it has none. Taints of these keys with
    another effect are not ours."""
    ours = [SHUTDOWN_TAINT, OUT_OF_SERVICE_TAINT] if policy.out_of_service_taint else [SHUTDOWN_TAINT]
    keys = {(taint.key, taint.effect) for taint in ours}
    kept = [taint.document for taint in node.taints if (taint.key, taint.effect) not in keys]
    return {"spec": {"taints": kept}} if node.ready and len(kept) < len(node.taints) else None


def release_held(decision: LifecycleDecision) -> LifecycleDecision:
    """The same claims, of which those that are held now are released: exactly these, and none that come later."""
    held = {node.uid for node in decision.held}
    claims = {
        uid: replace(claim, is_released=claim.is_released or uid in held) for uid, claim in decision.claims.items()
    }
    return replace(decision, claims=claims)


def note_failure(claims: Mapping[str, DeletionClaim], uid: str) -> Mapping[str, DeletionClaim]:
    """The claims after a deletion that was refused: others come first."""
    return dict(claims) | {uid: replace(claims[uid], failures=claims[uid].failures + 1)} if uid in claims else claims


def _state_of(answer: InstanceAnswer | ProviderError | None) -> InstanceState:
    return answer.state if isinstance(answer, InstanceAnswer) else InstanceState.UNKNOWN


def _count(
    node: CloudNode, state: InstanceState, claims: Mapping[str, DeletionClaim], now: float
) -> DeletionClaim | None:
    """The claim after one more answer. Any other answer begins the count anew, and so does a kubelet that reports."""
    before = claims.get(node.uid, DeletionClaim())
    if node.ready:
        return None
    if state is InstanceState.NOT_FOUND:
        since = before.since if before.gone else now
        return replace(before, gone=before.gone + 1, off=0, since=since)
    if state is InstanceState.SHUTDOWN:
        return DeletionClaim(off=before.off + 1, since=before.since if before.off else now)
    return None


def _general_obstacle(
    nodes: Collection[CloudNode],
    states: Mapping[str, InstanceState],
    claims: Mapping[str, DeletionClaim],
    policy: LifecyclePolicy,
) -> tuple[str, bool]:
    """Why no Node at all may be deleted; and whether that is because too many are gone."""
    exist = (InstanceState.RUNNING, InstanceState.SHUTDOWN)
    if not policy.as_upstream and not any(state in exist for state in states.values()):
        return "the cloud says of no Node that its machine exists", False
    released = {uid for uid, claim in claims.items() if claim.is_released}
    gone = [node for node in nodes if states[node.uid] is InstanceState.NOT_FOUND and not _is_announced(node)]
    unreleased = sum(node.uid not in released for node in gone)
    most = max(1.0, policy.max_ratio * len(nodes))
    if unreleased > most:
        return (
            f"{unreleased} of {len(nodes)} machines are said to be gone at once, at most {math.floor(most)} may",
            True,
        )
    return "", False


def _judge(
    node: CloudNode, claim: DeletionClaim, general: tuple[str, bool], age: float, policy: LifecyclePolicy
) -> DeletionCandidate:
    obstacle, too_many = general
    if claim.gone < policy.confirmations:
        return DeletionCandidate(node, claim, f"said to be gone {claim.gone} of {policy.confirmations} times in a row")
    if policy.min_age and age < policy.min_age:
        return DeletionCandidate(node, claim, f"younger than {policy.min_age:g} s")
    if too_many and claim.is_released:
        return DeletionCandidate(node, claim)
    return DeletionCandidate(node, claim, obstacle, is_held=too_many)


def _limit(candidates: tuple[DeletionCandidate, ...], most: int) -> tuple[DeletionCandidate, ...]:
    """Leave so many deletions a pass (0: all), not counting Nodes that were announced."""
    limited, chosen = [], 0
    for candidate in candidates:
        counts = not candidate.obstacle and not _is_announced(candidate.node)
        if counts and most and chosen >= most:
            candidate = replace(candidate, obstacle=f"{most} deleted in a pass, others come first")
        chosen += counts
        limited.append(candidate)
    return tuple(limited)


def _is_announced(node: CloudNode) -> bool:
    return node.is_cordoned or node.is_deleting or any(node.has_taint(key) for key in _ANNOUNCED)


def _taints(
    nodes: Collection[CloudNode], claims: Mapping[str, DeletionClaim], policy: LifecyclePolicy
) -> Iterator[tuple[CloudNode, tuple[Taint, ...]]]:
    for node in nodes:
        off = claims[node.uid].off if node.uid in claims else 0
        is_out = policy.out_of_service_taint and off >= policy.confirmations
        wanted = (SHUTDOWN_TAINT,) * bool(off) + (OUT_OF_SERVICE_TAINT,) * is_out
        if taint_patch(node, wanted):
            yield node, wanted
