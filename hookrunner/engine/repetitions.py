"""Runs of a queue that are run again after some time, because their hooks have asked for it (docs/hooks.md, Running
again).

What happens to an object before that takes the place of its repetition: the run of the event may ask again. Of a run
about several objects the others stay.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hookrunner.model.bindings import Change
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.lanes import is_about_many, lane_of, subject_of
from hookrunner.model.tasks import HookRun, Lane, Task


class Repetitions(dict[Lane, Task]):
    """The tasks that wait to be run again, by what they are about; one about several objects is there for each."""

    def dues(self, now: float) -> list[float]:
        """When those come due that are not due yet."""
        return [task.due for task in self.values() if task.due > now]

    def add(self, task: Task, order: HookRun) -> None:
        """Take in a task, whose order is this."""
        self.update(dict.fromkeys(subject_of(order), task))

    def forget(self, task: Task) -> None:
        """It runs now, or does not wait any more."""
        assert isinstance(task.order, HookRun)
        for lane in subject_of(task.order):
            if self.get(lane) is task:
                del self[lane]

    def replaced_by(self, subject: frozenset[Lane]) -> Iterator[tuple[Task, HookRun | None]]:
        """Forget what is repeated of these; each task, and the run that is left of it, if any."""
        for task in {task for lane in subject if (task := self.get(lane))}:
            assert isinstance(task.order, HookRun)
            rest = without(task.order, subject)
            self.forget(task)
            if rest:
                self.add(task, rest)
            yield task, rest


def repeated(order: HookRun) -> HookRun:
    """The run once more, with the objects that exist then in place of those of now; a deletion keeps the last state."""
    contexts = tuple(context if _is_kept(context) else _emptied(context) for context in order.contexts)
    return replace(order, contexts=contexts, unlocks=(), joined=frozenset(), seen_at=0.0)


def _emptied(context: Context) -> Context:
    return replace(context, current=True, obj=None, filtered=None)


def _is_kept(context: Context) -> bool:
    return context.type is not ContextType.EVENT or context.change is Change.DELETED


def without(order: HookRun, subject: frozenset[Lane]) -> HookRun | None:
    """The run without its contexts about these; None if nothing is left. One about many stays as a whole or not."""
    if is_about_many(order):
        return None if subject & order.lanes else order
    kept = tuple(context for context in order.contexts if lane_of(order, context) not in subject)
    if len(kept) == len(order.contexts):
        return order
    return replace(order, contexts=kept) if kept else None


def not_waiting(order: HookRun, others: Iterable[Task]) -> HookRun | None:
    """The run without what other tasks that wait are about; None if nothing is left."""
    for other in others:
        if isinstance(other.order, HookRun) and other.order.hook == order.hook:
            rest = without(order, subject_of(other.order))
            if rest is None:
                return None
            order = rest
    return order
