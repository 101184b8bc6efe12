"""May a hook run now? One answer for runs from queues, runs inside a module's run, and reviews.

A run needs the snapshots that its contexts name, or whose events it lets flow, for a hook of a module or a global one
the values, as they were read from the cluster, and a token of its hook's rate limit
(`settings.executionMinInterval` and `executionBurst`, docs/hooks.md). A queue asks and goes on with other tasks
(`obstacle`, `take_token`); all others wait (`enter`). The snapshots are read here, each once per run.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from hookrunner.errors import HookFailed
from hookrunner.kube.back_off import TokenBucket
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, Entry, Snapshots, wanted, with_objects
from hookrunner.model.events import UNKNOWN_VALUES, BindingId, Obstacle
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import HookRun, Order
from hookrunner.sources.monitor import Monitor
from hookrunner.sources.monitors import Monitors
from hookrunner.waits import Notifier
from kubetypes.timers import timeout_at

_LONGEST_REASON = 400
"""Characters. The reason for a missing snapshot may quote hookrunner's answer to another review, which quotes the
reason for which that one had no snapshot, and so on."""


class MissingSnapshot(HookFailed):
    """A hook cannot run because a snapshot is missing, or its values are not known."""


class KnownValues(Protocol):
    """Knows whether the values that hooks read are known."""

    @property
    def unread(self) -> str:
        """Why they are not known; empty if they are."""


class RunGate:
    """Knows what holds up runs. `progress` gives notice that a snapshot or the values may have become usable, or that a
    task of the start is done. `values` are None without modules."""

    def __init__(
        self, monitors: Monitors, clock: Callable[[], float], metrics: Metrics, values: KnownValues | None = None
    ) -> None:
        self.progress = Notifier()
        self._values = values
        self._monitors = monitors
        self._lost = metrics.binding_monitor_missing
        self._clock = clock
        self._buckets: dict[str, TokenBucket] = {}
        self._lines = defaultdict[str, asyncio.Lock](asyncio.Lock)

    def register(self, hook: Hook) -> None:
        """Register a hook's rate limit. A registered hook keeps its tokens."""
        settings = hook.config.settings
        self._buckets.setdefault(hook.name, TokenBucket(settings.min_interval, settings.burst))

    def unregister(self, hook: str) -> None:
        """Forget a hook's rate limit: if the hook comes back, it may be another."""
        self._buckets.pop(hook, None)
        self._lines.pop(hook, None)

    def obstacle(self, order: Order) -> Obstacle | None:
        """Why a task must not run now: it reads values that are not known, or the first snapshot that it would read, or
        open, cannot be used."""
        if not isinstance(order, HookRun):
            return None
        if order.module and self._values and (unread := self._values.unread):
            return Obstacle(unread, brief=False, word=UNKNOWN_VALUES)
        for index in sorted(_needed(order)):
            monitor = self._monitors.get(BindingId(order.hook, index))
            if monitor is None:
                return Obstacle(f"binding {index}, which nothing watches", brief=False)
            if obstacle := monitor.obstacle:
                return Obstacle(f"{monitor.binding.name} ({obstacle.reason})", obstacle.brief)
        return None

    def take_token(self, order: Order) -> float:
        """0 if the rate limit lets the order run now, which counts as a run; otherwise the seconds until it does."""
        bucket = self._buckets.get(order.hook) if isinstance(order, HookRun) else None
        return bucket.take(self._clock()) if bucket else 0.0

    async def enter(self, order: HookRun, report: Callable[[str], None], patience: float | None = None) -> None:
        """Wait until the run may start; then it counts as one. `report` takes what it waits for. `patience` are seconds
        for a snapshot that needs something from outside: a CRD that is missing, a right; None: without limit.

        Raises MissingSnapshot.
        """
        await self.wait_for_snapshots(order, report, patience)
        if await self._wait_for_token(order, report):
            await self.wait_for_snapshots(order, report, patience)  # one may have become unusable meanwhile

    async def wait_for_snapshots(
        self, order: HookRun, report: Callable[[str], None], patience: float | None = None
    ) -> None:
        """Wait until all snapshots of the run are usable. Raises MissingSnapshot."""
        until = None if patience is None else self._clock() + patience
        while obstacle := self.obstacle(order):
            due = None if obstacle.brief else until
            if due is not None and self._clock() >= due:
                raise MissingSnapshot(f"{order.label}: waiting for the {obstacle.awaited}")
            report(f"the {_shorten(obstacle.awaited)}")
            try:
                async with timeout_at(due, self._clock()):
                    await self.progress.next()
            except TimeoutError:
                continue

    async def _wait_for_token(self, order: HookRun, report: Callable[[str], None]) -> bool:
        """Take a token, in the order of the calls: only the first that waits looks whether there is one. Returns
        whether that took time."""
        line = self._lines[order.hook]
        has_waited = line.locked()
        report("the hook's own rate limit (settings.executionMinInterval)")
        async with line:
            while (pause := self.take_token(order)) > 0:
                has_waited = True
                await asyncio.sleep(pause)
        return has_waited

    def unlock(self, order: HookRun) -> None:
        """Let events flow for the bindings whose Synchronization this run was."""
        for index in order.unlocks:
            if monitor := self._monitors.get(BindingId(order.hook, index)):
                monitor.unlock()

    def begin_with_each(self, order: HookRun, indices: Iterable[int]) -> dict[int, list[ObjectKey]]:
        """The objects of those bindings, which the run is to unlock now, that have a run for each."""
        monitors = {index: self._monitors.get(BindingId(order.hook, index)) for index in indices}
        return {index: monitor.begin_with_each() for index, monitor in monitors.items() if monitor}

    def note_tried(self, order: HookRun) -> bool:
        """A run has been tried, with any outcome. Was it the last one that a binding owes its objects at the start?"""
        tried = [(monitor, context.key) for context, monitor in self._untried(order) if context.key in monitor.untried]
        for monitor, key in tried:
            monitor.untried.discard(key)
        return any(not monitor.untried for monitor, _ in tried)

    def _untried(self, order: HookRun) -> Iterator[tuple[Context, Monitor]]:
        for context in order.contexts:
            monitor = self._monitors.get(BindingId(order.hook, context.source or 0)) if context.key else None
            if monitor and monitor.untried:
                yield context, monitor

    def read_contexts(self, order: HookRun) -> tuple[Context, ...]:
        """The contexts with the objects that are read when a run starts; none if those no longer exist."""

        def find(index: int, key: ObjectKey) -> Entry | None:
            monitor = self._monitors.get(BindingId(order.hook, index))
            return monitor.snapshot.get(key) if monitor else None

        return with_objects(order.contexts, find)

    def read_snapshots(self, order: HookRun) -> Snapshots:
        """The entries of each binding that the contexts name. From now on a change is an event for the binding that
        this run synchronizes. Raises HookFailed."""
        return {index: self._read(order, index) for index in _needed(order)}

    def _read(self, order: HookRun, index: int) -> list[Entry]:
        monitor = self._monitors.get(BindingId(order.hook, index))
        if monitor is None:
            self._lost.inc(order.binding)
            raise HookFailed(f"the snapshot of binding {index} is gone: the hook was disabled meanwhile")
        monitor.snapshot.reset_run_counts()
        if index in order.unlocks and monitor.binding.run_on_synchronization:
            return monitor.read_for_synchronization()
        return monitor.snapshot.read()


def _needed(order: HookRun) -> set[int]:
    """Indices of the bindings whose snapshots a run reads or whose events it lets flow."""
    return wanted(order.contexts).union(order.unlocks)


def _shorten(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
