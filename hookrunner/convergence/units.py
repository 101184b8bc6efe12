"""Adds units to convergence while it runs, instances of addons, and removes them without a trace.

A unit has a state, a section of values, a queue with a worker, hooks with their watches and crontabs, a release that is
watched for drift, series of metrics, and a subject of Events. `add` makes the first three and the subject; the others
come with its runs. `remove` is the one place that ends all of them: a new thing that remembers units is dropped there.
"""

from collections.abc import Callable

from hookrunner.convergence.decisions.hook_values import HookSubject, HookValues
from hookrunner.convergence.plan import Planner, Planners
from hookrunner.convergence.runs.seams import Definitions
from hookrunner.convergence.runs.unit_runner import UnitParts, UnitRunner
from hookrunner.convergence.runs.unit_tasks import UnitTasks
from hookrunner.convergence.seams import ForgetfulExecutor, Rounds
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.engine import Engine
from hookrunner.engine.workers import Queues
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.resources import ObjectReference
from hookrunner.model.tasks import own_queue
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Unit
from hookrunner.values.section import LayerSchemas
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnitWorld:
    """What units live with: what runs them, and what remembers them. Hooks that run when a unit is deleted may go on
    for `grace` seconds; `clock` gives the monotonic seconds of patience."""

    states: UnitStates
    parts: UnitParts
    planners: Planners
    definitions: Definitions
    values: HookValues
    engine: Engine
    executor: ForgetfulExecutor
    queues: Queues
    metrics: Metrics
    clock: Callable[[], float]
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
    """The units that come and go: instances of addons. `tasks` are their runs."""

    def __init__(self, world: UnitWorld, runner: UnitRunner, tasks: UnitTasks, rounds: Rounds) -> None:
        self._states = world.states
        self._world = world
        self._runner = runner
        self.tasks = tasks
        self._rounds = rounds

    def add(self, new: NewUnit) -> UnitState:
        """Add a unit, which is on and runs from `start` on. Raises BadModule if its name is taken."""
        unit, world = new.unit, self._world
        state = self._states.add(unit, new.release)
        world.planners.add(unit.name, new.planner)
        world.parts.store.add(unit.section, unit.key, new.schemas)
        world.values.add(unit.name, new.subject)
        world.engine.open(own_queue(unit.name), self.tasks.carry_out)
        self._states.notices.begin(unit.name, new.object)
        state.choose(Choice.ON)
        return state

    def start(self, state: UnitState, cause: str) -> None:
        """Run it for the first time: at once, or in its turn in the first round, which begins with the global hooks."""
        if self._rounds.has_decided:
            self.tasks.give_turn(state, cause)

    async def delete(self, state: UnitState, cause: str) -> None:
        """Delete what it has installed; returns when that is done. Failed attempts are repeated. The unit stays until
        `remove`: its Events and its status may have more to say."""
        state.choose(Choice.OFF)
        state.mark_live()
        self._world.parts.store.hold(state.unit.section)
        self._world.parts.hooks.disarm_schedules(state)
        self._world.executor.deadlines.set(state.name, self._world.grace)
        self.tasks.request_deletion(state, cause)
        while state.live:
            await self._states.changed.next()

    def hurry_deletion(self, state: UnitState, cause: str) -> None:
        """Make the next attempt of a deletion that has failed at once: its object has changed."""
        if state.live and state.parked:
            self.tasks.request_deletion(state, cause)

    async def remove(self, state: UnitState) -> None:
        """Remove a unit, and leave what it has installed as it is. An attempt that is under way ends before; no such
        attempt may call this."""
        name, world = state.name, self._world
        state.choose(Choice.UNDECIDED)
        world.parts.hooks.forget(state)
        await world.engine.close(own_queue(name))
        world.parts.hooks.forget(state)  # those that the last attempt has loaded
        await world.executor.forget_module(name)
        world.parts.releases.forget(state)
        self._runner.forget(state)
        self.tasks.forget(name)
        world.planners.remove(name)
        world.values.remove(name)
        world.parts.store.remove(state.unit.section)
        world.metrics.forget_module(name, own_queue(name))
        self._states.notices.end(name)
        self._states.remove(state)
