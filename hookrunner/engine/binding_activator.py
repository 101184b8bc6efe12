"""Starts and stops the event sources of a hook: its monitors and its crontabs."""

import asyncio
from collections.abc import Callable

from hookrunner import log
from hookrunner.engine import dispatch
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.model.bindings import Hook
from hookrunner.model.events import BindingId, FilterBroke
from hookrunner.model.modules import GLOBAL
from hookrunner.model.tasks import Done, Failed, HookRun, Outcome
from hookrunner.sources.monitor import Monitor
from hookrunner.sources.monitors import Monitors
from hookrunner.sources.schedule import Schedules

_log = log.get("enabling")


class BindingActivator:
    """Enables and disables hooks. BindingActivator twice changes nothing."""

    def __init__(
        self, monitors: Monitors, schedules: Schedules, jq: Jq, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._monitors = monitors
        self._schedules = schedules
        self._jq = jq
        self._metrics = metrics
        self._run_metrics = RunMetrics(metrics, clock)
        self._clock = clock
        self._armed: dict[str, list[tuple[str, str]]] = {}

    async def activate_kubernetes(self, hook: Hook) -> tuple[HookRun, ...]:
        """Follow the objects of each binding and return the Synchronization runs.

        Waits until each binding has listed its objects or is known to need help from outside; such a binding is late,
        and its Synchronization waits in the queue, where others pass it.
        """
        began = self._clock()
        monitors = [await self._open_monitor(hook, index) for index in range(len(hook.config.kubernetes))]
        await asyncio.gather(*(monitor.decided.wait() for monitor in monitors))
        late = [f"{monitor.binding.name}: {monitor.obstacle.reason}" for monitor in monitors if monitor.obstacle]
        labels = (hook.label, *hook.owner)
        self._metrics.hook_enable_kubernetes_bindings_seconds.set(self._clock() - began, *labels)
        self._metrics.hook_enable_kubernetes_bindings_errors.add(len(late), *labels)
        self._metrics.hook_enable_kubernetes_bindings_success.set(0 if late else 1, *labels)
        if late and hook.module == GLOBAL:
            self._run_metrics.not_enabled(hook)
        for reason in late:
            _log.warn("A binding waits, everything else goes on.", **hook.fields, reason=reason)
        return dispatch.synchronizations(hook, self._clock())

    def is_synchronized(self, hook: Hook) -> bool:
        """Do events flow for each binding with `waitForSynchronization`?"""
        waited = [i for i, binding in enumerate(hook.config.kubernetes) if binding.wait_for_synchronization]
        monitors = [self._monitors.get(BindingId(hook.name, index)) for index in waited]
        return all(monitor is not None and not monitor.locked for monitor in monitors)

    def is_locked(self, run: HookRun) -> bool:
        """Has the Synchronization of this run not happened yet?"""
        monitors = (self._monitors.get(BindingId(run.hook, index)) for index in run.unlocks)
        return any(monitor is not None and monitor.locked for monitor in monitors)

    def arm_schedules(self, hook: Hook) -> None:
        """Arm its crontabs."""
        if hook.name not in self._armed:
            self._armed[hook.name] = [(schedule.crontab, schedule.timezone) for schedule in hook.config.schedules]
            for entry in self._armed[hook.name]:
                self._schedules.arm(*entry)

    def deactivate(self, hook: Hook) -> None:
        """Stop everything that `activate_kubernetes` and `arm_schedules` have started."""
        for index in range(len(hook.config.kubernetes)):
            self._monitors.remove(BindingId(hook.name, index))
        self.disarm_schedules(hook)

    def disarm_schedules(self, hook: Hook) -> None:
        """Disarm its crontabs."""
        for entry in self._armed.pop(hook.name, []):
            self._schedules.disarm(*entry)

    async def refilter(self, broken: FilterBroke) -> Outcome:
        """Try a filter again that failed on an object."""
        monitor = self._monitors.get(broken.binding)
        reason = await monitor.refilter(broken.key, self._clock()) if monitor else ""
        if monitor and reason:
            labels = monitor.projection.labels
            self._metrics.filter_errors.inc(labels.hook, labels.binding, *labels.owner)
        return Failed(reason, park=True) if reason else Done()

    async def _open_monitor(self, hook: Hook, index: int) -> Monitor:
        id, binding = BindingId(hook.name, index), hook.config.kubernetes[index]
        if known := self._monitors.get(id):
            return known
        program = await self._jq.compile(binding.jq_filter) if binding.jq_filter else None
        return self._monitors.add(id, binding, program, hook.module)
