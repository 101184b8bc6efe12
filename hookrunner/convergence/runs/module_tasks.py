"""What the engine's workers do with a module as a whole, and how others ask for it."""

from collections.abc import Callable

from hookrunner import log
from hookrunner.convergence.notices import Item
from hookrunner.convergence.runs.deleting import Deleting
from hookrunner.convergence.runs.module_runner import Running
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.direct import SnapshotMissing
from hookrunner.engine.queue_set import Queues
from hookrunner.errors import HookrunnerError, internal
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice
from hookrunner.model.status import some
from hookrunner.model.tasks import Done, Dropped, Failed, ModuleTask, Outcome, own_queue

_log = log.get("modules")


class Tasks:
    """Runs and deletes modules; a failure sets the module aside, with a back-off, and lets its hooks go on. `now` is
    the time by which patience is measured (monotonic)."""

    def __init__(
        self,
        states: ModuleStates,
        steps: tuple[Running, Deleting],
        queues: Queues,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self._activation = ""
        self._states = states
        self._running, self._deleting = steps
        self._queues = queues
        self._metrics = metrics
        self.now = clock

    def label(self, activation: str) -> None:
        """Tasks from now on belong to a converge that this has set off; metrics say so."""
        self._activation = activation

    @property
    def activation(self) -> str:
        """What has set off the present converge; empty for most."""
        return self._activation

    def ask(self, state: ModuleState, cause: str) -> None:
        """Have a module run: once more after what runs now, and at once if it waits for its next attempt."""
        state.request(self.now())
        self._put(ModuleTask("ModuleRun", state.module.name, cause, self._activation))

    async def adopt(self, state: ModuleState) -> None:
        """Have a module run once with the right to take over objects; returns when that run has succeeded or failed."""
        state.request_adoption(self.now())
        self._put(ModuleTask("ModuleRun", state.module.name, "Adopt", self._activation))
        while state.adopting:
            await self._states.changed.next()

    def dismiss(self, state: ModuleState, cause: str) -> None:
        """Have a module deleted; why it could not run is past."""
        state.request_deletion(self.now())
        self._put(ModuleTask("ModuleDelete", state.module.name, cause, self._activation))

    def hurry(self, name: str) -> None:
        """What a module failed for may be mended: try again."""
        self._queues[own_queue(name)].hurry(("", name))

    async def carry_out(self, order: ModuleTask) -> Outcome:
        """One attempt."""
        state = self._states[order.module]
        with log.bound(module=order.module, task=order.name, cause=order.cause):
            if not _wanted(state, order):
                state.drop_requests()
            elif state.turn or order.deletes:
                return await self._attempt(state, order)
            else:  # it waits for its turn, which brings another task
                state.postpone()
            self._states.changed.happened()
            return Done()

    async def _attempt(self, state: ModuleState, order: ModuleTask) -> Outcome:
        began, failed_before = self.now(), state.parked
        state.begin(began, order.activation)
        try:
            await (self._deleting if order.deletes else self._running).run(state)
        except HookrunnerError as error:
            return self._failed(state, order, str(error), lacks_snapshot=isinstance(error, SnapshotMissing))
        except Exception as error:
            self._failed(state, order, internal(error))
            raise
        else:
            state.succeed(self.now())
            if failed_before:
                self._healed(state)
            return Done()
        finally:
            if not order.deletes:
                self._metrics.module_run_seconds.observe(self.now() - began, order.module, state.activation)
            state.end_attempt(self.now())
            self._tell_adopted(state)
            self._states.changed.happened()

    def _tell_adopted(self, state: ModuleState) -> None:
        """Tell what this attempt has taken over."""
        if state.adopted:
            message = f"taken over: {some([*map(str, state.adopted)])}"
            self._states.news.tell(Item(state.module.name, "ObjectsAdopted", message, bad=False))

    def _failed(self, state: ModuleState, order: ModuleTask, reason: str, lacks_snapshot: bool = False) -> Outcome:
        counter = self._metrics.module_delete_errors if order.deletes else self._metrics.module_run_errors
        counter.inc(order.module)
        if not _wanted(state, order):  # what is wanted now waits behind it, and need not wait for another attempt
            _log.warn("Module failed in what is not wanted of it any more.", error=reason)
            return Dropped(reason)
        state.fail(reason, lacks_snapshot)
        self._states.news.tell(Item(order.module, "ModuleFailed", reason))
        _log.error("Module failed. Will retry after delay, others go on.", error=reason)
        return Failed(reason, park=True)

    def _healed(self, state: ModuleState) -> None:
        """Those that were set aside meanwhile may have missed just this one (design.md §4.2)."""
        self._states.news.tell(Item(state.module.name, "ModuleHealed", f"{state.module.name} works again", bad=False))
        _log.info("Module works again.")
        for other in self._states:
            if other is not state and other.parked:
                self.hurry(other.module.name)

    def _put(self, order: ModuleTask) -> None:
        """Into the module's queue, unless the last task there does it: a run that has begun does not, for it may have
        read what is not true any more; a deletion that has begun does."""
        queue = self._queues[order.queue]
        tasks = [task for task in queue if task.order.lanes == order.lanes]
        last = tasks[-1] if tasks else None
        if not (last and last.order.name == order.name and (order.deletes or last is not queue.running)):
            self._queues.put(order)
        queue.hurry(("", order.module))


def _wanted(state: ModuleState, order: ModuleTask) -> bool:
    """Is there still something to do? A task may come too late: the module was switched while it waited, or another
    task has deleted it."""
    if order.deletes:
        return state.decision.choice is Choice.OFF and state.live
    return state.decision.choice is Choice.ON
