"""Carry out what a hook answered: object operations first, then metrics (shell-operator.md §7.0).

A retry runs the hook again, so it asks for the same operations again; those that an earlier attempt of the same task
has already carried out are not sent a second time (design.md, weakness 22).
"""

from collections.abc import Sequence

from hookrunner import log
from hookrunner.errors import BadFilter, FilterFailed, KubeError, PatchFailed
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.model.operations import Answer, ObjectOperation

_log = log.get("apply")


class Applier:
    """Knows the cluster and the hooks' metrics."""

    def __init__(self, objects: Objects, hook_metrics: HookMetrics) -> None:
        self._objects = objects
        self._hook_metrics = hook_metrics

    async def apply(self, hook: str, answer: Answer, applied: list[ObjectOperation]) -> None:
        """Apply an answer; `applied` is what an earlier attempt did, and grows by what this one does.

        Raises PatchFailed if an operation failed (all are attempted). A metric that conflicts with those there are is
        refused with an error in the log: a repeated run would add to its other metrics twice.
        """
        await self.carry_out(answer.objects, applied)
        for refusal in self._hook_metrics.apply(hook, answer.metrics):
            _log.error("A metric was refused.", error=refusal)

    async def carry_out(self, operations: Sequence[ObjectOperation], applied: list[ObjectOperation]) -> None:
        """All operations in order, each attempted once. Raises PatchFailed naming those that failed."""
        earlier, failures = list(applied), list[str]()
        for operation in operations:
            if operation in earlier:
                earlier.remove(operation)
                continue
            try:
                await self._objects.carry_out(operation)
                applied.append(operation)
            except (KubeError, BadFilter, FilterFailed) as error:
                failures.append(f"{operation}: {error}")
        if failures:
            raise PatchFailed("; ".join(failures))
