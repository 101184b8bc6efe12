"""Runs and deletions of units as tasks: requests for them, their attempts, and what a failed attempt leads to.

Several units may run side by side, one unit never does: its tasks wait in a queue of its own, and the engine's workers
bring them to `UnitTasks.carry_out`. The steps of a run are in `unit_runner.py`, those of a deletion in
`unit_remover.py`.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from hookrunner import log
from hookrunner.convergence.events import Notice
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.workers import Queues
from hookrunner.errors import HookrunnerError, RunBlocked, RunPostponed, internal
from hookrunner.kube.back_off import TokenBucket
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice
from hookrunner.model.status import some
from hookrunner.model.tasks import Done, Dropped, Failed, Outcome, Postponed, UnitTask, own_queue
from hookrunner.model.unit_state import UnitState

AttemptSteps: TypeAlias = Callable[[UnitState], Awaitable[None]]
"""The steps of a run or of a deletion."""

AT_ONCE, EVERY = 3, 0.5
"""So many runs of a unit at once, and after that one in so many seconds. A few edits are answered at once; while they
keep coming, as from a script that sets value after value, they share runs: each run may be a revision, and only so many
of those are kept to go back to (`--helm-history-max`)."""

_log = log.get(__name__)


class UnitTasks:
    """Runs and deletes units. A failure sets the unit aside, with a back-off, and lets its hooks go on. `now` gives
    the monotonic seconds in which patience is measured; `activation` is what caused the present converge, empty for
    most."""

    def __init__(
        self,
        states: UnitStates,
        steps: tuple[AttemptSteps, AttemptSteps],
        queues: Queues,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self.now = clock
        self.activation = ""
        self._states = states
        self._run, self._delete = steps
        self._queues = queues
        self._metrics = metrics
        self._paces = defaultdict[str, TokenBucket](lambda: TokenBucket(EVERY, AT_ONCE))

    def label(self, activation: str) -> None:
        """Tasks from now on carry this activation, which is a label of metrics."""
        self.activation = activation

    def count_round(self, seconds: float) -> None:
        """A round over all modules has ended, after so many seconds."""
        self._metrics.convergence_seconds.add(seconds, self.activation)
        self._metrics.convergence_total.inc(self.activation)

    def give_turn(self, state: UnitState, cause: str) -> None:
        """Run a unit, whose turn has come: once more if it runs now, and at once if it waits for its next attempt."""
        state.request(self.now())
        self._enqueue(UnitTask("ModuleRun", state.name, cause, self.activation))

    def request(self, state: UnitState, cause: str) -> None:
        """The same in its turn: one whose turn has not come yet will find everything as it is then."""
        if state.on and state.turn:
            state.request(self.now())
            self._enqueue(UnitTask("ModuleRun", state.name, cause, self.activation))

    async def request_adoption(self, state: UnitState) -> None:
        """Run a unit once with the right to take over objects; returns when that run has succeeded or failed."""
        state.request_adoption(self.now())
        self._enqueue(UnitTask("ModuleRun", state.name, "Adopt", self.activation))
        while state.adopting:
            await self._states.changed.next()

    def request_deletion(self, state: UnitState, cause: str) -> None:
        """Delete a unit; why it could not run does not matter any more."""
        state.request_deletion(self.now())
        self._enqueue(UnitTask("ModuleDelete", state.name, cause, self.activation))

    def retry_now(self, name: str) -> None:
        """End a unit's back-off: what it failed for may be repaired."""
        self._queues.by_name[own_queue(name)].hurry(("", name))

    def forget(self, unit: str) -> None:
        """Drop what is remembered of a unit that will not come back."""
        self._paces.pop(unit, None)

    async def carry_out(self, order: UnitTask) -> Outcome:
        """One attempt, if it is wanted now and does not come too soon after others."""
        state = self._states[order.unit]
        with log.bound(**state.unit.fields, task=order.name, cause=order.cause):
            if not _is_wanted(state, order):
                state.drop_requests()
            elif not (state.turn or order.deletes):  # it waits for its turn, which brings another task
                state.postpone()
            elif not order.deletes and (pause := self._paces[order.unit].take(self.now())):
                return Postponed(pause)
            else:
                return await self._attempt(state, order)
            self._states.note(order.unit)
            return Done()

    async def _attempt(self, state: UnitState, order: UnitTask) -> Outcome:
        began, failed_before = self.now(), state.parked
        state.begin(began, order.activation)
        try:
            await (self._delete if order.deletes else self._run)(state)
        except RunBlocked as error:
            return self._block(state, error)
        except RunPostponed as error:
            return self._put_off(state, order, error)
        except HookrunnerError as error:
            return self._fail(state, order, str(error), error)
        except Exception as error:
            self._fail(state, order, internal(error), error)
            raise
        else:
            state.succeed(self.now())
            if failed_before:
                self._retry_others(state)
            return Done()
        finally:
            if not order.deletes:
                self._metrics.module_run_seconds.observe(self.now() - began, order.unit, state.activation)
            state.end_attempt(self.now())
            self._publish_objects(state)
            self._states.note(order.unit)

    def _publish_objects(self, state: UnitState) -> None:
        """Tell users of objects that were not made by its release, or have left it and stay."""
        release, kind = state.release, state.unit.kind
        if release.adopted:
            message = f"taken over: {some([*map(str, release.adopted)])}{kind.adoption_hint}"
            self._publish(state, kind.adopted, message, bad=False)
        if release.kept:
            self._publish(state, "Kept", some([*map(str, release.kept)]), bad=False)

    def _publish(self, state: UnitState, reason: str, message: str, bad: bool = True) -> None:
        """Publish what its kind has an Event for."""
        if reason:
            self._states.notices.publish(Notice(state.name, reason, message, bad))

    def _block(self, state: UnitState, error: RunBlocked) -> Outcome:
        """What it waits for brings another request."""
        state.fail(str(error), error)
        _log.info("unit waits until its inputs change", reason=str(error))
        return Dropped(str(error))

    def _put_off(self, state: UnitState, order: UnitTask, error: RunPostponed) -> Outcome:
        """What it waits for may come by itself: another attempt follows, which is no news if it ends like this one. It
        needs no back-off if it was requested meanwhile: something has changed since this attempt looked."""
        reason = str(error)
        if not _is_wanted(state, order):
            return Dropped(reason)
        _log.log("debug" if state.error == reason else "info", "unit waits", reason=reason)
        state.fail(reason, error)
        return Dropped(reason) if state.requested > state.begun else Failed(reason, park=True)

    def _fail(self, state: UnitState, order: UnitTask, reason: str, error: Exception) -> Outcome:
        counter = self._metrics.module_delete_errors if order.deletes else self._metrics.module_run_errors
        counter.inc(order.unit)
        if not _is_wanted(state, order):  # the task that is wanted now waits behind it and needs no back-off
            _log.warn("unit failed in a task that is no longer wanted", error=error)
            return Dropped(reason)
        is_outdated = _is_outdated(state, order)
        state.fail(reason, error)
        kind = state.unit.kind
        self._publish(state, kind.deletion_failed if order.deletes else kind.failed, reason)
        if is_outdated:
            _log.warn("unit failed and was changed meanwhile, trying at once", error=error)
            return Dropped(reason)
        _log.error("unit failed, will retry after a delay; other units go on", error=error)
        return Failed(reason, park=True)

    def _retry_others(self, state: UnitState) -> None:
        """Units that were set aside meanwhile may have failed for want of just this module. Those that require an
        instance wait at a gate; there may be hundreds that work again at the same time, each after its own gate."""
        _log.info("unit works again")
        if reason := state.unit.kind.works_again:
            self._publish(state, reason, f"{state.name} works again", bad=False)
            for other in self._states.units:
                if other is not state and other.parked:
                    self.retry_now(other.name)

    def _enqueue(self, order: UnitTask) -> None:
        """Add a task to the unit's queue, unless the last one there does the same. A run that has begun does not: it
        may have read what is outdated now. A deletion that has begun does. What waits for its next attempt is tried
        now, unless it would come too soon after others."""
        queue = self._queues.by_name[order.queue]
        tasks = [task for task in queue if task.order.lanes == order.lanes]
        last = tasks[-1] if tasks else None
        if not (last and last.order.name == order.name and (order.deletes or last not in queue.running)):
            queue.enqueue(order)
        if order.deletes or not (last and last.is_rate_limited):
            queue.hurry(("", order.unit))


def _is_outdated(state: UnitState, order: UnitTask) -> bool:
    """Was another run requested during its first attempt that fails? A corrected spec takes effect at once. Only the
    first: a run that causes its own next one would have no back-off."""
    is_first = not (order.deletes or state.parked)
    return is_first and state.unit.kind.corrects_at_once and state.requested > state.begun


def _is_wanted(state: UnitState, order: UnitTask) -> bool:
    """Is there still something to do? A task may come too late: the unit was switched on or off while it waited, or
    another task has deleted it."""
    return (state.choice is Choice.OFF and state.live) if order.deletes else state.on
