"""What is shown of modules: conditions for `/readyz`, rows for `module list`, gauges for `/metrics`, documents for the
debug endpoint (addon-operator.md §8). Reading changes nothing."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hookrunner.convergence.deciding import Deciding
from hookrunner.convergence.objects import ConfigObject
from hookrunner.convergence.rounds import Rounds
from hookrunner.convergence.state import State, States
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.modules import Choice, Module
from hookrunner.model.status import ModuleDump

Samples: TypeAlias = Iterator[tuple[LabelValues, float]]

DONE, IN_PROGRESS = "Startup converge done.", "Startup converge in progress"
"""The predecessor's words, for probes and scripts that look for them (§8.3)."""


REJECTED = "rejected"
"""What `module list` says of a directory that is no module."""


class ModulesStatus:
    """Views of all modules."""

    def __init__(
        self,
        states: States,
        rounds: Rounds,
        deciding: Deciding,
        config: ConfigObject,
        rejected: Sequence[Module],
    ) -> None:
        self._rejected = rejected
        self._states = states
        self._rounds = rounds
        self._deciding = deciding
        self._config = config

    @property
    def converged(self) -> bool:
        """Is the first converge over?"""
        return self._rounds.converged.is_set()

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """Ready when every enabled module was ready or set aside once; who is set aside is told, and hinders nobody."""
        return {
            "converge": (self.converged, DONE if self.converged else f"{IN_PROGRESS}: {self._progress()}"),
            "modules": (True, "; ".join(self._troubles())),
            "configuration": (True, "; ".join(self._complaints())),
        }

    def rows(self) -> list[ModuleDump]:
        """All modules in their order, then the directories that can be none."""
        return [*map(_row, self._states), *map(_rejected_row, self._rejected)]

    def _progress(self) -> str:
        waiting = [state.module.name for state in self._states.enabled if not state.ready]
        names = f"; not ready: {', '.join(waiting)}" if waiting else ""
        return (self._rounds.phase or "waiting for global hooks") + names

    def _troubles(self) -> Iterator[str]:
        for state in self._states:
            if text := reason(state):
                yield f"{state.module.name}: {text}"
        for module in self._rejected:
            yield f"{module.directory}: {module.problem}"

    def _complaints(self) -> Iterator[str]:
        for source in (self._deciding.unseen, self._config.unseen):
            if source:
                yield f"{self._config}: {source}"
        for error in self._deciding.refused.values():
            yield str(error)

    def export(self, metrics: Metrics) -> None:
        """Let the gauges be read at each scrape."""
        metrics.mm_module_info.from_function(self._infos)
        metrics.mm_module_enabled.from_function(self._enabled)
        metrics.mm_module_maintenance.from_function(self._maintained)
        metrics.binding_count.from_function(self._bindings)
        metrics.module_phase.from_function(self._phases)
        metrics.module_last_success_timestamp_seconds.from_function(self._successes)
        metrics.module_drift.from_function(self._drifted)

    def _infos(self) -> Samples:
        for state in self._states:
            yield (state.module.name, _word(state.on), _word(state.module.traits.critical)), 1

    def _enabled(self) -> Samples:
        for state in self._states.enabled:
            if version := state.module.traits.version:
                yield (state.module.name, version), 1

    def _maintained(self) -> Samples:
        for state in self._states:
            if self._deciding.maintained(state.module.key):
                yield (state.module.name, "NoResourceReconciliation"), 1

    def _bindings(self) -> Samples:
        for state in self._states:
            for hook in state.hooks:
                yield (state.module.name, hook.label), hook.config.count

    def _phases(self) -> Samples:
        for state in self._states:
            if state.on or state.live:
                yield (state.module.name, state.phase, _brief(state)), 1

    def _successes(self) -> Samples:
        for state in self._states:
            if state.last_success:
                yield (state.module.name,), state.last_success

    def _drifted(self) -> Samples:
        for state in self._states:
            for name in state.drift:
                yield (state.module.name, name), 1


def reason(state: State) -> str:
    """Why a module is not as it should be; empty if it is."""
    if state.decision.choice is Choice.UNDECIDED and state.decision.by + state.decision.reason:
        return f"undecided: {state.decision.reason}"
    if state.error:
        return state.error
    return f"waits for {state.waits_for}" if state.on and state.waits_for else ""


def _row(state: State) -> ModuleDump:
    return ModuleDump(
        name=state.module.name,
        weight=state.module.weight,
        version=state.module.traits.version,
        state=state.decision.choice,
        by=state.decision.by,
        phase=state.phase if state.on or state.live else "",
        ready=state.on and state.ready and not state.waits_for,
        reason=reason(state) or state.decision.reason,
        revision=state.revision,
        since=state.since,
        last_success=state.last_success,
        drift=tuple(map(str, state.drift.values())),
    )


def _rejected_row(module: Module) -> ModuleDump:
    """Of a directory that no module is made of."""
    return ModuleDump(
        name=module.name,
        weight=module.weight,
        version=module.traits.version,
        state=REJECTED,
        by="",
        phase="",
        ready=False,
        reason=f"{module.directory}: {module.problem}",
        revision=0,
        since=0.0,
        last_success=0.0,
    )


def _brief(state: State) -> str:
    """One of few words, for a label: full texts would make a series of every message."""
    if state.decision.choice is Choice.UNDECIDED:
        return "undecided"
    if state.error:
        return "failed"
    return "waits" if state.waits_for else ""


def _word(value: bool) -> str:
    return "true" if value else "false"
