"""Executes runs of hooks: reads the snapshots, runs the process, carries out the answer. Why a run takes place, and
what its failure means, its callers know."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hookrunner import log
from hookrunner.engine.apply import Applier
from hookrunner.engine.run_gate import RunGate
from hookrunner.errors import BadValues, HookrunnerError, KubeError, PatchFailed
from hookrunner.hooks.hook_process import DEFAULT_OPTIONS, ExitedBadly, HookProcesses, RunOptions
from hookrunner.hooks.workspace import Values
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.model.bindings import Hook
from hookrunner.model.operations import Answer, PreviousAttempt
from hookrunner.model.tasks import HookRun

Turn: TypeAlias = AbstractAsyncContextManager[object]
"""What a process needs while it runs; its end gives it back."""

_UNBOUNDED: Turn = nullcontext()

_log = log.get("hook-run")


class ValuesStore(Protocol):
    """The values of modules, as their hooks read and change them."""

    def files(self, module: str) -> Values:
        """What a hook of the module is given."""

    async def keep(self, module: str, answer: Answer) -> bool:
        """Take the answer's patches; did the module's values change? Raises BadValues, KubeError."""


@dataclass(frozen=True, slots=True)
class ValuesChanged:
    """A run of a module's hook (or of a global one) has changed its values."""

    order: HookRun


class HookExecutor:
    """Runs hooks and carries out their answers. `running` are the runs of this moment and when they began. `values` is
    None without modules."""

    def __init__(
        self,
        processes: HookProcesses,
        applier: Applier,
        gate: RunGate,
        run_metrics: RunMetrics,
        values: ValuesStore | None,
    ) -> None:
        self.running: dict[int, tuple[HookRun, float]] = {}
        self._gate = gate
        self.run_metrics = run_metrics
        self._values = values
        self._changes = asyncio.Queue[ValuesChanged]()
        self._processes = processes
        self._applier = applier
        self._clock = run_metrics.clock
        self._numbers = itertools.count()

    async def run(
        self,
        hook: Hook,
        order: HookRun,
        previous: PreviousAttempt,
        options: RunOptions = DEFAULT_OPTIONS,
        turn: Turn = _UNBOUNDED,
    ) -> Answer:
        """One run. `previous` is what the attempt before has done, and becomes what this one does. `turn` is left when
        the process has ended, before anything of its answer is carried out.

        Raises HookFailed, PatchFailed.
        """
        number, began = next(self._numbers), self._clock()
        self.running[number] = (order, began)
        _log.debug("Execute hook", contexts=len(order.contexts))
        try:
            answer = await self._execute(hook, order, previous, options, turn)
        finally:
            del self.running[number]
            self.run_metrics.took(order, self._clock() - began)
        self.run_metrics.succeeded(order)
        _log.info("Hook executed successfully", seconds=round(self._clock() - began, 4))
        return answer

    def count_failure(self, order: HookRun, error: HookrunnerError) -> bool:
        """Count a failed run. Returns whether it is allowed to fail."""
        self.run_metrics.failed(order, order.allow_failure)
        if order.allow_failure:
            _log.info("Hook failed, but allowed to fail", error=str(error))
        return order.allow_failure

    async def changes(self) -> AsyncIterator[ValuesChanged]:
        """Every run that changed values; runs until cancelled. For one reader."""
        while True:
            yield await self._changes.get()

    async def _execute(
        self, hook: Hook, order: HookRun, previous: PreviousAttempt, options: RunOptions, turn: Turn
    ) -> Answer:
        try:
            async with turn:
                snapshots = self._gate.read_snapshots(order)
                values = self._values.files(hook.module) if self._values and hook.module else None
                result = await self._processes.run(hook, order.contexts, snapshots, options, values)
        except ExitedBadly as failure:
            if not options.dry_run:
                await self._carry_out_despite_failure(failure)
            raise
        self.run_metrics.used(order, result.usage)
        if not options.dry_run:
            await self._applier.apply(hook, result.answer, previous)
            await self._keep(hook, order, result.answer)
        return result.answer

    async def _keep(self, hook: Hook, order: HookRun, answer: Answer) -> None:
        """Apply the patches of values that the hook asked for, last of all."""
        if self._values is None or not (answer.config or answer.values):
            return
        try:
            changed = await self._values.keep(hook.module, answer)
        except (BadValues, KubeError) as error:
            raise PatchFailed(f"{hook.label}: its patch of values was refused: {error}") from error
        if changed:
            self._changes.put_nowait(ValuesChanged(order))

    async def _carry_out_despite_failure(self, failure: ExitedBadly) -> None:
        """Operations with `ignoreHookError`. Their failure must not hide why the hook failed."""
        try:
            await self._applier.carry_out(failure.operations, [])
        except PatchFailed as error:
            _log.error("An operation with ignoreHookError failed.", error=str(error))
