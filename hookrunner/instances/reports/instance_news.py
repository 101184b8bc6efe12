"""What users of an instance should hear: the Events that a change of its state is worth.

Pure. A state on the way to another one is no news: a run that begins says nothing, its end does. What was announced
before the process started is taken from the status, so that a restart repeats nothing. docs/addons.md lists the Events.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hookrunner.addons.status_conditions import state_of, unknown_fields_message
from hookrunner.convergence.events import Notice
from hookrunner.model.addon_status import AddonPhase, InstanceFacts
from hookrunner.releases.health.pod_findings import names_pod
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_ERRORS = frozenset(
    {
        AddonPhase.CONFLICT,
        AddonPhase.VERSION_MISMATCH,
        AddonPhase.PACKAGE_ERROR,
        AddonPhase.RENDER_FAILED,
        AddonPhase.PATCH_FAILED,
        AddonPhase.FAILED,
        AddonPhase.ROLLED_BACK,
        AddonPhase.INTERNAL_ERROR,
    }
)
"""Phases that are Events under their own names."""
_APPLY_FAILED = "ApplyFailed"
_ON_THE_WAY = frozenset({AddonPhase.APPLYING, AddonPhase.TERMINATING, AddonPhase.SUSPENDED})
"""Phases without an Event of their own, but for the reason ApplyFailed; the registry tells of deletions."""


@dataclass(frozen=True, slots=True)
class ReportedState:
    """What is last known of an instance; `phase` is None before anything is. `revision` is that of its release, 0
    without one; `unmatched` are patches that fit nothing and are only reported, `unknown` fields that the API server
    ignores. `blocked` is what a Pod says that keeps an object from being ready, such as an image that cannot be pulled.
    `is_rollback`: an earlier revision was restored."""

    phase: AddonPhase | None = None
    reason: str = ""
    message: str = ""
    version: str = ""
    channel: str = ""
    revision: int = 0
    available: str = ""
    unmatched: str = ""
    unknown: str = ""
    blocked: str = ""
    is_rollback: bool = False

    @property
    def is_current(self) -> bool:
        """Is it in sync and healthy?"""
        return self.phase is AddonPhase.CURRENT

    @property
    def is_on_the_way(self) -> bool:
        """Does another state follow that says more?"""
        return self.phase is None or (self.phase in _ON_THE_WAY and self.reason != _APPLY_FAILED)


def state_of_facts(facts: InstanceFacts) -> ReportedState:
    """The state that facts lead to."""
    state, installed = state_of(facts), facts.installed
    known = ReportedState(
        state.phase,
        state.reason,
        state.message,
        available=facts.available_version,
        unmatched="; ".join(facts.unmatched_patches),
        unknown=unknown_fields_message(facts.unknown_fields),
        blocked=_blocked(state.phase, map(str, facts.objects or ())),
        is_rollback=bool(facts.rolled_back or (installed and installed.pinned)),
    )
    if installed is None:
        return known
    return replace(known, version=installed.version, channel=installed.channel, revision=installed.revision)


def state_of_status(status: JSON) -> ReportedState:
    """The state that a status shows, as far as it can be read: others may have written into it."""
    conditions = {entry.get("type"): entry for entry in status.get("conditions") or () if isinstance(entry, dict)}
    ready, patches = conditions.get("Ready", {}), conditions.get("PatchesApplied", {})
    fields = conditions.get("FieldsKnown", {})
    phase, is_unmatched = status.get("phase"), patches.get("reason") == "NoMatch"
    return ReportedState(
        AddonPhase(phase) if phase in set(AddonPhase) else None,
        str(ready.get("reason") or ""),
        str(ready.get("message") or ""),
        str(status.get("version") or ""),
        str(status.get("channel") or ""),
        int(status.get("revision") or 0),
        str(status.get("availableVersion") or ""),
        str(patches.get("message") or "") if is_unmatched and phase != AddonPhase.PATCH_FAILED else "",
        str(fields.get("message") or ""),
        _blocked(phase, (str(line) for line in status.get("errors") or ())),
    )


def _blocked(phase: object, messages: Iterable[str]) -> str:
    is_waiting = phase == AddonPhase.IN_PROGRESS
    return next((message for message in messages if is_waiting and names_pod(message)), "")


def announced_after(announced: ReportedState, state: ReportedState) -> ReportedState:
    """What counts as announced once the news of `state` are published: of a state on the way no more than what it has
    installed and found, unless that makes the phase one of an earlier revision."""
    if not state.is_on_the_way:
        goes_on = announced.revision == state.revision and not state.is_current
        # The kubelet's words alternate (ErrImagePull, ImagePullBackOff), and each new Pod has another name.
        return replace(state, blocked=announced.blocked or state.blocked) if goes_on else state
    kept = announced if announced.revision == state.revision else ReportedState()
    return replace(state, phase=kept.phase, reason=kept.reason, message=kept.message, blocked=kept.blocked)


def news_of(unit: str, announced: ReportedState, state: ReportedState) -> Iterator[Notice]:
    """The notices of a change from what was announced last."""
    if state.revision and state.revision != announced.revision:
        where = f" of the channel {state.channel}" if state.channel and not state.is_rollback else ""
        how = " again by a rollback" if state.is_rollback else ""
        text = f"version {state.version}{where} is applied{how}, revision {state.revision}"
        yield Notice(unit, "Applied", text, bad=False, is_state=True)
    if state.available and state.available != announced.available:
        text = f"version {state.available} is available; {state.version or 'no version'} is installed"
        yield Notice(unit, "UpdateAvailable", text, bad=False)
    if state.unmatched and state.unmatched != announced.unmatched:
        yield Notice(unit, "PatchFailed", f"a patch is left out: {state.unmatched}")
    if state.unknown and state.unknown != announced.unknown:
        yield Notice(unit, "UnknownFields", state.unknown)
    of_phase = [*_news_of_phase(unit, announced, state)] if _is_news(announced, state) else []
    yield from of_phase
    was_blocked = announced.blocked and announced.revision == state.revision
    if state.blocked and not was_blocked and not of_phase:
        yield Notice(unit, "Unhealthy", state.blocked)


def _is_news(announced: ReportedState, state: ReportedState) -> bool:
    """Is it in another phase than was announced? Of a rollout that goes on, each message would be one."""
    if (state.phase, state.reason, state.revision) != (announced.phase, announced.reason, announced.revision):
        return True
    return state.message != announced.message and not (state.is_current or state.phase is AddonPhase.IN_PROGRESS)


def _news_of_phase(unit: str, announced: ReportedState, state: ReportedState) -> Iterator[Notice]:
    if state.is_current:
        yield Notice(unit, "Healthy", state.message, bad=False, is_state=True)
    elif state.phase is AddonPhase.IN_PROGRESS and announced.is_current and announced.revision == state.revision:
        yield Notice(unit, "Unhealthy", state.message, is_state=True)
    elif state.phase is AddonPhase.PENDING:
        yield Notice(unit, "Waiting", state.message, bad=False, is_state=True)
    elif state.phase in _ERRORS:
        yield Notice(unit, str(state.phase), state.message, is_state=True)
    elif state.reason == _APPLY_FAILED:
        yield Notice(unit, _APPLY_FAILED, state.message, is_state=True)
