"""Which runs that wait in a queue become one, and what is left of them. How two become one: `HookRun.merged`; when:
`queues.py`.
"""

from collections.abc import Iterator
from dataclasses import replace

from hookrunner.model.lanes import lane_of
from hookrunner.model.tasks import HookRun, Task


def compactable(task: Task, hook: str) -> bool:
    """May it be merged with other runs of this hook, wherever they stand?"""
    order = task.order
    if not isinstance(order, HookRun) or order.hook != hook:
        return False
    return order.merges and not task.failures and not (order.synchronizes or order.synchronizes_object)


def mergeable(runs: list[Task]) -> Iterator[tuple[tuple[Task, HookRun], list[Task]]]:
    """The first run and those that it may absorb; once for each kind that does not merge with the other."""
    while runs:
        first, order = runs[0], runs[0].order
        assert isinstance(order, HookRun)
        others = [task for task in runs[1:] if order.absorbs(task.order)]
        if others:
            yield (first, order), others
        taken = {first.id, *(task.id for task in others)}
        runs = [task for task in runs if task.id not in taken]


def latest(order: HookRun) -> HookRun:
    """The run with the last context of each object only."""
    by_object = {lane_of(order, context): context for context in order.contexts}
    return replace(order, contexts=tuple(by_object.values()))
