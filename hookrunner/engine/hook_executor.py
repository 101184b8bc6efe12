"""Executes runs of hooks: reads the snapshots, runs the process, carries out the answer (`Applier`): object operations
first, then metrics. Its callers know why a run takes place, and what its failure means: `workers.QueueRuns`, reviews,
and `InlineRuns` for the hooks of a module while the module is run.

A retry runs the hook again, so it asks for the same operations again; those that an earlier attempt of the same task
has already carried out are not sent a second time.
"""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol, TypeAlias

from hookrunner import log
from hookrunner.engine.run_deadlines import RunDeadlines
from hookrunner.engine.run_gate import RunGate
from hookrunner.errors import BadFilter, BadValues, FilterFailed, HookFailed, HookrunnerError, KubeError, PatchFailed
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.bindings import Hook
from hookrunner.model.hook_runs import DEFAULT_OPTIONS, ExitedBadly, RunOptions, Values
from hookrunner.model.operations import Answer, MetricOperation, ObjectOperation, PreviousAttempt
from hookrunner.model.tasks import HookRun
from hookrunner.waits import Notifier
from kubetypes.light_dataclasses import dataclass

Turn: TypeAlias = AbstractAsyncContextManager[object]
"""What a process holds while it runs; leaving it gives it back."""

_UNBOUNDED: Turn = nullcontext()

PATIENCE = 1.0
"""Seconds for a snapshot that needs something from outside: a CRD that is missing, a right. The next attempt is made
as soon as the snapshot has changed its state."""

_log = log.get(__name__)


class ValuesStore(Protocol):
    """The values of modules, as their hooks read and change them, and what hooks of addons report."""

    @property
    def unread(self) -> str:
        """Why the values are not known; empty if they are."""

    def files(self, module: str) -> Values:
        """The values that a hook of the module reads, and the instance if it is one of an addon."""

    async def keep(self, module: str, answer: Answer) -> bool:
        """Take the answer's patches; did the module's values change? Raises BadValues, KubeError."""

    def report(self, module: str, hook: str, conditions: Sequence[HookCondition]) -> None:
        """Take what a hook of an addon reports, in place of what it reported before."""


@dataclass(frozen=True, slots=True)
class ValuesChanged:
    """A run of a module's hook (or of a global one) has changed its values."""

    order: HookRun


class Applier:
    """Carries out answers, in the cluster and in the hooks' metrics."""

    def __init__(self, objects: Objects, hook_metrics: HookMetrics) -> None:
        self._objects = objects
        self._hook_metrics = hook_metrics

    async def apply(self, hook: Hook, answer: Answer, previous: PreviousAttempt) -> None:
        """Apply an answer; `previous` are the operations of the attempt before, and become those of this one.

        Raises PatchFailed if an operation failed (all are attempted). A metric that conflicts with existing ones is
        refused with an error in the log: a repeated run would add to its other metrics twice.
        """
        await self.carry_out(answer.objects, previous)
        if answer.metrics:
            await self._apply_metrics(hook, answer.metrics)

    def forget_module(self, module: str) -> None:
        """Drop what its hooks have exported."""
        self._hook_metrics.forget_module(module)

    async def carry_out(self, operations: Sequence[ObjectOperation], previous: PreviousAttempt) -> None:
        """All operations in order, each attempted once. Raises PatchFailed naming those that failed."""
        plan, failures = list(zip(operations, _done_before(operations, previous), strict=True)), list[str]()
        previous.clear()
        for operation, done in plan:
            reason = "" if done else await self._attempt(operation)
            previous.append((operation, not reason))
            if reason:
                failures.append(f"{operation}: {reason}")
        if failures:
            raise PatchFailed("; ".join(failures))

    async def _apply_metrics(self, hook: Hook, operations: Sequence[MetricOperation]) -> None:
        for refusals in self._hook_metrics.apply_in_steps(hook.label, operations, hook.module):
            for refusal in refusals:
                _log.error("metric refused", reason=refusal)
            await asyncio.sleep(0)

    async def _attempt(self, operation: ObjectOperation) -> str:
        """Carry out one operation; returns why it failed, empty if it did not."""
        try:
            await self._objects.carry_out(operation)
        except (KubeError, BadFilter, FilterFailed) as error:
            return str(error) or type(error).__name__
        return ""


class HookExecutor:
    """Runs hooks and carries out their answers. `running` are the runs of this moment and when they began, `deadlines`
    bound those of modules that are being deleted, `processes` are those of the hooks. `values` is None without
    modules."""

    def __init__(
        self,
        processes: HookProcesses,
        applier: Applier,
        gate: RunGate,
        run_metrics: RunMetrics,
        values: ValuesStore | None,
    ) -> None:
        self.running: dict[int, tuple[HookRun, float]] = {}
        self.deadlines = RunDeadlines()
        self._ended = Notifier()
        self._gate = gate
        self.run_metrics = run_metrics
        self._values = values
        self._changes = asyncio.Queue[ValuesChanged]()
        self.processes = processes
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
        """Execute one run. `previous` is what the attempt before has done, and becomes what this one does. `turn` is
        left when the process has ended, before its answer is carried out.

        A run whose objects were all deleted before its turn came is not needed, since their deletion is an event: the
        hook is not started, and the answer is empty. Raises HookFailed, PatchFailed.
        """
        number, began = next(self._numbers), self._clock()
        self.running[number] = (order, began)
        _log.debug("Execute hook", contexts=len(order.contexts))
        try:
            answer = await self._execute(hook, order, previous, options, turn)
        finally:
            del self.running[number]
            self._ended.notify()
            self.run_metrics.took(order, self._clock() - began)
        if answer is None:
            return Answer()
        self.run_metrics.succeeded(order)
        _log.info("Hook executed successfully", seconds=round(self._clock() - began, 4))
        return answer

    def count_failure(self, order: HookRun, error: HookrunnerError) -> bool:
        """Count a failed run. Returns whether it is allowed to fail."""
        self.run_metrics.failed(order, order.allow_failure)
        if order.allow_failure:
            _log.info("Hook failed, but allowed to fail", error=error)
        return order.allow_failure

    async def forget_module(self, module: str) -> None:
        """Wait until none of a module's hooks runs, then drop what they have exported: it will not come back."""
        while any(order.module == module for order, _ in self.running.values()):
            await self._ended.next()
        self.deadlines.forget(module)
        self._applier.forget_module(module)

    async def changes(self) -> AsyncIterator[ValuesChanged]:
        """Every run that changed values; runs until cancelled. For one reader."""
        while True:
            yield await self._changes.get()

    async def _execute(
        self, hook: Hook, order: HookRun, previous: PreviousAttempt, options: RunOptions, turn: Turn
    ) -> Answer | None:
        """The answer; None if the run was not needed."""
        try:
            async with turn:
                if not (contexts := self._gate.read_contexts(order)):
                    return None
                snapshots = self._gate.read_snapshots(order)
                values = self._values.files(hook.module) if self._values and hook.module else None
                async with self.deadlines.bound(order):
                    result = await self.processes.run(hook, contexts, snapshots, options, values)
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
        """Apply the patches of values that the hook asked for and take its report, last of all."""
        values = self._values
        if values and (answer.config or answer.values):
            await self._patch_values(values, hook, order, answer)
        if values and answer.conditions is not None:
            values.report(hook.module, hook.name, answer.conditions)

    async def _patch_values(self, values: ValuesStore, hook: Hook, order: HookRun, answer: Answer) -> None:
        try:
            changed = await values.keep(hook.module, answer)
        except (BadValues, KubeError) as error:
            raise PatchFailed(f"{hook.label}: its patch of values was refused: {error}") from error
        if changed:
            self._changes.put_nowait(ValuesChanged(order))

    async def _carry_out_despite_failure(self, failure: ExitedBadly) -> None:
        """Operations with `ignoreHookError`. Their failure must not hide why the hook failed."""
        try:
            await self._applier.carry_out(failure.operations, [])
        except PatchFailed as error:
            _log.error("operation with ignoreHookError failed", error=error)


class InlineRuns:
    """Runs a hook to its end for a caller that waits: hooks of a module while the module is run. They are in no queue,
    because the caller holds the queue of the module, and repeats what fails."""

    def __init__(self, executor: HookExecutor, gate: RunGate) -> None:
        self._executor = executor
        self._gate = gate

    async def run(self, hook: Hook, order: HookRun) -> None:
        """Run it when it may run, and let the events flow whose Synchronization it was.

        Raises MissingSnapshot, HookFailed, PatchFailed.
        """
        with log.bound(**order.fields, task=order.name):
            await self._gate.enter(order, _ignore, PATIENCE)
            if order.contexts:
                await self._run(hook, order)
            else:
                self._executor.run_metrics.took(order, 0.0)
            self._gate.unlock(order)

    async def _run(self, hook: Hook, order: HookRun) -> None:
        try:
            await self._executor.run(hook, order, [])
        except (HookFailed, PatchFailed) as error:
            if not self._executor.count_failure(order, error):
                raise


def _ignore(reason: str) -> None:
    """An inline run reports nowhere what it waits for."""


def _done_before(operations: Sequence[ObjectOperation], previous: PreviousAttempt) -> list[bool]:
    """Which operations need not be sent again."""
    requested, before = defaultdict[object, list[ObjectOperation]](list), defaultdict[object, PreviousAttempt](list)
    for operation in operations:
        requested[operation.target].append(operation)
    for operation, done in previous:
        before[operation.target].append((operation, done))
    verdicts = {target: iter(_done_before_on_object(requested[target], before[target])) for target in requested}
    return [next(verdicts[operation.target]) for operation in operations]


def _done_before_on_object(requested: list[ObjectOperation], before: PreviousAttempt) -> list[bool]:
    """The same for one object. If the hook asks for something else this time, an operation may have to be repeated: of
    `x=1`, then `x=2`, then `x=1` none is superfluous."""
    if requested == [operation for operation, _ in before]:
        return [done for _, done in before]
    done = [operation for operation, done in before if done]
    unchanged = len(done) if requested[: len(done)] == done else 0
    return [index < unchanged for index in range(len(requested))]
