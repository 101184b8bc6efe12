"""What is shown of modules: conditions for `/readyz`, rows for `module list`, how far the converge is, gauges at each
scrape. Reading changes nothing."""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from hookrunner.convergence.converge import Converge
from hookrunner.convergence.decisions.config_object import ConfigSources
from hookrunner.convergence.decisions.configuration import NOTHING_LOST
from hookrunner.convergence.decisions.module_decisions import ModuleDecisions
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.runs.release_reconciler import ReleaseReconciler
from hookrunner.convergence.runs.unit_releases import Leftovers
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.engine import Engine
from hookrunner.engine.workers import Queues
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import GLOBAL, Choice, Module, Phase
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import IGNORED, ConvergeDump, ModuleDump, some
from hookrunner.model.tasks import HookRun, Order, Task, UnitTask
from hookrunner.model.unit_state import NOT_YET, ModuleState, UnitState
from hookrunner.modules.enabled import REQUIRES
from kubetypes.light_dataclasses import dataclass

DONE, IN_PROGRESS = "Startup converge done.", "Startup converge in progress"
"""The predecessor's words, for probes and scripts that look for them."""

_LONG = 30.0
"""Seconds for which a module may be at work before that is reported as trouble."""

_AT: Mapping[Phase, str] = {
    Phase.STARTUP: "its onStartup hooks run",
    Phase.ON_STARTUP_DONE: "its watches begin",
    Phase.QUEUE_SYNCHRONIZATION_TASKS: "its Synchronizations run",
    Phase.WAIT_FOR_SYNCHRONIZATION: "its Synchronizations run",
    Phase.ENABLE_SCHEDULE_BINDINGS: "its schedules open",
    Phase.CAN_RUN_HELM: "its hooks run, or its release is applied",
}
"""What a module does that has reached this phase."""

_Samples: TypeAlias = Iterator[tuple[LabelValues, float]]

_ACTION = "hookrunner module list"
_CONFIGURE = "correct it in the cluster; its Events: kubectl describe"
_MAINTAINED = "its objects are left as they are: maintenance is NoResourceReconciliation"

REJECTED = "rejected"
"""What `module list` says about a directory that cannot be a module."""


@dataclass(frozen=True, slots=True)
class StatusSources:
    """What else is shown: decisions and the configuration they come from, releases, directories that cannot be modules,
    what was purged of an earlier process, hooks that never run here, and whether the API server answers."""

    decisions: ModuleDecisions
    releases: ReleaseReconciler
    sources: ConfigSources
    rejected: tuple[Module, ...]
    leftovers: Leftovers
    compiled: CompiledHooks
    outage: Outage


class ModulesStatus:
    """Views of all modules."""

    def __init__(self, states: UnitStates, converge: Converge, more: StatusSources, queues: Queues) -> None:
        self._states = states
        self._converge = converge
        self._more = more
        self._queues = queues

    @property
    def converged(self) -> bool:
        """Is the first converge over?"""
        return self._converge.converged.is_set()

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """Ready when every enabled module was ready or set aside once. Modules that are set aside are named; they hold
        up no other."""
        return {
            "converge": (self.converged, DONE if self.converged else f"{IN_PROGRESS}: {self._progress()}"),
            "modules": (True, "; ".join(map(str, self._troubles(failing_hooks(self._queues))))),
            "configuration": (True, "; ".join(need.message for need in self._complaints())),
            "purge": (True, self._more.leftovers.result),
        }

    def needs(self) -> Iterator[UserNeed]:
        """What needs the user: the same, each on its own, and modules whose objects are left alone on request. The
        engine reports failing hooks."""
        yield from self._troubles({})
        yield from self._complaints()
        for name, advice in self._more.leftovers.retired.items():
            yield UserNeed(Urgency.ADVICE, "purge", name, advice, "see docs/retired-modules.md")
        for state in self._states.enabled:
            if self._more.decisions.configuration.is_maintained(state.unit.key):
                yield _need(state, _MAINTAINED, Urgency.ADVICE)

    def converge(self) -> ConvergeDump:
        """How far the present round is; one that is about to enqueue tasks counts as one task."""
        if not self.converged and not self._converge.has_begun:
            return ConvergeDump()
        tasks = sum(_converges(task.order) for queue in self._queues for task in queue)
        return ConvergeDump(True, self.converged, tasks + (self._converge.is_busy or not (tasks or self.converged)))

    def rows(self) -> list[ModuleDump]:
        """All modules in their order, then the directories that cannot be one."""
        refused, failing = self._more.decisions.configuration.refused, failing_hooks(self._queues)
        rows = list[ModuleDump]()
        for state in self._states.modules:
            section, fails = str(refused.get(state.unit.key, "")), failing.get(state.name, "")
            rows.append(_row(state, section, fails, self._more))
        return [*rows, *map(_rejected_row, self._more.rejected)]

    def _progress(self) -> str:
        if doubt := self._more.decisions.doubt:
            return doubt
        waiting = [state.name for state in self._states.units if state.on and not state.ready]
        names = f"; not ready: {', '.join(waiting)}" if waiting else ""
        return (self._converge.phase or "waiting for global hooks") + names

    def _troubles(self, failing: Mapping[str, str]) -> Iterator[UserNeed]:
        """`failing` are hooks' failures by module, which are named where nothing else is wrong."""
        if lacking := self._more.compiled.shared:
            yield UserNeed(Urgency.ADVICE, "modules", GLOBAL, lacking, _ACTION)
        attempts = self._attempts()
        for state in self._states.modules:
            if not state.error and (lacking := self._more.compiled.lacking(state)):
                yield _need(state, lacking, Urgency.ADVICE)
            if text := reason(state):
                failures, again = attempts.get(state.name, (0, 0.0))
                yield replace(_need(state, text, _urgency(state)), failures=failures, again=again)
            elif text := failing.get(state.name) or _unmet(state) or work(state, _LONG):
                yield _need(state, text, Urgency.WAITING)
            yield from self._release_troubles(state)
        for module in self._more.rejected:
            yield UserNeed(Urgency.FAILING, "modules", str(module.directory), module.problem, _ACTION)

    def _release_troubles(self, state: ModuleState) -> Iterator[UserNeed]:
        """What is wrong with its release while the module itself may be ready."""
        if text := pinned(state):
            yield _need(state, text, Urgency.WAITING)
        if drift := self._more.releases.drift(state):
            yield _need(state, f"not as applied: {some([*map(str, drift)])}", Urgency.ADVICE)
        if unknown := state.release.unknown_fields:
            yield _need(state, f"{IGNORED}: {some(unknown)}", Urgency.ADVICE)
        for problem in self._more.releases.problems(state):
            yield _need(state, problem, Urgency.FAILING)

    def _attempts(self) -> dict[str, tuple[int, float]]:
        """Of modules whose run failed: how often in a row, and when the next attempt is."""
        failed = ((queue, task) for queue in self._queues for task in queue if task.failures)
        runs = ((queue, task, task.order) for queue, task in failed)
        return {
            order.unit: (task.failures, queue.next_attempt(task))
            for queue, task, order in runs
            if isinstance(order, UnitTask)
        }

    def _complaints(self) -> Iterator[UserNeed]:
        configuration = self._more.decisions.configuration
        if configuration.unseen:
            yield UserNeed(Urgency.CRITICAL, "configuration", "", configuration.unseen, _CONFIGURE)
        for source in self._more.sources:
            if source.unseen and source.is_known:
                yield UserNeed(Urgency.FAILING, "configuration", "", f"{source}: {source.unseen}", _CONFIGURE)
        if not configuration.unseen:
            for missing in self._more.sources.missing:
                forecast = configuration.forecast(missing)
                urgency = Urgency.ADVICE if forecast.endswith(NOTHING_LOST) else Urgency.CRITICAL
                yield UserNeed(urgency, "configuration", "", forecast, _CONFIGURE)
        for error in configuration.refused.values():
            yield UserNeed(Urgency.FAILING, "configuration", "", str(error), _CONFIGURE)


def _need(state: ModuleState, message: str, urgency: Urgency) -> UserNeed:
    return UserNeed(urgency, "modules", state.name, message, _ACTION)


def _urgency(state: ModuleState) -> Urgency:
    """Of the reason why a module is not ready."""
    undecided = state.decision.choice is Choice.UNDECIDED and state.decision != NOT_YET
    return Urgency.FAILING if undecided or state.error else Urgency.WAITING


def _converges(order: Order) -> bool:
    """Does a round wait for this task?"""
    if isinstance(order, HookRun):
        return order.binding_type in (BindingType.BEFORE_ALL, BindingType.AFTER_ALL)
    return isinstance(order, UnitTask)


def reason(state: ModuleState) -> str:
    """Why a module is not ready; empty if it is."""
    if state.decision.choice is Choice.UNDECIDED and state.decision.by + state.decision.reason:
        return f"undecided: {state.decision.reason}"
    if state.error:
        return state.error
    return f"waits for {state.waits_for}" if state.on and state.waits_for else ""


def work(state: ModuleState, long: float = 0.0) -> str:
    """What a module is doing; empty if it has nothing to do, or has been busy for less than so many seconds."""
    lasts = time.monotonic() - state.busy_since if state.on and state.busy_since is not None else -1.0
    if lasts < long or state.phase not in _AT:
        return ""
    ready = " and its objects get ready" if state.module.traits.wait and state.phase is Phase.CAN_RUN_HELM else ""
    return f"at it for {lasts:.0f} s: {_AT[state.phase]}{ready}"


def failing_hooks(queues: Iterable[Iterable[Task]]) -> dict[str, str]:
    """By module: the first of its hooks that failed for an event or a schedule and waits for its next attempt, and how
    it failed."""
    failing = dict[str, str]()
    for task in itertools.chain.from_iterable(queues):
        order = task.order
        if isinstance(order, HookRun) and order.module and task.failures:
            failing.setdefault(order.module, f"{order.hook} {task.failure}")
    return failing


def pinned(state: UnitState) -> str:
    """That its objects are those of an earlier revision, and why; empty if they are not."""
    if not (state.on and state.release.is_pinned):
        return ""
    until = state.unit.kind.pinned_until
    return f"revision {state.release.revision} is an earlier one, brought back on request until {until}"


def _unmet(state: ModuleState) -> str:
    """Why a module that was turned on is off nevertheless: it requires another module or another cluster."""
    decision = state.decision
    return f"off: {decision.reason}" if decision.choice is Choice.OFF and decision.by == REQUIRES else ""


def _row(state: ModuleState, refused: str, failing: str, more: StatusSources) -> ModuleDump:
    bad, good = reason(state) or failing or work(state), more.compiled.lacking(state) or state.decision.reason
    return ModuleDump(
        name=state.name,
        weight=state.module.weight,
        version=state.module.traits.version,
        state=state.decision.choice,
        by=state.decision.by,
        phase=state.phase if state.on or state.live else "",
        ready=state.on and state.complete and not state.waits_for,
        reason=bad or pinned(state) or good,
        revision=state.release.revision,
        since=state.since,
        last_success=state.last_success,
        drift=tuple(map(str, more.releases.drift(state))),
        records=tuple(more.releases.problems(state)),
        refused=refused,
        lacks=state.module.compiled,
        unknown_fields=state.release.unknown_fields,
        unseen_since=more.outage.since if state.live else 0.0,
    )


def _rejected_row(module: Module) -> ModuleDump:
    """The row of a directory that cannot be a module."""
    reason = f"{module.directory}: {module.problem}"
    return ModuleDump(module.name, module.weight, module.traits.version, REJECTED, reason=reason)


@dataclass(frozen=True, slots=True)
class ModuleGauges:
    """The present state of all modules."""

    states: UnitStates
    decisions: ModuleDecisions
    releases: ReleaseReconciler
    queues: Queues
    engine: Engine

    def export(self, metrics: Metrics) -> None:
        """Let the gauges be read at each scrape."""
        metrics.mm_module_info.from_function(self._infos)
        metrics.mm_module_enabled.from_function(self._enabled)
        metrics.telemetry_module_enabled.from_function(self._enabled)
        metrics.mm_module_maintenance.from_function(self._maintained)
        metrics.config_values_errors.from_function(lambda: [((), self.decisions.configuration.trouble.count)])
        metrics.config_values_refused.from_function(self._refused)
        metrics.modules_discover_errors.from_function(lambda: [((), self.decisions.failures)])
        metrics.tasks_queue_head_info.from_function(self._heads)
        metrics.binding_count.from_function(self._bindings)
        metrics.module_phase.from_function(self._phases)
        metrics.module_last_success_timestamp_seconds.from_function(self._successes)
        metrics.module_drift.from_function(self._drifted)

    def _infos(self) -> _Samples:
        for state in self.states.modules:
            yield (state.name, _word(state.on), _word(state.module.traits.critical)), 1

    def _enabled(self) -> _Samples:
        for state in self.states.enabled:
            if version := state.module.traits.version:
                yield (state.name, version), 1

    def _maintained(self) -> _Samples:
        for state in self.states.modules:
            if self.decisions.configuration.is_maintained(state.unit.key):
                yield (state.name, "NoResourceReconciliation"), 1

    def _bindings(self) -> _Samples:
        own = (hook for hook in self.engine.hooks.values() if hook.module == GLOBAL)
        for hook in (*own, *(hook for state in self.states.units for hook in state.hooks)):
            yield (*hook.owner, hook.label), hook.config.count

    def _phases(self) -> _Samples:
        for state in self.states.modules:
            if state.live or state.decision.choice is not Choice.OFF:
                yield (state.name, state.phase, _brief(state)), 1

    def _successes(self) -> _Samples:
        for state in self.states.modules:
            if state.last_success:
                yield (state.name,), state.last_success

    def _drifted(self) -> _Samples:
        for state in self.states.modules:
            yield (state.name,), len(self.releases.drift(state))

    def _refused(self) -> _Samples:
        for key in self.decisions.configuration.refused:
            yield (key,), 1

    def _heads(self) -> _Samples:
        for queue in self.queues:
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
