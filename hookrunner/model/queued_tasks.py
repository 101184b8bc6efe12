"""The tasks of a queue in their order, and where lanes are objects or namespaces, those of each lane.

A queue asks with each run what else waits in its lane, and ten thousand objects may wait at once, so the tasks of a
lane are found without looking at all others.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from hookrunner.model.bindings import QueueRules
from hookrunner.model.lanes import Lanes
from hookrunner.model.tasks import Lane, Order, Task


class QueuedTasks:
    """Tasks, each with its lanes by the queue's rules (`Task.lanes`)."""

    def __init__(self, rules: QueueRules) -> None:
        self.lanes = Lanes(rules)
        self._tasks: OrderedDict[int, Task] = OrderedDict()
        self._sharing: dict[frozenset[Lane], list[Task]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def __contains__(self, task: Task) -> bool:
        return task.id in self._tasks

    def sharing(self, lanes: frozenset[Lane]) -> list[Task]:
        """The tasks of exactly these lanes in their order, where lanes are no bindings."""
        return list(self._sharing.get(lanes, ()))

    def set_rules(self, rules: QueueRules) -> None:
        """Go by other rules."""
        self.lanes = Lanes(rules)
        self._sharing = {}
        for task in self._tasks.values():
            self._enter_lanes(task)

    def append(self, task: Task) -> None:
        """Add a task at the end."""
        self._tasks[task.id] = task
        self._enter_lanes(task)

    def prepend(self, tasks: Sequence[Task]) -> None:
        """Add tasks at the front, in this order."""
        for task in reversed(tasks):
            self._tasks[task.id] = task
            self._tasks.move_to_end(task.id, last=False)
            self._enter_lanes(task, 0)

    def remove(self, task: Task) -> bool:
        """Take a task away; was it there?"""
        if self._tasks.pop(task.id, None) is None:
            return False
        self._leave_lanes(task)
        return True

    def change(self, task: Task, order: Order) -> None:
        """Give a task another order; its place stays."""
        self._leave_lanes(task)
        task.order = order
        self._enter_lanes(task)

    def _enter_lanes(self, task: Task, place: int | None = None) -> None:
        task.lanes = self.lanes.of(task.order)
        if not self.lanes.are_bindings:
            sharing = self._sharing.setdefault(task.lanes, [])
            sharing.insert(len(sharing) if place is None else place, task)

    def _leave_lanes(self, task: Task) -> None:
        if sharing := self._sharing.get(task.lanes):
            if task in sharing:
                sharing.remove(task)
            if not sharing:
                del self._sharing[task.lanes]
