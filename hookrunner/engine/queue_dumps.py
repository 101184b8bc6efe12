"""A queue as `queue list` shows it: its tasks in order, what each is at, and why none runs."""

import time
from collections.abc import Iterable

from hookrunner.engine.queues import Idle, Queue
from hookrunner.model.status import QueueDump
from hookrunner.model.tasks import HookRun, Task, UnitTask
from hookrunner.model.timestamps import brief_duration, rfc3339


def dump(queue: Queue, inline: Iterable[tuple[HookRun, float]] = ()) -> QueueDump:
    """The queue for the debug endpoint. `inline` are the hooks that a module's task runs, and when each began.
    Changes nothing."""
    status, now = "run first task", queue.now
    if not queue.running:
        choice = queue.pick(now)
        status = choice.reason if isinstance(choice, Idle) else ""
    shown = (f"{task.describe()}{_progress(queue, task, inline, now)}{_object(task)}" for task in queue)
    return QueueDump(queue.name, status, tuple(enumerate(shown, 1)))


def _object(task: Task) -> str:
    """The object of a run that is about one."""
    key = task.order.only_object if isinstance(task.order, HookRun) else None
    return f":object={key}" if key else ""


def _progress(queue: Queue, task: Task, inline: Iterable[tuple[HookRun, float]], now: float) -> str:
    """For how long a task has been running, or what it waits for."""
    if task not in queue.running:
        return _awaited(task, now)
    reported = f":{task.progress.text}" if task.progress.text else ""
    text = f":running for {brief_duration(now - queue.running[task])}{reported}"
    module = task.order.unit if isinstance(task.order, UnitTask) else None
    hooks = [f"{order.label} for {brief_duration(now - began)}" for order, began in inline if order.module == module]
    return f"{text} ({', '.join(hooks)})" if hooks else text


def _awaited(task: Task, now: float) -> str:
    """What a task that is set aside waits for, and until when; the pause of a whole queue is in its status."""
    left = task.due - now
    if left <= 0 or not task.passable:
        return ""
    until = rfc3339(time.time() + left)
    reason = "next attempt at"
    if task.is_rate_limited:
        reason = "waiting for its rate limit until"
    elif task.is_repetition and not task.failures:
        reason = "runs again at"
    return f":{reason} {until} ({left:.1f}s left)"
