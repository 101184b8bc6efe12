"""Answers of our servers: JSON, YAML and text, queues and snapshots in these forms, lists of routes, and times as
Kubernetes writes them.

Pure functions over plain values, so that looking changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import orjson
from aiohttp import web

from hookrunner.model.bindings import MAIN
from hookrunner.model.contexts import Entry
from hookrunner.model.status import QueueDump, SnapshotDump
from kubetypes.json_values import JSON

Format: TypeAlias = Literal["json", "yaml", "text"]
FORMAT = r"{format:(\.\w+)?}"
"""The end of a route with formats."""


def format_of(extension: str) -> Format:
    """`.yaml` → yaml; no extension means text, an unknown one JSON."""
    match extension.removeprefix("."):
        case "" | "text":
            return "text"
        case "yaml":
            return "yaml"
        case _:
            return "json"


def answer(value: JSON, form: Format, status: int = 200) -> web.Response:
    """A string is its own text; everything else is shown as JSON where text was asked for.

    `value` may contain `orjson.Fragment`s.
    """
    if form == "text" and isinstance(value, str):
        return web.Response(text=value, status=status)
    text = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    if form == "yaml":
        text = _yaml(orjson.loads(text))
    kinds = {"json": "application/json", "yaml": "application/yaml", "text": "text/plain"}
    charset = "utf-8" if form == "text" else None
    return web.Response(body=text, status=status, content_type=kinds[form], charset=charset)


def answer_request(request: web.Request, value: JSON) -> web.Response:
    """Answer a request of a route with formats, in the one that its path ends with."""
    return answer(value, format_of(request.match_info["format"]))


def _yaml(value: JSON) -> bytes:
    import yaml  # 1 MB, for an answer that few ask for

    text = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return str(text).encode()


async def list_routes(request: web.Request) -> web.Response:
    """Answer with all routes of the application, a line `METHOD /path` for each."""
    routes = [(r.method, r.resource.canonical) for r in request.app.router.routes() if r.resource is not None]
    return web.Response(text="".join(f"{method} {path}\n" for method, path in routes if method != "HEAD"))


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
    """Queues with tasks, empty queues on request, and sums."""
    active, empty = _split_by_tasks(queues)
    shown: JSON = {"active": [queue_json(queue) for queue in active]}
    if show_empty and empty and _others(queues):
        shown["empty"] = [{"name": queue.name, "tasksCount": 0} for queue in empty]
    busy = [queue for queue in _others(queues) if queue.tasks]
    main, others = _tasks(queue for queue in queues if queue.name == MAIN), _tasks(busy)
    counts = {"active": len(busy), "empty": len(_others(queues)) - len(busy), "tasks": others}
    return shown | {"summary": {"mainQueueTasks": main, "otherQueues": counts, "totalTasks": main + others}}


def queues_text(queues: Sequence[QueueDump], show_empty: bool) -> str:
    """The same as text."""
    active, empty = _split_by_tasks(queues)
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


def _split_by_tasks(queues: Iterable[QueueDump]) -> tuple[list[QueueDump], list[QueueDump]]:
    """Queues with tasks and queues without, `main` first, then by name."""
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
