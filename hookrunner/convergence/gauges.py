"""Gauges of modules, read at each scrape. Reading changes nothing."""

from collections.abc import Iterator
from typing import TypeAlias

from hookrunner.convergence.decisions.module_decisions import ModuleDecisions
from hookrunner.convergence.runs.release_reconciler import ReleaseReconciler
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.engine import Engine
from hookrunner.engine.workers import Queues
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.modules import GLOBAL, Choice

Samples: TypeAlias = Iterator[tuple[LabelValues, float]]


class ModuleGauges:
    """The present state of all modules."""

    def __init__(
        self,
        states: ModuleStates,
        decisions: ModuleDecisions,
        releases: ReleaseReconciler,
        queues: Queues,
        engine: Engine,
    ) -> None:
        self._states = states
        self._decisions = decisions
        self._releases = releases
        self._queues = queues
        self._engine = engine

    def export(self, metrics: Metrics) -> None:
        """Let the gauges be read at each scrape."""
        metrics.mm_module_info.from_function(self._infos)
        metrics.mm_module_enabled.from_function(self._enabled)
        metrics.telemetry_module_enabled.from_function(self._enabled)
        metrics.mm_module_maintenance.from_function(self._maintained)
        metrics.config_values_errors.from_function(self._errors)
        metrics.config_values_refused.from_function(self._refused)
        metrics.modules_discover_errors.from_function(self._failures)
        metrics.tasks_queue_head_info.from_function(self._heads)
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
            if self._decisions.is_maintained(state.module.key):
                yield (state.module.name, "NoResourceReconciliation"), 1

    def _bindings(self) -> Samples:
        own = (hook for hook in self._engine.hooks.values() if hook.module == GLOBAL)
        for hook in (*own, *(hook for state in self._states for hook in state.hooks)):
            yield (*hook.owner, hook.label), hook.config.count

    def _phases(self) -> Samples:
        for state in self._states:
            if state.live or state.decision.choice is not Choice.OFF:
                yield (state.module.name, state.phase, _brief(state)), 1

    def _successes(self) -> Samples:
        for state in self._states:
            if state.last_success:
                yield (state.module.name,), state.last_success

    def _drifted(self) -> Samples:
        for state in self._states:
            yield (state.module.name,), len(self._releases.drift(state))

    def _errors(self) -> Samples:
        yield (), self._decisions.trouble.count

    def _failures(self) -> Samples:
        yield (), self._decisions.failures

    def _refused(self) -> Samples:
        for key in self._decisions.refused:
            yield (key,), 1

    def _heads(self) -> Samples:
        for queue in self._queues:
            for task in list(queue)[:1]:
                order = task.order
                yield (queue.name, *(order.owner or ("",)), order.name, order.label), 1


def _brief(state: ModuleState) -> str:
    """One of a few words, for a label: full texts would make a series of every message."""
    if state.decision.choice is Choice.UNDECIDED:
        return "undecided"
    if state.error:
        return "failed"
    return "waits" if state.waits_for else ""


def _word(value: bool) -> str:
    return "true" if value else "false"
