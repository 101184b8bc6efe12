"""Which hooks need the user: those that fail and are tried again, and those whose run does not end."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hookrunner.engine.queues import Queue
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import one_line
from hookrunner.model.tasks import HookRun, Task, UnitTask
from hookrunner.model.timestamps import brief_duration

LONG = 600.0
"""Seconds from which a run that others wait for is reported."""

_ACTION = "hookrunner queue list"


def failing_hooks(queues: Iterable[Queue]) -> Iterator[UserNeed]:
    """One for each hook: of its tasks that failed the one that did so most often."""
    worst = dict[str, tuple[Task, Queue, int]]()
    for task, queue, behind in _failed_tasks(queues):
        known = worst.get(task.order.hook)
        if known is None or known[0].failures < task.failures:
            worst[task.order.hook] = task, queue, behind
    for hook, (task, queue, behind) in worst.items():
        need = UserNeed(Urgency.FAILING, "hooks", hook, one_line(task.failure), _ACTION, task.failures)
        yield replace(need, again=queue.next_attempt(task), queue=queue.name, behind=behind)


def _failed_tasks(queues: Iterable[Queue]) -> Iterator[tuple[Task, Queue, int]]:
    """Those of hooks, each with how many tasks wait for it."""
    for queue in queues:
        for place, task in enumerate(tasks := [*queue]):
            if task.failures and not isinstance(task.order, UnitTask):
                yield task, queue, 0 if task.passable else len(tasks) - place - 1


def endless_runs(queues: Iterable[Queue], running: Iterable[tuple[HookRun, float]], now: float) -> Iterator[UserNeed]:
    """The runs of this moment that began long before `now`, and are waited for."""
    lengths = {queue.name: len(queue) for queue in queues}
    for run, began in running:
        behind = lengths.get(run.queue, 0) - 1
        if now - began >= LONG and behind > 0:
            message = f"has been running for {brief_duration(now - began)} for {run.binding}"
            yield UserNeed(Urgency.WAITING, "hooks", run.hook, message, _ACTION, queue=run.queue, behind=behind)
