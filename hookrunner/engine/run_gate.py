"""What tasks need from monitors: may it run, and the snapshots for its contexts, each read once per run
(shell-operator.md §5.4)."""

import asyncio

from hookrunner.errors import HookFailed
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Entry, Snapshots, wanted
from hookrunner.model.events import BindingId, Obstacle
from hookrunner.model.tasks import HookRun, Order
from hookrunner.pacing import TokenBucket
from hookrunner.sources.monitors import Monitors


def snapshot_obstacle(monitors: Monitors, order: Order) -> Obstacle | None:
    """Why a task must not run now: the first snapshot that it would read, or open, and that cannot be used."""
    if not isinstance(order, HookRun):
        return None
    for index in sorted(_needed(order)):
        monitor = monitors.get(BindingId(order.hook, index))
        if monitor is None:
            return Obstacle(f"binding {index}, which nothing watches", brief=False)
        if found := monitor.obstacle:
            return Obstacle(f"{monitor.binding.name} ({found.reason})", found.brief)
    return None


def read_snapshots(monitors: Monitors, order: HookRun) -> Snapshots:
    """The entries of each binding that the contexts name. From now on a change is news to the binding that this run
    synchronizes."""
    return {index: _read(monitors, order, index) for index in _needed(order)}


def unlock_bindings(monitors: Monitors, order: HookRun) -> None:
    """The Synchronization is done: events may flow."""
    for index in order.unlocks:
        if monitor := monitors.get(BindingId(order.hook, index)):
            monitor.unlock()


def _needed(order: HookRun) -> set[int]:
    """Places of the bindings whose snapshots a run reads or whose gates it opens."""
    return wanted(order.contexts).union(order.unlocks)


def _read(monitors: Monitors, order: HookRun, index: int) -> list[Entry]:
    monitor = monitors.get(BindingId(order.hook, index))
    if monitor is None:
        raise HookFailed(f"the snapshot of binding {index} is gone: the hook was disabled meanwhile")
    monitor.snapshot.run_started()
    if index in order.unlocks and monitor.binding.run_on_synchronization:
        return monitor.read_for_synchronization()
    return monitor.snapshot.read()


class Rates:
    """The buckets of all hooks; a hook's runs have one, whoever asks for them."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, hook: Hook, now: float) -> float:
        """0 if the hook may run now, which counts as a run; otherwise the seconds until it may."""
        settings = hook.config.settings
        bucket = self._buckets.setdefault(hook.name, TokenBucket(settings.min_interval, settings.burst))
        return bucket.take(now)

    def forget(self, hook: str) -> None:
        """If the hook comes again, its rate may be another."""
        self._buckets.pop(hook, None)


class Notifier:
    """Any number may wait for the next time. Nobody who looks first and then waits without a pause misses one."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Let them look again."""
        self._next.set()
        self._next = asyncio.Event()

    async def next(self) -> None:
        """Wait for it."""
        await self._next.wait()
