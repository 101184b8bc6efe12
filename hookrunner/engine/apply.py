"""Carries out the answer of a hook: object operations first, then metrics.

A retry runs the hook again, so it asks for the same operations again; those that an earlier attempt of the same task
has already carried out are not sent a second time.
"""

from collections import defaultdict
from collections.abc import Sequence

from hookrunner import log
from hookrunner.errors import BadFilter, FilterFailed, KubeError, PatchFailed
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.model.bindings import Hook
from hookrunner.model.operations import Answer, ObjectOperation, PreviousAttempt

_log = log.get("apply")


class Applier:
    """Knows the cluster and the hooks' metrics."""

    def __init__(self, objects: Objects, hook_metrics: HookMetrics) -> None:
        self._objects = objects
        self._hook_metrics = hook_metrics

    async def apply(self, hook: Hook, answer: Answer, previous: PreviousAttempt) -> None:
        """Apply an answer; `previous` are the operations of the attempt before, and become those of this one.

        Raises PatchFailed if an operation failed (all are attempted). A metric that conflicts with those there are is
        refused with an error in the log: a repeated run would add to its other metrics twice.
        """
        await self.carry_out(answer.objects, previous)
        for refusal in self._hook_metrics.apply(hook.label, answer.metrics, hook.module):
            _log.error("A metric was refused.", error=refusal)

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

    async def _attempt(self, operation: ObjectOperation) -> str:
        """Carry out one operation; returns why it failed, empty if it did not."""
        try:
            await self._objects.carry_out(operation)
        except (KubeError, BadFilter, FilterFailed) as error:
            return str(error) or type(error).__name__
        return ""


def _done_before(operations: Sequence[ObjectOperation], previous: PreviousAttempt) -> list[bool]:
    """Which operations need not be sent again."""
    asked, before = defaultdict[object, list[ObjectOperation]](list), defaultdict[object, PreviousAttempt](list)
    for operation in operations:
        asked[operation.target].append(operation)
    for operation, done in previous:
        before[operation.target].append((operation, done))
    verdicts = {target: iter(_done_before_on_object(asked[target], before[target])) for target in asked}
    return [next(verdicts[operation.target]) for operation in operations]


def _done_before_on_object(asked: list[ObjectOperation], before: PreviousAttempt) -> list[bool]:
    """The same for one object. If the hook has changed its mind about it, what was done may have to be done again: of
    `x=1`, then `x=2`, then `x=1` none is superfluous."""
    if asked == [operation for operation, _ in before]:
        return [done for _, done in before]
    done = [operation for operation, done in before if done]
    unchanged = len(done) if asked[: len(done)] == done else 0
    return [index < unchanged for index in range(len(asked))]
