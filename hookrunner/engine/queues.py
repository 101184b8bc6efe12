"""A queue keeps tasks in order and says which one is next; it knows tasks, not hooks.

`pick` decides, `dequeue` waits. Usually the head is next. A task that is set aside (a rate limit, a
parked failure, a missing snapshot) lets tasks of other lanes pass and keeps its own lane in order; a failed
task that is not parked keeps the whole queue waiting for its back-off. Rules of its own let a queue run several
tasks at once (`model/lanes.py`).
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, takewhile
from operator import attrgetter
from typing import Protocol, TypeAlias

from hookrunner.engine import attempts
from hookrunner.engine.merging import compactable, latest, mergeable
from hookrunner.engine.repetitions import Repetitions, not_waiting, repeated
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import ONE_BY_ONE, QueueRules
from hookrunner.model.events import Obstacle
from hookrunner.model.lanes import Lanes, subject_of
from hookrunner.model.queued_tasks import QueuedTasks
from hookrunner.model.tasks import (
    Done,
    Dropped,
    Failed,
    FilterRetry,
    HookRun,
    Lane,
    Order,
    Outcome,
    Postponed,
    Task,
)
from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import timeout_at

Clock: TypeAlias = Callable[[], float]
"""Monotonic seconds."""


class Gate(Protocol):
    """Knows what holds up orders."""

    def obstacle(self, order: Order) -> Obstacle | None:
        """What the order's snapshots lack before it can run."""

    def take_token(self, order: Order) -> float:
        """0 if the rate limit lets the order run now, which counts as a run; otherwise the seconds until it does."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to run now. `until` is when a set-aside task comes due, None if only an event can change that;
    `reason` goes into the dump."""

    until: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class QueueParts:
    """What all queues share. From `compact_at` waiting runs of one hook on, they are merged; 0 is never."""

    gate: Gate
    clock: Clock
    metrics: Metrics
    compact_at: int = 100


class Queue:
    """Tasks, of which as many run at once as its rules say. `runs` counts the runs of each hook, `compactions` how
    often they were merged."""

    def __init__(self, name: str, parts: QueueParts, rules: QueueRules = ONE_BY_ONE) -> None:
        self.name = name
        self.closed = False
        self._running: dict[Task, float] = {}
        self._repetitions = Repetitions()
        self.compactions: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self._gate = parts.gate
        self._clock = parts.clock
        self._metrics = parts.metrics
        self._compact_at = parts.compact_at
        self._tasks = QueuedTasks(rules)
        self._limits: dict[str, int] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(tuple(self._tasks))

    @property
    def rules(self) -> QueueRules:
        """What may run side by side in it."""
        return self._lanes.rules

    def set_rules(self, rules: QueueRules) -> None:
        """Go by other rules from now on; what runs is not touched."""
        if rules != self.rules:
            self._tasks.set_rules(rules)
            self._wake.set()

    @property
    def _lanes(self) -> Lanes:
        return self._tasks.lanes

    @property
    def running(self) -> Mapping[Task, float]:
        """The tasks that run, and when each began."""
        return self._running

    @property
    def now(self) -> float:
        """The present time of its clock."""
        return self._clock()

    @property
    def resting(self) -> bool:
        """Nothing runs, and nothing can run before something happens or comes due."""
        return not self._running and isinstance(self.pick(self._clock()), Idle)

    def enqueue(self, order: Order) -> Task:
        """Add a task at the end. It takes the place of a repetition that is about the same."""
        began = self._clock()
        if self._repetitions and isinstance(order, HookRun):
            self._replace_repetitions(subject_of(order))
        self._tasks.append(task := Task(order, self._clock()))
        self._count(order)
        self._hurry_changed(task)
        if isinstance(order, HookRun) and 0 < self._limits.get(order.hook, self._compact_at) <= self.runs[order.hook]:
            self._compact(order.hook)
        self._wake.set()
        self._metrics.tasks_queue_action_duration_seconds.observe(self._clock() - began, self.name, "AddLast")
        if isinstance(order, HookRun) and order.seen_at:
            where = (order.label, order.binding, *order.owner)
            self._metrics.event_latency_seconds.observe(began - order.seen_at, "queued", *where)
        return task

    def enqueue_first(self, orders: Iterable[Order]) -> None:
        """Add tasks at the front, in this order."""
        self._tasks.prepend(tasks := [Task(order, self._clock()) for order in orders])
        for task in tasks:
            self._count(task.order)
        self._wake.set()

    def hurry(self, lane: Lane) -> None:
        """Try again at once what waits in this lane for its next attempt: the cause of its failure may be gone."""
        for task in self._tasks:
            if lane in task.order.lanes:
                task.due = 0.0
        self._wake.set()

    def hurry_failed(self, since: float) -> None:
        """Try again at once what has failed since that time: the cause of the failure is gone."""
        for task in self._tasks:
            if task.failures and task.queued_at >= since and not task.is_rate_limited:
                task.due = 0.0
        self._wake.set()

    def wake(self) -> None:
        """Look again: an obstacle may be gone."""
        self._wake.set()

    async def dequeue(self) -> Task | None:
        """Wait for the next task to run; it stays in the queue until `settle`. None when the queue is closed."""
        while not self.closed:
            self._wake.clear()
            choice = self.dequeue_now()
            if isinstance(choice, Task):
                return choice
            await self._sleep(choice.until)
        return None

    def dequeue_now(self) -> Task | Idle:
        """The task to run at this moment, merged with those that may be done in the same execution; or why no task can
        run. A task that its rate limit holds up is set aside, not merged."""
        if len(self._running) >= self.rules.concurrency:
            return Idle(None, "waiting for task")
        while isinstance(choice := self.pick(self._clock()), Task):
            if (seconds := self._gate.take_token(choice.order)) <= 0:
                self._begin(choice)
                break
            self.settle(choice, Postponed(seconds))
        return choice

    def _begin(self, task: Task) -> None:
        if task.is_repetition:
            self._repetitions.forget(task)
        self._absorb(task)
        self._running[task] = self._clock()

    def forget(self, hook: str) -> None:
        """Drop the tasks of a hook; the outcome of the one that runs is ignored."""
        for task in self:
            if task.order.hook == hook:
                self._remove(task)
        self.compactions.pop(hook, None)

    def drop_waiting(self) -> None:
        """Drop all tasks but the one that runs."""
        for task in self:
            if task not in self._running:
                self._remove(task)

    def holds(self, task: Task) -> bool:
        """False if the task was dropped while it ran."""
        return task in self._tasks

    def close(self) -> None:
        """Give out no more tasks; a task that runs may be settled."""
        self.closed = True
        self._wake.set()

    async def _sleep(self, until: float | None) -> None:
        try:
            async with timeout_at(until, self._clock()):
                await self._wake.wait()
        except TimeoutError:
            pass

    def pick(self, now: float) -> Task | Idle:
        """The task to run at this moment, or why no task can run.

        A filter that failed may take its whole deadline again, so it is tried when nothing else can run."""
        choice = self._first(now)
        if isinstance(choice, Idle):
            retries = [task for task in self._tasks if isinstance(task.order, FilterRetry) and task.due <= now]
            return min(retries, key=attrgetter("due"), default=choice)
        return choice

    def _first(self, now: float) -> Task | Idle:
        closed = {lane for task in self._running for lane in task.lanes}
        dues = list[float]()
        for task in self._waiting(now):
            if not closed.isdisjoint(task.lanes):
                closed |= task.lanes
                continue
            if isinstance(task.order, FilterRetry) and task.due <= now:
                continue
            if task.due > now:
                if not task.passable:
                    return Idle(task.due, attempts.asleep(task, now))
                dues.append(task.due)
            elif (obstacle := self._gate.obstacle(task.order)) is None:
                task.waits_for = ""
                return task
            else:
                task.waits_for = obstacle.awaited
                if obstacle.brief:
                    return Idle(self._next_due(dues, now), "waiting for snapshot")
            closed |= task.lanes
        return Idle(self._next_due(dues, now), "waiting for task" if closed else "")

    def _next_due(self, dues: list[float], now: float) -> float | None:
        return min((*dues, *(self._repetitions and self._repetitions.dues(now))), default=None)

    def _waiting(self, now: float) -> Iterator[Task]:
        """The tasks that may run beside those that run, in their order, up to one that needs the whole queue. One that
        does not run yet, because it is a repetition or has failed, keeps the queue from no other one."""
        if any(self._lanes.needs_all(task.order) for task in self._running):
            return
        for task in self._tasks:
            if (task.is_repetition and task.due > now) or task in self._running:
                continue
            if self._running and task.due <= now and self._lanes.needs_all(task.order):
                return
            yield task

    def _absorb(self, task: Task) -> None:
        """Merge into a task that is about to run the tasks behind it that may be done in the same execution.

        Stops at the first task that may not: another hook's, one that failed before, one whose lane is held up. Where
        lanes are no bindings, it passes those of other lanes, and of each object the latest state stays."""
        if isinstance(order := task.order, HookRun):
            followers = self._followers(task, order) if self._lanes.are_bindings else self._states_behind(task, order)
            merged = order.merged([self._take_out(other) for other in followers])
            self._tasks.change(task, merged if self._lanes.are_bindings else latest(merged))

    def _followers(self, task: Task, order: HookRun) -> list[Task]:
        """The tasks right behind it that may be done in the same execution."""
        closed = {lane for other in self._running for lane in other.lanes}
        behind = iter(self._waiting(self._clock()))
        for other in takewhile(lambda other: other is not task, behind):
            closed |= other.lanes
        return list(takewhile(lambda other: self._follows(order, other) and closed.isdisjoint(other.lanes), behind))

    def _states_behind(self, task: Task, order: HookRun) -> list[Task]:
        """The tasks behind it in its lane that may be done in the same execution."""
        now = self._clock()
        lane = [other for other in self._tasks.sharing(task.lanes) if not (other.is_repetition and other.due > now)]
        return list(takewhile(partial(self._follows, order), lane[lane.index(task) + 1 :]))

    def _follows(self, order: HookRun, other: Task) -> bool:
        return other.failures == 0 and order.absorbs(other.order) and self._gate.obstacle(other.order) is None

    def settle(self, task: Task, outcome: Outcome) -> None:
        """Carry out the outcome of a task: the one place where that is decided."""
        self._running.pop(task, None)
        self._wake.set()
        if not self.holds(task):
            return
        match outcome:
            case Done(followers, again_after):
                self._remove(task)
                self.enqueue_first(followers)
                if again_after is not None and isinstance(task.order, HookRun):
                    self._repeat(task.order, again_after)
            case Failed(reason, park):
                attempts.fail(task, reason, self._clock(), random.random())
                task.passable = park or self.rules != ONE_BY_ONE
                self._hurry_changed(task)
            case Postponed(seconds):
                attempts.postpone(task, seconds, self._clock())
            case Dropped():
                self._remove(task)

    def _hurry_changed(self, task: Task) -> None:
        """Where lanes are objects, bring what has failed forward if an event of its object waits behind it."""
        if self.rules.order_by == "object" and len(sharing := self._tasks.sharing(task.lanes)) > 1:
            attempts.bring_forward(sharing[0], self._clock())

    def _repeat(self, order: HookRun, seconds: float) -> None:
        """Run it again after so long, unless something happens to what it is about before. What has happened to it
        during the run waits already, and may ask again."""
        self._replace_repetitions(subject_of(order))
        others = self._tasks if self._lanes.are_bindings else self._tasks.sharing(self._lanes.of(order))
        waiting = (task for task in others if task not in self._running and not task.is_repetition)
        if rest := not_waiting(repeated(order), waiting):
            due = self._clock() + seconds
            task = Task(rest, due, due=due, is_repetition=True, passable=True)
            self._tasks.append(task)
            self._repetitions.add(task, rest)
            self._count(rest)

    def _replace_repetitions(self, subject: frozenset[Lane]) -> None:
        for task, rest in self._repetitions.replaced_by(subject):
            if rest:
                self._tasks.change(task, rest)
            else:
                self._remove(task)

    def next_attempt(self, task: Task) -> float:
        """When a task is tried again (epoch seconds); 0 if it runs, or nothing delays it."""
        left = task.due - self._clock()
        return time.time() + left if left > 0 and task not in self._running else 0.0

    def _count(self, order: Order) -> None:
        if isinstance(order, HookRun):
            self.runs[order.hook] = self.runs.get(order.hook, 0) + 1

    def _remove(self, task: Task) -> None:
        task.end()
        if task.is_repetition:
            self._repetitions.forget(task)
        if self._tasks.remove(task) and isinstance(task.order, HookRun):
            self.runs[task.order.hook] -= 1
            if not self.runs[task.order.hook]:
                del self.runs[task.order.hook]
                self._limits.pop(task.order.hook, None)

    def _take_out(self, task: Task) -> HookRun:
        self._remove(task)
        assert isinstance(task.order, HookRun)
        return task.order

    def _compact(self, hook: str) -> None:
        """Merge a hook's waiting runs into the first of them; runs that stand alone or failed stay as they are. What is
        set aside merges only with its own lanes: the others would wait for it too, or take it past what it waits for.

        The next compaction comes after a quarter as many runs as the merged run holds contexts, or after as many as
        were left, so that the work per event stays the same however long the queue is held up."""
        waiting: dict[frozenset[Lane], list[Task]] = {}
        for task, held in self._held(self._clock()):
            if task not in self._running and not task.is_repetition and compactable(task, hook):
                waiting.setdefault(held if self._lanes.are_bindings else task.lanes, []).append(task)
        longest = 0
        for (first, order), others in chain.from_iterable(map(mergeable, waiting.values())):
            merged = order.compacted([self._take_out(task) for task in others])
            left = merged if self._lanes.are_bindings else latest(merged)
            self._tasks.change(first, left)
            longest = max(longest, len(left.contexts))
            self.compactions[hook] = self.compactions.get(hook, 0) + 1
        self._limits[hook] = max(self._compact_at, longest // 4, 2 * self.runs[hook])

    def _held(self, now: float) -> Iterator[tuple[Task, frozenset[Lane]]]:
        """All tasks, with the lanes of those that are set aside now; none for the others."""
        closed: set[Lane] = set()
        for task in self._tasks:
            lanes = task.order.lanes
            waits = (task.passable and task.due > now) or not closed.isdisjoint(lanes)
            held = lanes if waits or self._gate.obstacle(task.order) else frozenset[Lane]()
            closed |= held
            yield task, held
