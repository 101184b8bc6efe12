"""May a run start now: snapshots and rate limits, in virtual time. Queues ask in test_queues.py. Level: pure."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hookrunner.engine.run_gate import MissingSnapshot, RunGate
from hookrunner.errors import HookFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook, HookConfig, HookSettings
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.events import BindingId, Obstacle
from hookrunner.model.modules import GLOBAL
from hookrunner.model.tasks import HookRun, UnitTask
from hookrunner.sources.monitors import Monitors

pytestmark = pytest.mark.looptime

ORDER = HookRun("h", "b", BindingType.KUBERNETES, "main", (Context("b", ContextType.EVENT),), unlocks=(0,))
LISTING, NO_KIND = Obstacle("first list", brief=True), Obstacle("no such kind", brief=False)


class Monitor:
    """The monitor of the hook's binding, with the obstacle that a test sets."""

    binding = SimpleNamespace(name="cms")

    def __init__(self, obstacle: Obstacle | None = None) -> None:
        self.obstacle = obstacle
        self.locked = True

    def unlock(self) -> None:
        self.locked = False


def hook(interval: float = 0.0, burst: int = 1) -> Hook:
    return Hook("h", Path("/h"), HookConfig("v1", settings=HookSettings(min_interval=interval, burst=burst)))


def gate(monitor: Monitor | None = None, interval: float = 0.0, metrics: Metrics | None = None) -> RunGate:
    monitors: Any = {BindingId("h", 0): monitor or Monitor()}
    gate = RunGate(monitors, asyncio.get_running_loop().time, metrics or Metrics(""))
    gate.register(hook(interval))
    return gate


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_only_runs_of_hooks_are_held_up() -> None:
    guard = gate(Monitor(NO_KIND), interval=10.0)
    assert guard.obstacle(ORDER) == Obstacle("cms (no such kind)", brief=False)
    module = UnitTask("ModuleRun", "m", "test")
    assert (guard.obstacle(module), guard.take_token(module), guard.take_token(module)) == (None, 0.0, 0.0)


@dataclass
class Values:
    """Those of modules, and why they are not known."""

    unread: str = "ConfigMap ops/hookrunner: forbidden"


async def test_what_reads_values_waits_until_they_are_known() -> None:
    """The hooks of modules and of addons, and global ones; other hooks read none."""
    values, nothing_is_watched = Values(), cast(Monitors, {})
    guard = RunGate(nothing_is_watched, now, Metrics(""), values)
    orders = [HookRun("h", "b", BindingType.ON_STARTUP, "main", (), module=module) for module in ("", GLOBAL, "m")]
    obstacle = Obstacle(values.unread, brief=False, word="values")
    assert [guard.obstacle(order) for order in orders] == [None, obstacle, obstacle]
    with pytest.raises(MissingSnapshot, match=r"h: waiting for the values: ConfigMap ops/hookrunner: forbidden"):
        await guard.enter(orders[2], print, patience=1.0)
    entering = asyncio.create_task(guard.enter(orders[1], print))
    await asyncio.sleep(100)
    assert not entering.done()
    values.unread = ""
    guard.progress.notify()
    await entering


async def test_a_snapshot_that_is_gone_fails_the_run_and_is_counted() -> None:
    metrics = Metrics("")
    disabled = replace(ORDER, hook="gone")
    with pytest.raises(HookFailed, match="the hook was disabled meanwhile"):
        gate(metrics=metrics).read_snapshots(disabled)
    assert 'binding_monitor_missing_total{binding="b"} 1' in metrics.exposition().decode()


async def test_a_token_is_taken_once_and_the_next_one_comes_with_time() -> None:
    guard = gate(interval=10.0)
    assert (guard.take_token(ORDER), guard.take_token(ORDER)) == (0.0, 10.0)
    await asyncio.sleep(10)
    assert guard.take_token(ORDER) == 0.0


async def test_a_hook_that_is_registered_again_keeps_its_tokens_unless_it_was_unregistered() -> None:
    guard = gate(interval=10.0)
    guard.take_token(ORDER)
    guard.register(hook())
    assert guard.take_token(ORDER) > 0
    guard.unregister("h")
    guard.register(hook())
    assert (guard.take_token(ORDER), guard.take_token(ORDER)) == (0.0, 0.0)


async def test_runs_that_wait_for_the_rate_limit_start_in_the_order_of_their_calls() -> None:
    guard, started = gate(interval=2.0), list[tuple[int, float]]()

    async def enter(number: int) -> None:
        await guard.enter(ORDER, lambda reason: None)
        started.append((number, now()))

    await asyncio.gather(*map(enter, range(4)))
    assert started == [(0, 0.0), (1, 2.0), (2, 4.0), (3, 6.0)]


async def test_a_run_waits_for_its_snapshot_before_it_takes_a_token() -> None:
    monitor = Monitor(LISTING)
    guard, reports = gate(monitor, interval=60.0), list[str]()
    waiting = asyncio.create_task(guard.enter(ORDER, reports.append, patience=1.0))
    await asyncio.sleep(5)  # a first list that is under way is waited for however long it takes
    assert (reports, waiting.done()) == (["the snapshot of cms (first list)"], False)
    monitor.obstacle = None
    guard.progress.notify()
    await waiting
    assert (now(), guard.take_token(ORDER)) == (5.0, 60.0)


async def test_patience_ends_where_a_snapshot_needs_help_and_no_token_is_lost() -> None:
    guard = gate(Monitor(NO_KIND), interval=60.0)
    with pytest.raises(MissingSnapshot, match=r"h: waiting for the snapshot of cms \(no such kind\)"):
        await guard.enter(ORDER, lambda reason: None, patience=1.0)
    assert (now(), guard.take_token(ORDER)) == (1.0, 0.0)


async def test_a_snapshot_that_is_lost_during_the_rate_limit_is_waited_for() -> None:
    monitor = Monitor()
    guard = gate(monitor, interval=2.0)
    guard.take_token(ORDER)
    waiting = asyncio.create_task(guard.enter(ORDER, lambda reason: None))
    await asyncio.sleep(1)
    monitor.obstacle = NO_KIND
    await asyncio.sleep(4)
    assert not waiting.done()
    monitor.obstacle = None
    guard.progress.notify()
    await waiting


async def test_a_reason_is_shortened() -> None:
    guard, reports = gate(Monitor(Obstacle("x" * 1000, brief=False))), list[str]()
    with pytest.raises(MissingSnapshot):
        await guard.enter(ORDER, reports.append, patience=0.1)
    assert len(reports[0]) < 500


async def test_a_run_unlocks_the_bindings_that_it_synchronizes() -> None:
    monitor = Monitor()
    gate(monitor).unlock(ORDER)
    assert not monitor.locked
