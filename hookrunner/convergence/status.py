"""What is shown of modules: conditions for `/readyz`, rows for `module list`, how far the converge is
(addon-operator.md §8.3, §8.4). Reading changes nothing."""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hookrunner.convergence.converge import Rounds
from hookrunner.convergence.decisions.module_decisions import Deciding
from hookrunner.convergence.decisions.sources import Sources
from hookrunner.convergence.runs.compiled import CompiledHooks
from hookrunner.convergence.runs.leftovers import Leftovers
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.queue_set import Queues
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Choice, Module, Phase
from hookrunner.model.status import ConvergeDump, ModuleDump, some
from hookrunner.model.tasks import HookRun, ModuleTask, Order, Task
from hookrunner.model.values import GLOBAL
from hookrunner.modules.enabled import REQUIRES

DONE, IN_PROGRESS = "Startup converge done.", "Startup converge in progress"
"""The predecessor's words, for probes and scripts that look for them (§8.3)."""

_LONG = 30.0
"""Seconds for which a module may be at it before that is told as trouble."""

_AT: Mapping[Phase, str] = {
    Phase.STARTUP: "its onStartup hooks run",
    Phase.ON_STARTUP_DONE: "its watches begin",
    Phase.QUEUE_SYNCHRONIZATION_TASKS: "its Synchronizations run",
    Phase.WAIT_FOR_SYNCHRONIZATION: "its Synchronizations run",
    Phase.ENABLE_SCHEDULE_BINDINGS: "its schedules open",
    Phase.CAN_RUN_HELM: "its hooks run, or its release is applied",
}
"""What a module does that has come as far as this."""

REJECTED = "rejected"
"""What `module list` says of a directory that is no module."""


@dataclass(frozen=True, slots=True)
class Known:
    """What else is told: decisions and the configuration they come from, releases, directories that are no modules, and
    what became of what an earlier life had left, hooks that never run here."""

    deciding: Deciding
    releasing: Releasing
    sources: Sources
    rejected: tuple[Module, ...]
    leftovers: Leftovers
    compiled: CompiledHooks


class ModulesStatus:
    """Views of all modules."""

    def __init__(self, states: ModuleStates, rounds: Rounds, known: Known, queues: Queues) -> None:
        self._states = states
        self._rounds = rounds
        self._known = known
        self._queues = queues

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
            "purge": (True, self._known.leftovers.purge),
        }

    def converge(self) -> ConvergeDump:
        """How far the present pass over all modules is; one that is about to ask for tasks counts as one."""
        if not self.converged and not self._rounds.begun:
            return ConvergeDump()
        tasks = sum(_converges(task.order) for queue in self._queues for task in queue)
        return ConvergeDump(True, self.converged, tasks + (self._rounds.busy or not (tasks or self.converged)))

    def rows(self) -> list[ModuleDump]:
        """All modules in their order, then the directories that can be none."""
        refused, failing = self._known.deciding.refused, failing_hooks(self._queues)
        rows = list[ModuleDump]()
        for state in self._states:
            section, fails = str(refused.get(state.module.key, "")), failing.get(state.module.name, "")
            rows.append(_row(state, section, fails, self._known))
        return [*rows, *map(_rejected_row, self._known.rejected)]

    def _progress(self) -> str:
        if doubt := self._known.deciding.doubt:
            return doubt
        waiting = [state.module.name for state in self._states.enabled if not state.ready]
        names = f"; not ready: {', '.join(waiting)}" if waiting else ""
        return (self._rounds.phase or "waiting for global hooks") + names

    def _troubles(self) -> Iterator[str]:
        failing = failing_hooks(self._queues)
        if lacking := self._known.compiled.shared:
            yield f"{GLOBAL}: {lacking}"
        for state in self._states:
            if not state.error and (lacking := self._known.compiled.lacking(state)):
                yield f"{state.module.name}: {lacking}"
            if text := reason(state) or failing.get(state.module.name) or _unmet(state) or work(state, _LONG):
                yield f"{state.module.name}: {text}"
            if text := pinned(state):
                yield f"{state.module.name}: {text}"
            if drift := self._known.releasing.drift(state):
                yield f"{state.module.name}: not as applied: {some([*map(str, drift)])}"
            for problem in self._known.releasing.problems(state):
                yield f"{state.module.name}: {problem}"
        for module in self._known.rejected:
            yield f"{module.directory}: {module.problem}"

    def _complaints(self) -> Iterator[str]:
        deciding = self._known.deciding
        if deciding.unseen:
            yield deciding.unseen
        for source in self._known.sources:
            if source.unseen and source.is_known:
                yield f"{source}: {source.unseen}"
        if not deciding.unseen:
            yield from map(deciding.forecast, self._known.sources.missing)
        for error in deciding.refused.values():
            yield str(error)


def _converges(order: Order) -> bool:
    """Does a pass over all modules wait for this?"""
    if isinstance(order, HookRun):
        return order.binding_type in (BindingType.BEFORE_ALL, BindingType.AFTER_ALL)
    return isinstance(order, ModuleTask)


def reason(state: ModuleState) -> str:
    """Why a module is not as it should be; empty if it is."""
    if state.decision.choice is Choice.UNDECIDED and state.decision.by + state.decision.reason:
        return f"undecided: {state.decision.reason}"
    if state.error:
        return state.error
    return f"waits for {state.waits_for}" if state.on and state.waits_for else ""


def work(state: ModuleState, long: float = 0.0) -> str:
    """What a module is at, empty if it has nothing to do, or that not for so many seconds yet."""
    lasts = time.monotonic() - state.busy_since if state.on and state.busy_since is not None else -1.0
    if lasts < long or state.phase not in _AT:
        return ""
    ready = " and its objects get ready" if state.module.traits.wait and state.phase is Phase.CAN_RUN_HELM else ""
    return f"at it for {lasts:.0f} s: {_AT[state.phase]}{ready}"


def failing_hooks(queues: Iterable[Iterable[Task]]) -> dict[str, str]:
    """By module: the first of its hooks that waits to be tried again beside its module's runs, for an event or a
    schedule, and how it failed."""
    failing = dict[str, str]()
    for task in itertools.chain.from_iterable(queues):
        order = task.order
        if isinstance(order, HookRun) and order.module and task.failures:
            times = "once" if task.failures == 1 else f"{task.failures} times"
            error = task.error.removeprefix(f"{order.hook} FAILED: ")
            failing.setdefault(order.module, f"{order.hook} has failed {times} for {order.binding}: {error}")
    return failing


def pinned(state: ModuleState) -> str:
    """That its objects are not what its values say, and why; empty if they are."""
    if not (state.on and state.pinned):
        return ""
    return f"revision {state.revision} is an earlier one, brought back on request until its values or its chart change"


def _unmet(state: ModuleState) -> str:
    """Why a module that somebody has turned on is off nevertheless, for want of another one or another cluster."""
    decision = state.decision
    return f"off: {decision.reason}" if decision.choice is Choice.OFF and decision.by == REQUIRES else ""


def _row(state: ModuleState, refused: str, failing: str, known: Known) -> ModuleDump:
    bad, good = reason(state) or failing or work(state), known.compiled.lacking(state) or state.decision.reason
    return ModuleDump(
        name=state.module.name,
        weight=state.module.weight,
        version=state.module.traits.version,
        state=state.decision.choice,
        by=state.decision.by,
        phase=state.phase if state.on or state.live else "",
        ready=state.on and state.ready and not state.waits_for,
        reason=bad or pinned(state) or good,
        revision=state.revision,
        since=state.since,
        last_success=state.last_success,
        drift=tuple(map(str, known.releasing.drift(state))),
        records=tuple(known.releasing.problems(state)),
        refused=refused,
        lacks=state.module.compiled,
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
