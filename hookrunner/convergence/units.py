"""Adds units to convergence while it runs, instances of addons, and removes them without a trace.

A unit has a state, a section of values, a queue with a worker, hooks with their watches and crontabs, a release that is
watched for drift, series of metrics, and a subject of Events. `add` makes the first three and the subject; the others
come with its runs. `remove` is the one place that ends all of them: a new thing that remembers units is dropped there.
"""

from dataclasses import dataclass

from hookrunner.convergence.decisions.hook_values import HookSubject, HookValues
from hookrunner.convergence.plan import Planner, Planners
from hookrunner.convergence.reactions import UnitRequests
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.convergence.runs.unit_runner import UnitRunner
from hookrunner.convergence.runs.unit_tasks import UnitTasks
from hookrunner.convergence.seams import ForgetfulReleases
from hookrunner.engine.engine import Engine
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.resources import ObjectReference
from hookrunner.model.tasks import own_queue
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Unit
from hookrunner.values.section import LayerSchemas
from hookrunner.values.section_store import SectionStore


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """What else knows units and remembers things of them. Hooks that run when a unit is deleted may go on for `grace`
    seconds."""

    tasks: UnitTasks
    store: SectionStore
    values: HookValues
    engine: Engine
    executor: HookExecutor
    hooks: UnitHooks
    runner: UnitRunner
    releases: ForgetfulReleases
    planners: Planners
    metrics: Metrics
    grace: float


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A unit that comes while others run, with its planner and the `subject` that its hooks know and report to.
    `release` is what is known of its release; its Events are about `object`; `schemas` are for its values."""

    unit: Unit
    planner: Planner
    subject: HookSubject
    release: ReleaseState
    object: ObjectReference
    schemas: LayerSchemas


class Units:
    """The units that come and go: instances of addons."""

    def __init__(self, requests: UnitRequests, memory: UnitMemory) -> None:
        self._states = requests.states
        self._requests = requests
        self._memory = memory

    def add(self, new: NewUnit) -> UnitState:
        """Add a unit, which is on and runs when it is requested. Raises BadModule if its name is taken."""
        unit, memory = new.unit, self._memory
        state = self._states.add(unit, new.release)
        memory.planners.add(unit.name, new.planner)
        memory.store.add(unit.section, unit.key, new.schemas)
        memory.values.add(unit.name, new.subject)
        memory.engine.open(own_queue(unit.name), self._memory.tasks.carry_out)
        self._states.notices.begin(unit.name, new.object)
        state.choose(Choice.ON)
        return state

    def request(self, state: UnitState, cause: str) -> None:
        """Run it: at once, or in the first round, which begins with the global hooks."""
        if state.on and (state.turn or self._requests.converge.has_decided):
            self._memory.tasks.request(state, cause)

    async def delete(self, state: UnitState, cause: str) -> None:
        """Delete what it has installed; returns when that is done. Failed attempts are repeated. The unit stays until
        `remove`: its Events and its status may have more to say."""
        state.choose(Choice.OFF)
        state.mark_live()
        self._memory.store.hold(state.unit.section)
        self._memory.hooks.disarm_schedules(state)
        self._memory.executor.deadlines.set(state.name, self._memory.grace)
        self._memory.tasks.request_deletion(state, cause)
        while state.live:
            await self._states.changed.next()

    def hurry_deletion(self, state: UnitState, cause: str) -> None:
        """Make the next attempt of a deletion that has failed at once: its object has changed."""
        if state.live and state.parked:
            self._memory.tasks.request_deletion(state, cause)

    async def remove(self, state: UnitState) -> None:
        """Remove a unit, and leave what it has installed as it is. An attempt that is under way ends before; no such
        attempt may call this."""
        name, memory = state.name, self._memory
        state.choose(Choice.UNDECIDED)
        memory.hooks.forget(state)
        await memory.engine.close(own_queue(name))
        memory.hooks.forget(state)  # those that the last attempt has loaded
        await memory.executor.forget_module(name)
        memory.releases.forget(state)
        memory.runner.forget(state)
        memory.planners.remove(name)
        memory.values.remove(name)
        memory.store.remove(state.unit.section)
        memory.metrics.forget_module(name, own_queue(name))
        self._states.notices.end(name)
        self._states.remove(state)
