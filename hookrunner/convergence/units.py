"""Adds instances of addons to convergence while it runs, and removes them without a trace.

A unit has a state, a section of values, a queue with a worker, hooks with their watches and crontabs, a release that is
watched for drift, series of metrics, and a subject of Events. `add` makes the first three and the subject; the others
come with its runs. `remove` is the one place that ends all of them: a new thing that remembers units is dropped there.
"""

from dataclasses import dataclass

from hookrunner.convergence.decisions.hook_values import HookValues
from hookrunner.convergence.plan import OwnBlueprint
from hookrunner.convergence.reactions import UnitRequests
from hookrunner.convergence.runs.release_reconciler import ReleaseReconciler
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.convergence.runs.unit_runner import UnitRunner
from hookrunner.convergence.unit_state import UnitState
from hookrunner.engine.engine import Engine
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.model.resources import ObjectReference
from hookrunner.model.tasks import own_queue
from hookrunner.values.section import LayerSchemas
from hookrunner.values.section_store import SectionStore


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """What else knows units and remembers things of them. Hooks that run when a unit is deleted may go on for `grace`
    seconds."""

    store: SectionStore
    values: HookValues
    engine: Engine
    executor: HookExecutor
    hooks: UnitHooks
    runner: UnitRunner
    releases: ReleaseReconciler
    metrics: Metrics
    grace: float


@dataclass(frozen=True, slots=True)
class NewUnit:
    """An instance as a module that brings a blueprint. Its Events are about `object`; `schemas` are for its values."""

    module: Module
    blueprint: OwnBlueprint
    object: ObjectReference
    schemas: LayerSchemas


class Units:
    """The instances of addons as units."""

    def __init__(self, requests: UnitRequests, memory: UnitMemory) -> None:
        self._states = requests.states
        self._requests = requests
        self._memory = memory

    def add(self, unit: NewUnit) -> UnitState:
        """Add a unit, which is on and runs when it is requested. Raises BadModule if its name is taken."""
        state = self._states.add(unit.module, unit.blueprint)
        name = unit.module.name
        self._memory.store.add(unit.module.section, unit.module.key, unit.schemas)
        self._memory.values.add(name, unit.blueprint)
        self._memory.engine.open(own_queue(name), self._requests.tasks.carry_out)
        self._states.notices.begin(name, unit.object)
        state.decide(Decision(Choice.ON, "Addon"))
        return state

    def request(self, state: UnitState, cause: str) -> None:
        """Run it: at once, or in the first round, which begins with the global hooks."""
        if state.on and (state.turn or self._requests.converge.has_decided):
            self._requests.tasks.request(state, cause)

    async def delete(self, state: UnitState, cause: str) -> None:
        """Delete what it has installed; returns when that is done. Failed attempts are repeated. The unit stays until
        `remove`: its Events and its status may have more to say."""
        state.decide(Decision(Choice.OFF, "Addon", cause))
        state.mark_live()
        self._memory.store.hold(state.module.section)
        self._memory.hooks.disarm_schedules(state)
        self._memory.executor.deadlines.set(state.module.name, self._memory.grace)
        self._requests.tasks.request_deletion(state, cause)
        while state.live:
            await self._states.changed.next()

    def hurry_deletion(self, state: UnitState, cause: str) -> None:
        """Make the next attempt of a deletion that has failed at once: its object has changed."""
        if state.live and state.parked:
            self._requests.tasks.request_deletion(state, cause)

    async def remove(self, state: UnitState) -> None:
        """Remove a unit, and leave what it has installed as it is. An attempt that is under way ends before; no such
        attempt may call this."""
        name, memory = state.module.name, self._memory
        state.decide(Decision(Choice.UNDECIDED, "Addon", "removed"))
        memory.hooks.forget(state)
        await memory.engine.close(own_queue(name))
        memory.hooks.forget(state)  # those that the last attempt has loaded
        await memory.executor.forget_module(name)
        memory.releases.forget(state)
        memory.runner.forget(state)
        memory.values.remove(name)
        memory.store.remove(state.module.section)
        memory.metrics.forget_module(name, own_queue(name))
        self._states.notices.end(name)
        self._states.remove(state)
