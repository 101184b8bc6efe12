"""What tasks need from monitors: may it run, and the snapshots for its contexts, each read once per run
(shell-operator.md §5.4)."""

from hookrunner.errors import HookFailed
from hookrunner.model.contexts import Entry, Snapshots, wanted
from hookrunner.model.events import BindingId, Obstacle
from hookrunner.model.tasks import HookRun, Order
from hookrunner.sources.monitors import Monitors


def obstacle(monitors: Monitors, order: Order) -> Obstacle | None:
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


def snapshots(monitors: Monitors, order: HookRun) -> Snapshots:
    """The entries of each binding that the contexts name. From now on a change is news to the binding that this run
    synchronizes."""
    return {index: _read(monitors, order, index) for index in _needed(order)}


def unlock(monitors: Monitors, order: HookRun) -> None:
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
