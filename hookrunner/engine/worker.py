"""One worker per queue: take a task, run it, settle it (shell-operator.md §6.3)."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from hookrunner import log
from hookrunner.engine.queues import Queue
from hookrunner.errors import internal
from hookrunner.model.tasks import Failed, Outcome, Task

Run: TypeAlias = Callable[[Queue, Task], Awaitable[Outcome]]

_log = log.get("worker")


async def work(queue: Queue, run: Run) -> None:
    """Work on a queue until it is closed. Whatever goes wrong inside a task is that task's failure."""
    while (task := await queue.take()) is not None:
        queue.settle(task, await _outcome(queue, task, run))


async def _outcome(queue: Queue, task: Task, run: Run) -> Outcome:
    try:
        return await run(queue, task)
    except Exception as error:
        _log.exception("A task failed in an unforeseen way and will be tried again; please report this.")
        return Failed(internal(error))
