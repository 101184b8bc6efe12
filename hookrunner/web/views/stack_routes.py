"""Where the process is at the moment: stacks of all asyncio tasks and of all threads, as Go's pprof shows goroutines.

Only code is shown, file, line and function, and no values: it may be asked over TCP, too. While the event loop is
blocked nothing answers here; then the log has its stack (`event loop blocked`).
"""

import asyncio
import linecache
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from aiohttp import web

_DEEPEST = 200
"""Frames of one stack."""
_NAMED = 20
"""Names of tasks that share a stack; there may be thousands of connections."""


def stack_routes() -> list[web.RouteDef]:
    """All routes."""

    async def tasks(_request: web.Request) -> web.Response:
        return web.Response(text=describe_tasks(asyncio.all_tasks()) + describe_threads())

    return [web.get("/tasks", tasks)]


def describe_tasks(tasks: "Iterable[asyncio.Task[Any]]") -> str:
    """Tasks with the same stack stand together, the most frequent stacks first; the last line is where it waits."""
    by_stack: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_stack["".join(map(_describe_frame, _awaited_frames(task)))].append(task.get_name())
    ordered = sorted(by_stack.items(), key=lambda item: (-len(item[1]), sorted(item[1])))
    return "".join(f"{_count(names)}\n{stack}\n" for stack, names in ordered)


def describe_threads() -> str:
    """The event loop's own thread is among them."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sorted(sys._current_frames().items(), key=lambda item: names.get(item[0], ""))
    return "".join(
        f"thread {names.get(ident, ident)}\n{''.join(map(_describe_frame, _calling_frames(frame)))}\n"
        for ident, frame in frames
    )


def _count(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"task {shown}" if len(names) == 1 else f"{len(names)} tasks {shown}"


def _awaited_frames(task: "asyncio.Task[Any]") -> Iterator[FrameType]:
    """From the task's own coroutine to the innermost one. `Task.get_stack` has only the first of one that waits."""
    awaited: Any = task.get_coro()
    for _ in range(_DEEPEST):
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is None:  # a future, or it has ended
            return
        yield frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _calling_frames(frame: FrameType | None) -> list[FrameType]:
    frames: list[FrameType] = []
    while frame and len(frames) < _DEEPEST:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _describe_frame(frame: FrameType) -> str:
    code, line = frame.f_code, frame.f_lineno or 0
    return f"  {code.co_filename}:{line} {code.co_qualname}: {linecache.getline(code.co_filename, line).strip()}\n"
