"""The converge: global hooks, then who is on, then definitions, deletions and runs of modules, then global hooks again
(addon-operator.md §5.4, design.md §4.2).

What a user asks for interrupts a round and begins another, since what each module still needs is known per module.
What hooks bring about waits for the end of the round, or there would be none.
"""

import asyncio
import random
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field

from hookrunner import log
from hookrunner.convergence.state import State, States
from hookrunner.convergence.steps import Steps
from hookrunner.convergence.tasks import Tasks
from hookrunner.convergence.turns import Moment, Rules
from hookrunner.engine import dispatch
from hookrunner.engine.engine import Engine
from hookrunner.engine.queues import back_off
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook
from hookrunner.model.modules import Choice
from hookrunner.model.tasks import OPERATOR_STARTUP, HookRun
from hookrunner.model.values import GLOBAL
from hookrunner.modules.order import Order
from hookrunner.timers import timeout_at

_log = log.get("converge")


@dataclass(slots=True)
class _Wanted:
    """Why there is to be another round."""

    causes: list[str] = field(default_factory=list)
    there: asyncio.Event = field(default_factory=asyncio.Event)

    async def within(self, seconds: float | None) -> bool:
        """Wait until there is, so long or for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.there.wait()
        return self.there.is_set()

    def take(self) -> str:
        causes, self.causes = self.causes, []
        self.there.clear()
        return ", ".join(dict.fromkeys(causes))


class Rounds:
    """Runs rounds. `converged` is set when the first is over; `phase` says where the present one is, empty between.
    `deciding_is_past` says that the first has come so far as to say who is on."""

    def __init__(
        self, states: States, tasks: Tasks, steps: Steps, engine: Engine, rules: Rules, metrics: Metrics
    ) -> None:
        self.converged = asyncio.Event()
        self.phase = ""
        self._states = states
        self._tasks = tasks
        self._steps = steps
        self._engine = engine
        self._rules = rules
        self._metrics = metrics
        self._wanted = _Wanted()
        self._urgent = asyncio.Event()
        self._again: dict[str, str] = {}
        self._new: set[str] = set()
        self.deciding_is_past = False
        self._sequence = Order(())
        self._open = False
        self._cause = ""

    @property
    def begun(self) -> bool:
        """Has the first begun?"""
        return bool(self._cause)

    @property
    def busy(self) -> bool:
        """Is a round under way, or wanted?"""
        return bool(self.phase) or self._wanted.there.is_set()

    def ask(self, cause: str, at_once: bool) -> None:
        """Have another round; `at_once` ends the present one where it stands."""
        _log.info("converge is wanted", cause=cause)
        self._wanted.causes.append(cause)
        self._wanted.there.set()
        if at_once:
            self._urgent.set()

    def again(self, state: State, cause: str) -> None:
        """Give a module another turn, as soon as those are ready that it waits for. If its turn is still to come, it
        will find everything as it is then."""
        if state.on and state.turn:
            state.await_turn()
            self._again[state.module.name] = cause
            self._states.moved.happened()

    async def keep(self) -> None:
        """Rounds for ever, as they are asked for; the first when the global hooks have started."""
        await self._engine.started()
        doubts = 0
        while True:
            pause = back_off(doubts, random.random()) if self._steps.deciding.unsure else None
            if not await self._wanted.within(pause):
                doubts += 1
                await self._reconsider()
                continue
            doubts = 0
            self._urgent.clear()
            cause = self._wanted.take()
            try:
                await self._unless_urgent(self._round(cause))
            except Exception:  # what a round was for is not lost with it: whoever keeps us begins anew
                self.ask(cause, at_once=False)
                raise

    async def advance(self) -> None:
        """For ever: let modules run whose turn comes, in a round, or later because another one was mended."""
        while True:
            self._recall()
            moment = self._moment()
            turns = [s for s in moment.turns if self._open or s.module.name in self._again]
            for state in turns:
                self._tasks.ask(state, self._again.pop(state.module.name, self._cause))
            for name, state in moment.enabled.items():
                state.waits_for = "" if state.turn else ", ".join(moment.awaited(name))
            if not turns:  # else others may follow at once: patience with those may be over already
                await self._moved(moment)

    def _recall(self) -> None:
        """What has gone before a lower weight that was never ready goes once more when that one is: hooks and templates
        are to see what it has brought about."""
        moment = self._moment()
        new = {name for name, state in moment.enabled.items() if not state.last_success}
        for name in self._new - new:
            for state in moment.overtakers(name) if name in moment.enabled else ():
                self.again(state, "Lower-Weight-Ready")
        self._new = new

    async def _round(self, cause: str) -> None:
        began, self._cause, self._open = self._tasks.now(), cause, False
        self._tasks.activation = "" if self.converged.is_set() else OPERATOR_STARTUP
        await self._run_global_hooks(BindingType.BEFORE_ALL)
        self.phase = "WaitDeleteAndRunModules"
        await self._steps.decide()
        self.deciding_is_past = True
        await self._delete(cause)
        await self._steps.define(self._states.enabled)
        await self._run_modules()
        await self._after_all()
        self.phase = ""
        self._measure(self._tasks.now() - began)
        if not (self.converged.is_set() or self._steps.deciding.doubt):
            self._first_is_over()
        await self._steps.clean_up()

    async def _reconsider(self) -> None:
        """Ask again about modules that are undecided."""
        if await self._steps.deciding.decide():
            self.ask("Decided-After-Doubt", at_once=False)

    async def _run_global_hooks(self, type: BindingType) -> None:
        """As tasks of `main`, which repeats what fails."""
        self.phase = "WaitBeforeAll" if type is BindingType.BEFORE_ALL else "WaitAfterAll"
        tasks = [self._engine.put_once(self._order(hook, type)) for hook in self._global_hooks(type)]
        for task in tasks:
            await task.over.wait()

    def _global_hooks(self, type: BindingType) -> list[Hook]:
        return dispatch.by_lifecycle((h for h in self._engine.hooks.values() if h.module == GLOBAL), type)

    def _order(self, hook: Hook, type: BindingType) -> HookRun:
        return dispatch.for_lifecycle(hook, type, self._tasks.activation)

    async def _delete(self, cause: str) -> None:
        """Those that are off and still there, the heaviest first; whoever fails or hangs is left to itself."""
        going = [state for state in self._states if state.decision.choice is Choice.OFF and state.live]
        for state in going:
            self._tasks.still(state)
        await self._steps.withdraw(going)
        for state in reversed(going):
            self._tasks.dismiss(state, cause)
            moment = self._moment()
            while state.live and not state.parked and not moment.is_overtaken(state):
                await self._moved(moment, state)
                moment = self._moment()

    async def _run_modules(self) -> None:
        for state in self._states:
            state.await_turn()
        self._again.clear()
        self._open = True
        self._states.moved.happened()
        while not (moment := self._moment()).over:
            await self._moved(moment)

    async def _after_all(self) -> None:
        """Only what is there after the last of them decides (addon-operator.md §3.2)."""
        before = self._steps.deciding.global_values()
        await self._run_global_hooks(BindingType.AFTER_ALL)
        if self._steps.deciding.global_values() != before:
            self.ask("AfterAll-Hooks-Change-GlobalValues", at_once=False)

    def _first_is_over(self) -> None:
        self.converged.set()
        self._tasks.activation = ""
        self._engine.modules_tick = True
        _log.info("Startup converge done.", modules=len(self._states.enabled))

    def _measure(self, seconds: float) -> None:
        self._metrics.convergence_seconds.add(seconds, self._tasks.activation)
        self._metrics.convergence_total.inc(self._tasks.activation)

    def _moment(self) -> Moment:
        enabled = {state.module.name: state for state in self._states.enabled}
        if self._sequence.modules.keys() != enabled.keys():
            self._sequence = Order(state.module for state in enabled.values())
        return Moment(enabled, self._sequence, self._rules, self._tasks.now())

    async def _moved(self, moment: Moment, *others: State) -> None:
        """Until something changes, by an event or because patience ends."""
        deadline = moment.deadline
        busy = [state.owed_since + self._rules.patience for state in others if state.owed_since is not None]
        until = min([*busy, *([deadline] if deadline is not None else [])], default=None)
        with suppress(TimeoutError):
            async with timeout_at(until, self._tasks.now()):
                await self._states.moved.next()

    async def _unless_urgent(self, work: Awaitable[None]) -> None:
        round_, urgent = asyncio.ensure_future(work), asyncio.ensure_future(self._urgent.wait())
        try:
            await asyncio.wait({round_, urgent}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            urgent.cancel()
            interrupted = round_.cancel()
            with suppress(asyncio.CancelledError):
                await round_
            self.phase = ""
            if interrupted and self._urgent.is_set():  # else all of it ends
                _log.info("converge begins anew", cause=self._cause)
