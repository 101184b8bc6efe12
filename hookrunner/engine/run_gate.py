"""May a hook run now, and until when? One answer for runs from queues, runs inside a module's run, and reviews.

A run needs the snapshots that its contexts name, or whose events it lets flow, for a hook of a module or a global one
the values, as they were read from the cluster, and a token of its hook's rate limit
(`settings.executionMinInterval` and `executionBurst`, docs/hooks.md). A queue asks and goes on with other tasks
(`obstacle`, `take_token`); all others wait (`enter`). The snapshots are read here, each once per run.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from hookrunner.errors import HookFailed
from hookrunner.kube.back_off import TokenBucket
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook
from hookrunner.model.contexts import Entry, Snapshots, wanted
from hookrunner.model.events import UNKNOWN_VALUES, BindingId, Obstacle
from hookrunner.model.tasks import HookRun, Order
from hookrunner.sources.monitors import Monitors
from kubetypes.timers import TICK, timeout_at

_LONGEST_REASON = 400
"""Characters. The reason for a missing snapshot may quote hookrunner's answer to another review, which quotes the
reason for which that one had no snapshot, and so on."""

_DELETION = frozenset({BindingType.BEFORE_DELETE_HELM, BindingType.AFTER_DELETE_HELM})


class MissingSnapshot(HookFailed):
    """A hook cannot run because a snapshot is missing, or its values are not known."""


class Notifier:
    """Wakes all that wait for the next notice. A reader that checks first, and then waits without an `await` between,
    misses none."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Wake all that wait."""
        self._next.set()
        self._next = asyncio.Event()

    async def next(self) -> None:
        """Wait for the next notice."""
        await self._next.wait()


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


class RunDeadlines:
    """Until when hooks of a module may run that is being deleted. A hook that hangs would keep an instance of an addon
    alive: its deletion waits for the run that is under way. Hooks of the deletion itself are not bound: they take as
    long as they need, and may have a `settings.timeout`.

        deadlines.set("coredns.kube-system.default", 25.0)
        async with deadlines.bound(order):
            ...                             # cancelled when the time is over; then HookFailed is raised

    Deadlines are by the modules' names, in seconds of the loop's clock."""

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}
        self._bound: dict[asyncio.Timeout, str] = {}

    def set(self, module: str, seconds: float) -> None:
        """Runs of its hooks end in so many seconds: those that are under way, and those that begin later."""
        deadline = asyncio.get_running_loop().time() + max(seconds, TICK)
        self._deadlines[module] = deadline
        for timeout, name in self._bound.items():
            if name == module:
                timeout.reschedule(deadline)

    def forget(self, module: str) -> None:
        """It is deleted; another one may get its name."""
        self._deadlines.pop(module, None)

    @asynccontextmanager
    async def bound(self, order: HookRun) -> AsyncIterator[None]:
        """Cancel what happens inside when the time of the run is over. Raises HookFailed then."""
        if not order.module or order.binding_type in _DELETION:
            yield
            return
        timeout = asyncio.timeout_at(self._deadlines.get(order.module))
        try:
            async with timeout:
                self._bound[timeout] = order.module
                try:
                    yield
                finally:
                    del self._bound[timeout]
        except TimeoutError:
            if not timeout.expired():
                raise
            raise HookFailed(f"{order.hook} was ended: {order.module} is being deleted") from None
