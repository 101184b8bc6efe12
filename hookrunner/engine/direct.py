"""Runs a hook for somebody who waits for the end of the run: what a module's hooks do while the module itself is run
(addon-operator.md §4.1, §4.3). Outside of queues: whoever waits holds the module's queue, and repeats what fails."""

import asyncio
from collections.abc import Callable

from hookrunner import log
from hookrunner.engine import readings
from hookrunner.engine.executions import Executions
from hookrunner.engine.progress import Progress
from hookrunner.engine.rates import Rates
from hookrunner.errors import HookFailed, PatchFailed
from hookrunner.model.bindings import Hook
from hookrunner.model.tasks import HookRun
from kubetypes.timers import timeout_at

PATIENCE = 1.0
"""Seconds for a snapshot that somebody must do something for: a CRD that is missing, a right. The next attempt is made
as soon as there is news."""

_log = log.get("hook-run")


class SnapshotMissing(HookFailed):
    """A hook cannot run for want of a snapshot."""


class DirectRuns:
    """One run after another, each to its end. `progress` tells when snapshots may be there."""

    def __init__(self, executions: Executions, rates: Rates, progress: Progress, clock: Callable[[], float]) -> None:
        self._executions = executions
        self._rates = rates
        self._progress = progress
        self._clock = clock

    async def run(self, hook: Hook, order: HookRun) -> None:
        """Run it when its rate allows it and its snapshots are there, and open the gates that wait for it.

        Raises HookFailed, PatchFailed.
        """
        with log.bound(**order.fields, task=order.name):
            await self._paced(hook)
            await self._readable(order)
            if order.contexts:
                await self._run(hook, order)
            else:
                self._executions.measures.took(order, 0.0)
            readings.unlock(self._executions.monitors, order)

    async def _run(self, hook: Hook, order: HookRun) -> None:
        try:
            await self._executions.run(hook, order, [])
        except (HookFailed, PatchFailed) as error:
            self._executions.measures.failed(order, order.allow_failure)
            if not order.allow_failure:
                raise
            _log.info("Hook failed, but allowed to fail", error=str(error))

    async def _paced(self, hook: Hook) -> None:
        # Nothing tells when a token is there but the time.
        while (pause := self._rates.take(hook, self._clock())) > 0:  # noqa: ASYNC110
            await asyncio.sleep(pause)

    async def _readable(self, order: HookRun) -> None:
        until = self._clock() + PATIENCE
        while found := readings.obstacle(self._executions.monitors, order):
            if not found.brief and self._clock() >= until:
                raise SnapshotMissing(f"{order.label}: waiting for the snapshot of {found.reason}")
            try:
                async with timeout_at(None if found.brief else until, self._clock()):
                    await self._progress.next()
            except TimeoutError:
                continue
