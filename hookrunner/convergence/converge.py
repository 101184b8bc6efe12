"""The converge, in rounds: global hooks, then decisions, definitions, deletions and runs of modules, then global hooks.

What a user asks for interrupts a round and begins another, since what each module still needs is known per module.
What hooks cause waits for the end of the round; otherwise no round would ever end.
"""

import asyncio
import random
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from hookrunner import log
from hookrunner.convergence.runs.seams import Definitions
from hookrunner.convergence.seams import (
    ArmedHooks,
    EarlierReleases,
    GlobalHooks,
    ResumedWebhooks,
    RoundDecisions,
    RoundTasks,
    RoundTurns,
    Steps,
)
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine import dispatch
from hookrunner.engine.attempts import back_off
from hookrunner.model.bindings import BindingType, by_lifecycle
from hookrunner.model.modules import GLOBAL, Choice
from hookrunner.model.tasks import OPERATOR_STARTUP
from hookrunner.model.unit_state import UnitState
from hookrunner.waits import Batches
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class RoundSteps:
    """What a round does beside running hooks and modules, and with which parts."""

    decisions: RoundDecisions
    hooks: ArmedHooks
    webhooks: ResumedWebhooks
    definitions: Definitions
    leftovers: EarlierReleases

    async def decide(self) -> None:
        """Decide which modules are on, and which of the others are still installed; let webhooks be answered that an
        earlier process has registered."""
        if await self.leftovers.look():
            self.decisions.configuration.weigh_missing()
        await self.decisions.decide()
        await self.webhooks.resume()

    async def prepare_deletions(self, states: Sequence[UnitState]) -> None:
        """Disarm the schedules of modules that go, and withdraw their webhooks of admission, all at once. What fails is
        tried again when the module is deleted."""
        for state in states:
            self.hooks.disarm_schedules(state)
        await asyncio.gather(*(self.webhooks.withdraw(s, "admission") for s in states), return_exceptions=True)

    async def define(self, states: Sequence[UnitState]) -> None:
        """Apply the definitions of these modules, before any of them runs. A module whose definitions fail tries again
        in its own run, and fails with them; no other module waits for it."""
        lacking = [state for state in states if not state.has_definitions]
        results = await asyncio.gather(*map(self.definitions.apply, lacking), return_exceptions=True)
        for state, result in zip(lacking, results, strict=True):
            if isinstance(result, Exception):
                _log.warn("definitions of a module were not applied", **state.unit.fields, error=result)

    async def clean_up(self) -> None:
        """After a round: remove what no module wants any more, once it is certain what that is."""
        await self.webhooks.resume()
        await self.leftovers.clean_up()


class Converge:
    """Runs rounds. `converged` is set when the first is over; `phase` says where the present one is, empty between
    rounds; `has_decided` means that the first round has decided which modules are on."""

    def __init__(
        self, states: UnitStates, tasks: RoundTasks, steps: Steps, turns: RoundTurns, engine: GlobalHooks
    ) -> None:
        self.converged = asyncio.Event()
        self.phase = ""
        self.has_decided = False
        self._states = states
        self._tasks = tasks
        self._steps = steps
        self._turns = turns
        self._engine = engine
        self._requests = Batches[str]()
        self._urgent = asyncio.Event()
        self._cause = ""
        self._shared: JSON = None
        """The global values with which instances of addons ran last."""

    @property
    def has_begun(self) -> bool:
        """Has the first round begun?"""
        return bool(self._cause)

    @property
    def is_busy(self) -> bool:
        """Is a round under way, or requested?"""
        return bool(self.phase) or self._requests.are_waiting

    def request(self, cause: str, at_once: bool) -> None:
        """Request another round; `at_once` ends the present one where it is."""
        _log.info("converge requested", cause=cause)
        self._requests.put(cause, cause)
        if at_once:
            self._urgent.set()

    def wake_hooks(self) -> None:
        """Let hooks run that waited for their values: these are known now."""
        self._engine.wake()

    async def keep(self) -> None:
        """Run rounds as they are requested, until cancelled; the first when the global hooks have started."""
        await self._engine.wait_for_start()
        doubts = 0
        while True:
            pause = back_off(doubts, random.random()) if self._steps.decisions.is_unsure else None
            if not (causes := await self._requests.next_batch(pause)):
                doubts += 1
                if await self._steps.decisions.decide():  # about modules that are undecided
                    self.request("Decided-After-Doubt", at_once=False)
                continue
            doubts = 0
            self._urgent.clear()
            cause = ", ".join(causes)
            try:
                await self._run_unless_urgent(self._run_round(cause))
            except Exception:  # the causes are not lost with the round: the restarted task begins with them
                self.request(cause, at_once=False)
                raise

    async def _run_round(self, cause: str) -> None:
        began, self._cause = self._tasks.now(), cause
        self._turns.close()
        self._tasks.label("" if self.converged.is_set() else OPERATOR_STARTUP)
        await self._run_global_hooks(BindingType.BEFORE_ALL)
        self.phase = "WaitDeleteAndRunModules"
        await self._steps.decide()
        self.has_decided = True
        await self._delete(cause)
        await self._steps.define(self._states.enabled)
        self._await_instances()
        self._turns.open(cause)
        await self._turns.wait_until_over()
        await self._run_after_all()
        self.phase = ""
        self._tasks.count_round(self._tasks.now() - began)
        if not (self.converged.is_set() or self._steps.decisions.doubt):
            self._end_start()
        await self._steps.clean_up()

    def _await_instances(self) -> None:
        """Give instances of addons another turn if global values have changed: the rest of a round is not about
        them."""
        if (shared := self._steps.decisions.global_values()) != self._shared:
            self._shared = shared
            for state in self._states.instances:
                state.await_turn()

    def _end_start(self) -> None:
        self.converged.set()
        self._tasks.label("")
        self._engine.let_modules_tick()
        _log.info("Startup converge done.", modules=len(self._states.enabled))

    async def _delete(self, cause: str) -> None:
        """Delete what is off and still installed, the heaviest first. One that fails or hangs holds up no other."""
        going = [state for state in self._states.modules if state.choice is Choice.OFF and state.live]
        await self._steps.prepare_deletions(going)
        for state in reversed(going):
            self._tasks.request_deletion(state, cause)
            await self._turns.wait_for_deletion(state)

    async def _run_after_all(self) -> None:
        """Changes of global values count only when the last of these hooks has run."""
        before = self._steps.decisions.global_values()
        await self._run_global_hooks(BindingType.AFTER_ALL)
        if self._steps.decisions.global_values() != before:
            self.request("AfterAll-Hooks-Change-GlobalValues", at_once=False)

    async def _run_global_hooks(self, type: BindingType) -> None:
        """As tasks of `main`, which retries those that fail."""
        self.phase = "WaitBeforeAll" if type is BindingType.BEFORE_ALL else "WaitAfterAll"
        hooks = by_lifecycle((hook for hook in self._engine.hooks.values() if hook.module == GLOBAL), type)
        orders = [dispatch.for_lifecycle(hook, type, self._tasks.activation) for hook in hooks]
        for task in [self._engine.enqueue_once(order) for order in orders]:
            await task.over.wait()

    async def _run_unless_urgent(self, work: Awaitable[None]) -> None:
        """Run a round until it ends, or until another one is requested at once."""
        round_, urgent = asyncio.ensure_future(work), asyncio.ensure_future(self._urgent.wait())
        try:
            await asyncio.wait({round_, urgent}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            urgent.cancel()
            interrupted = round_.cancel()
            with suppress(asyncio.CancelledError):
                await round_
            self.phase = ""
            if interrupted and self._urgent.is_set():  # else everything ends
                _log.info("converge interrupted, beginning again", cause=self._cause)
