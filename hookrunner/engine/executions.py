"""Runs of hooks that are under way: from the snapshots over the process to what the hook asked for
(shell-operator.md §6.4, §7.0). Who asked for the run, and what its failure means, is known elsewhere."""

import itertools
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeAlias

from hookrunner import log
from hookrunner.engine import readings
from hookrunner.engine.apply import Applier
from hookrunner.errors import PatchFailed
from hookrunner.hooks.run import ORDINARY, ExitedBadly, Runner, Terms, Usage
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Hook
from hookrunner.model.operations import Answer, Tried
from hookrunner.model.tasks import HookRun
from hookrunner.sources.monitors import Monitors

Turn: TypeAlias = AbstractAsyncContextManager[object]
"""What a process needs while it runs; its end gives it back."""

_UNBOUNDED: Turn = nullcontext()

_log = log.get("hook-run")


class Executions:
    """Runs hooks and carries out their answers. `running` are the runs of this moment and when they began."""

    def __init__(
        self, runner: Runner, applier: Applier, monitors: Monitors, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self.running: dict[int, tuple[HookRun, float]] = {}
        self.monitors = monitors
        self._runner = runner
        self._applier = applier
        self._metrics = metrics
        self._clock = clock
        self._numbers = itertools.count()

    async def run(
        self, hook: Hook, order: HookRun, tried: Tried, terms: Terms = ORDINARY, turn: Turn = _UNBOUNDED
    ) -> Answer:
        """One run. `tried` is what the attempt before has done, and becomes what this one does. `turn` is left when the
        process has ended, before anything of its answer is carried out.

        Raises HookFailed, PatchFailed.
        """
        number, began = next(self._numbers), self._clock()
        self.running[number] = (order, began)
        _log.debug("Execute hook", contexts=len(order.contexts))
        try:
            answer = await self._executed(hook, order, tried, terms, turn)
        finally:
            del self.running[number]
            self._metrics.hook_run_seconds.observe(self._clock() - began, *order.labels)
        self._metrics.hook_run_success.inc(*order.labels)
        _log.info("Hook executed successfully", seconds=round(self._clock() - began, 4))
        return answer

    async def _executed(self, hook: Hook, order: HookRun, tried: Tried, terms: Terms, turn: Turn) -> Answer:
        try:
            async with turn:
                snapshots = readings.snapshots(self.monitors, order)
                result = await self._runner.run(hook, order.contexts, snapshots, terms)
        except ExitedBadly as failure:
            if not terms.dry_run:
                await self._carry_out_despite(failure)
            raise
        self._record(order, result.usage)
        if not terms.dry_run:
            await self._applier.apply(hook.name, result.answer, tried)
        return result.answer

    async def _carry_out_despite(self, failure: ExitedBadly) -> None:
        """Operations with `ignoreHookError` (§7.1). What becomes of them must not hide why the hook failed."""
        try:
            await self._applier.carry_out(failure.operations, [])
        except PatchFailed as error:
            _log.error("An operation with ignoreHookError failed.", error=str(error))

    def _record(self, order: HookRun, usage: Usage) -> None:
        labels = order.labels
        self._metrics.hook_run_user_cpu_seconds.observe(usage.user_seconds, *labels)
        self._metrics.hook_run_sys_cpu_seconds.observe(usage.system_seconds, *labels)
        self._metrics.hook_run_max_rss_bytes.set(usage.max_rss_bytes, *labels)
