"""Queues and snapshots as the debug endpoint shows them: JSON values and text, word for word (shell-operator.md §11.4).

Pure functions over plain values, so that looking changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from hookrunner.model.bindings import MAIN
from hookrunner.model.contexts import Entry
from hookrunner.model.resources import JSON
from hookrunner.model.status import QueueDump, SnapshotDump


def main_queue(queues: Iterable[QueueDump]) -> QueueDump:
    """The queue `main`, which may not be there yet."""
    return next((queue for queue in queues if queue.name == MAIN), QueueDump(MAIN, "Queue is not created"))


def queue_json(queue: QueueDump) -> JSON:
    """One queue; empty values are left out."""
    shown: JSON = {"name": queue.name, "tasksCount": len(queue.tasks)}
    if queue.status:
        shown["status"] = queue.status
    if queue.tasks:
        shown["tasks"] = [{"index": index, "description": text} for index, text in queue.tasks]
    return shown


def queue_text(queue: QueueDump) -> str:
    """A headline, an empty line, a line for each task."""
    tasks = "".join(f"{index:2d}. {description}\n" for index, description in queue.tasks)
    return f"Queue '{queue.name}': length {len(queue.tasks)}, status: '{queue.status}'\n\n{tasks}"


def queues_json(queues: Sequence[QueueDump], show_empty: bool) -> JSON:
    """Queues with tasks, queues without if wanted, and sums."""
    active, empty = _parted(queues)
    shown: JSON = {"active": [queue_json(queue) for queue in active]}
    if show_empty and empty and _others(queues):
        shown["empty"] = [{"name": queue.name, "tasksCount": 0} for queue in empty]
    busy = [queue for queue in _others(queues) if queue.tasks]
    main, others = _tasks(queue for queue in queues if queue.name == MAIN), _tasks(busy)
    counts = {"active": len(busy), "empty": len(_others(queues)) - len(busy), "tasks": others}
    return shown | {"summary": {"mainQueueTasks": main, "otherQueues": counts, "totalTasks": main + others}}


def queues_text(queues: Sequence[QueueDump], show_empty: bool) -> str:
    """The same for people."""
    active, empty = _parted(queues)
    text = "\n".join(queue_text(queue) for queue in active)
    if show_empty and (_others(queues) or not empty):
        text += f"\nEmpty queues ({len(empty)}):\n" + "".join(f"- {queue.name}\n" for queue in empty)
    if not queues:
        return f"{text}Summary:\n  No queues.\n"
    lines = "".join(f"- {line}.\n" for line in _summary(queues))
    return text + "\n" * bool(text) + "Summary:\n" + lines


def snapshots_json(snapshots: Iterable[SnapshotDump]) -> JSON:
    """All snapshots of a hook by binding."""
    return {
        snapshot.binding: {
            "snapshot": [_entry(entry) for entry in snapshot.entries],
            "operations": snapshot.operations,
        }
        for snapshot in snapshots
    }


def _summary(queues: Sequence[QueueDump]) -> Iterator[str]:
    others, total = _others(queues), _tasks(queues)
    for main in (queue for queue in queues if queue.name == MAIN):
        yield f"'{MAIN}' queue: {_count(len(main.tasks), 'task') if main.tasks else 'empty'}"
    if others:
        active = sum(1 for queue in others if queue.tasks)
        parts = f"({active} active, {len(others) - active} empty)"
        yield f"{_count(len(others), 'other queue')} {parts}: {_count(_tasks(others), 'task')}"
    yield f"total {_count(total, 'task')} to handle" if total else "no tasks to handle"


def _parted(queues: Iterable[QueueDump]) -> tuple[list[QueueDump], list[QueueDump]]:
    """With tasks and without, `main` first, then by name."""
    ordered = sorted(queues, key=lambda queue: (queue.name != MAIN, queue.name))
    return [queue for queue in ordered if queue.tasks], [queue for queue in ordered if not queue.tasks]


def _others(queues: Iterable[QueueDump]) -> list[QueueDump]:
    return [queue for queue in queues if queue.name != MAIN]


def _tasks(queues: Iterable[QueueDump]) -> int:
    return sum(len(queue.tasks) for queue in queues)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + "s" * (number != 1)


def _entry(entry: Entry) -> JSON:
    parts = {"object": entry.obj, "filterResult": entry.filtered}
    return {name: orjson.Fragment(part) for name, part in parts.items() if part is not None}
