"""When a task is tried again: after a growing pause where it has failed, when its rate limit allows it, or at once
because its object has changed.

A change of the object brings the next attempt forward, as controllers do it, for what failed may work now. A hook that
causes an event with each failed attempt would so run without a pause: of each pause only one attempt is made early, and
the next early one not before the time at which that pause would have ended. So there are at most two attempts in the
time of a pause, which grows with every failure.
"""

from hookrunner.model.tasks import Task
from hookrunner.waits import Pauses

FIRST_DELAY, LONGEST_DELAY = 5.0, 32.0
_GROWTH = Pauses(1.0, LONGEST_DELAY)


def back_off(failures: int, fraction: float) -> float:
    """Seconds to wait after a failure when there were `failures` before it: as shell-operator does. `fraction` is
    random in [0, 1)."""
    jitter = int(fraction * 10) / 10 if failures else 0.0
    return min(FIRST_DELAY + _GROWTH.after(failures) + jitter, LONGEST_DELAY)


def fail(task: Task, reason: str, now: float, fraction: float) -> None:
    """Note a failure and when the next attempt is made."""
    _set_aside(task, back_off(task.failures, fraction), now)
    task.failures += 1
    task.error = reason
    task.queued_at = now


def postpone(task: Task, seconds: float, now: float) -> None:
    """Wait for the rate limit."""
    _set_aside(task, seconds, now)
    task.is_rate_limited = task.passable = True


def bring_forward(task: Task, now: float) -> None:
    """The object of a task has changed: try again now if it has failed, or as soon as that may be."""
    if not task.failures or task.is_rate_limited or task.due <= now:
        return
    if now < task.early_from:
        task.due = min(task.due, task.early_from)
    else:
        task.due, task.early_from = now, task.due


def asleep(task: Task, now: float) -> str:
    """Why a queue waits that waits for the next attempt of this task."""
    return f"sleep after fail for {task.delay:g}s ({task.due - now:.1f}s left of {task.delay:g}s delay)"


def _set_aside(task: Task, seconds: float, now: float) -> None:
    task.due, task.delay, task.is_rate_limited = now + seconds, seconds, False
