"""A queue keeps tasks in order and says which one is next; it knows tasks, not hooks.

`pick` decides, `dequeue` waits. Usually the head is next. A task that is set aside (a rate limit, a
parked failure, a missing snapshot) lets tasks of other lanes pass and keeps its own lane in order; a failed
task that is not parked keeps the whole queue waiting for its back-off.
"""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Protocol, TypeAlias

from hookrunner.metrics.names import Metrics
from hookrunner.model.events import Obstacle
from hookrunner.model.status import QueueDump
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
    UnitTask,
)
from hookrunner.model.timestamps import brief_duration, rfc3339
from hookrunner.waits import Pauses
from kubetypes.timers import timeout_at

Clock: TypeAlias = Callable[[], float]
"""Monotonic seconds."""

FIRST_DELAY, LONGEST_DELAY = 5.0, 32.0
_GROWTH = Pauses(1.0, LONGEST_DELAY)


def back_off(failures: int, fraction: float) -> float:
    """Seconds to wait after a failure when there were `failures` before it: as shell-operator does. `fraction` is
    random in [0, 1)."""
    jitter = int(fraction * 10) / 10 if failures else 0.0
    return min(FIRST_DELAY + _GROWTH.after(failures) + jitter, LONGEST_DELAY)


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


class Queue:
    """Tasks for one worker. From `compact_at` waiting runs of one hook on, they are merged;
    0 is never.

    `runs` counts the runs of each hook, `compactions` how often they were merged.
    """

    def __init__(self, name: str, gate: Gate, clock: Clock, metrics: Metrics, compact_at: int = 100) -> None:
        self.name = name
        self.running: Task | None = None
        self.closed = False
        self._began = 0.0
        self.compactions: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self._gate = gate
        self._clock = clock
        self._metrics = metrics
        self._compact_at = compact_at
        self._tasks: OrderedDict[int, Task] = OrderedDict()
        self._limits: dict[str, int] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(tuple(self._tasks.values()))

    @property
    def resting(self) -> bool:
        """Nothing runs, and nothing can run before something happens or comes due."""
        return self.running is None and isinstance(self.pick(self._clock()), Idle)

    def enqueue(self, order: Order) -> Task:
        """Add a task at the end."""
        began = self._clock()
        self._add(task := Task(order, self._clock()))
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
        for order in reversed(tuple(orders)):
            self._add(task := Task(order, self._clock()))
            self._tasks.move_to_end(task.id, last=False)
        self._wake.set()

    def hurry(self, lane: Lane) -> None:
        """Try again at once what waits in this lane for its next attempt: the cause of its failure may be gone."""
        for task in self._tasks.values():
            if lane in task.order.lanes:
                task.due = 0.0
        self._wake.set()

    def hurry_failed(self, since: float) -> None:
        """Try again at once what has failed since that time: the cause of the failure is gone."""
        for task in self._tasks.values():
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
        while isinstance(choice := self.pick(self._clock()), Task):
            if (seconds := self._gate.take_token(choice.order)) <= 0:
                self._absorb(choice)
                self.running, self._began = choice, self._clock()
                break
            self.settle(choice, Postponed(seconds))
        return choice

    def forget(self, hook: str) -> None:
        """Drop the tasks of a hook; the outcome of the one that runs is ignored."""
        for task in self:
            if task.order.hook == hook:
                self._remove(task)
        self.compactions.pop(hook, None)

    def drop_waiting(self) -> None:
        """Drop all tasks but the one that runs."""
        for task in self:
            if task is not self.running:
                self._remove(task)

    def holds(self, task: Task) -> bool:
        """False if the task was dropped while it ran."""
        return task.id in self._tasks

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
            retries = [task for task in self._tasks.values() if isinstance(task.order, FilterRetry) and task.due <= now]
            return min(retries, key=attrgetter("due"), default=choice)
        return choice

    def _first(self, now: float) -> Task | Idle:
        closed: set[Lane] = set()
        dues: list[float] = []
        for task in self._tasks.values():
            lanes = task.order.lanes
            if not closed.isdisjoint(lanes):
                closed |= lanes
                continue
            if isinstance(task.order, FilterRetry) and task.due <= now:
                continue
            if task.due > now:
                if not task.passable:
                    return Idle(task.due, _asleep(task, now))
                dues.append(task.due)
            elif (obstacle := self._gate.obstacle(task.order)) is None:
                task.waits_for = ""
                return task
            else:
                task.waits_for = obstacle.awaited
                if obstacle.brief:
                    return Idle(min(dues, default=None), "waiting for snapshot")
            closed |= lanes
        return Idle(min(dues, default=None), "waiting for task" if closed else "")

    def _absorb(self, task: Task) -> None:
        """Merge into a task that is about to run the tasks behind it that may be done in the same execution.

        Stops at the first task that may not: another hook's, one that failed before, one whose lane is held up."""
        order, followers = task.order, list[Task]()
        if not isinstance(order, HookRun):
            return
        closed: set[Lane] = set()
        behind = False
        for other in self._tasks.values():
            if other is task:
                behind = True
            elif not behind:
                closed |= other.order.lanes
            elif not self._follows(order, other) or not closed.isdisjoint(other.order.lanes):
                break
            else:
                followers.append(other)
        task.order = order.merged([self._take_out(other) for other in followers])

    def _follows(self, order: HookRun, other: Task) -> bool:
        return other.failures == 0 and order.absorbs(other.order) and self._gate.obstacle(other.order) is None

    def settle(self, task: Task, outcome: Outcome) -> None:
        """Carry out the outcome of a task: the one place where that is decided."""
        self.running = None
        self._wake.set()
        if not self.holds(task):
            return
        match outcome:
            case Done(followers):
                self._remove(task)
                self.enqueue_first(followers)
            case Failed(reason, park):
                self._delay(task, back_off(task.failures, random.random()), passable=park)
                task.failures += 1
                task.error = reason
                task.queued_at = self._clock()
            case Postponed(seconds):
                self._delay(task, seconds, passable=True)
                task.is_rate_limited = True
            case Dropped():
                self._remove(task)

    def next_attempt(self, task: Task) -> float:
        """When a task is tried again (epoch seconds); 0 if it runs, or nothing delays it."""
        left = task.due - self._clock()
        return time.time() + left if left > 0 and task is not self.running else 0.0

    def dump(self, inline: Iterable[tuple[HookRun, float]] = ()) -> QueueDump:
        """The queue for the debug endpoint. `inline` are the hooks that a module's task runs, and when each began.
        Changes nothing."""
        if self.running is not None:
            status = "run first task"
        else:
            choice = self.pick(self._clock())
            status = choice.reason if isinstance(choice, Idle) else ""
        now = self._clock()
        shown = (f"{task.describe()}{self._progress(task, inline, now)}" for task in self._tasks.values())
        tasks = list(enumerate(shown, 1))
        return QueueDump(self.name, status, tuple(tasks))

    def _progress(self, task: Task, inline: Iterable[tuple[HookRun, float]], now: float) -> str:
        """For how long a task has been running, or what it waits for."""
        if task is not self.running:
            return _awaited(task, now)
        reported = f":{task.progress.text}" if task.progress.text else ""
        text = f":running for {brief_duration(now - self._began)}{reported}"
        module = task.order.unit if isinstance(task.order, UnitTask) else None
        hooks = [
            f"{order.label} for {brief_duration(now - began)}" for order, began in inline if order.module == module
        ]
        return f"{text} ({', '.join(hooks)})" if hooks else text

    def _delay(self, task: Task, seconds: float, passable: bool) -> None:
        task.due, task.delay, task.passable = self._clock() + seconds, seconds, passable
        task.is_rate_limited = False

    def _add(self, task: Task) -> None:
        self._tasks[task.id] = task
        if isinstance(task.order, HookRun):
            self.runs[task.order.hook] = self.runs.get(task.order.hook, 0) + 1

    def _remove(self, task: Task) -> None:
        task.over.set()
        if self._tasks.pop(task.id, None) and isinstance(task.order, HookRun):
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
            if task is not self.running and _compactable(task, hook):
                waiting.setdefault(held, []).append(task)
        longest = 0
        for (first, order), others in chain.from_iterable(map(_mergeable, waiting.values())):
            first.order = order.compacted([self._take_out(task) for task in others])
            longest = max(longest, len(first.order.contexts))
            self.compactions[hook] = self.compactions.get(hook, 0) + 1
        self._limits[hook] = max(self._compact_at, longest // 4, 2 * self.runs[hook])

    def _held(self, now: float) -> Iterator[tuple[Task, frozenset[Lane]]]:
        """All tasks, with the lanes of those that are set aside now; none for the others."""
        closed: set[Lane] = set()
        for task in self._tasks.values():
            lanes = task.order.lanes
            delayed = task.passable and task.due > now
            held = (
                lanes
                if delayed or not closed.isdisjoint(lanes) or self._gate.obstacle(task.order)
                else frozenset[Lane]()
            )
            closed |= held
            yield task, held


def _compactable(task: Task, hook: str) -> bool:
    order = task.order
    if not isinstance(order, HookRun) or order.hook != hook:
        return False
    return order.merges and not task.failures and not order.synchronizes


def _mergeable(runs: list[Task]) -> Iterator[tuple[tuple[Task, HookRun], list[Task]]]:
    """The first run and those that it may absorb; once for each kind that does not merge with the other."""
    while runs:
        first, order = runs[0], runs[0].order
        assert isinstance(order, HookRun)
        others = [task for task in runs[1:] if order.absorbs(task.order)]
        if others:
            yield (first, order), others
        taken = {first.id, *(task.id for task in others)}
        runs = [task for task in runs if task.id not in taken]


def _awaited(task: Task, now: float) -> str:
    """What a task that is set aside waits for, and until when; the pause of a whole queue is in its status."""
    left = task.due - now
    if left <= 0 or not task.passable:
        return ""
    until = rfc3339(time.time() + left)
    reason = "waiting for its rate limit until" if task.is_rate_limited else "next attempt at"
    return f":{reason} {until} ({left:.1f}s left)"


def _asleep(task: Task, now: float) -> str:
    return f"sleep after fail for {task.delay:g}s ({task.due - now:.1f}s left of {task.delay:g}s delay)"
