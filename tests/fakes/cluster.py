"""A cluster for monitors, without HTTP: it keeps objects and yields the same reports as `kube/watch.py`.

It stands in for that file, not for an API server: that is the sandbox (docs/decisions.md, 24).
"""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost
from hookrunner.model.resources import ObjectKey, Selection, key_of
from tests.fakes.objects import with_uid


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(50):
        await asyncio.sleep(0)


@asynccontextmanager
async def running(*parts: Coroutine[Any, Any, None]) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """Let these run until the end of the block; their tasks."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that processes outside the loop bring about: they get the processor, a millisecond at first
    and up to ten later. Real time passes, also where that of the loop is virtual."""
    async with asyncio.timeout(60):
        pause = 0.001
        while not true():
            await settle()
            time.sleep(pause)  # noqa: ASYNC251
            pause = min(pause * 1.1, 0.01)


@dataclass(eq=False)
class FakeCluster:
    """`put` and `delete` change objects; every open watch hears of it. `watches` lists the selections ever opened.
    Kinds that are `unreachable` are never listed, those that are `forbidden` not before `granted` is set, and nothing
    is before `listing` is set, as it is at first."""

    objects: dict[ObjectKey, Any] = field(default_factory=dict)
    watches: list[Selection] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)
    unreachable: set[str] = field(default_factory=set)
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    listing: asyncio.Event = field(default_factory=lambda: _set(asyncio.Event()))
    _open: list[tuple[Selection, asyncio.Queue[list[Report] | Exception]]] = field(default_factory=list)
    _version: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def put(self, obj: Any) -> Any:
        """Create or replace an object."""
        version = str(next(self._version))
        obj = with_uid({**obj, "metadata": {**obj["metadata"], "resourceVersion": version}})
        key = key_of(obj)
        old, self.objects[key] = self.objects.get(key), obj
        self._tell(key, version, old, obj)
        return obj

    def delete(self, obj: Any) -> None:
        """Delete an object."""
        key = key_of(obj)
        last = self.objects.pop(key)
        self._tell(key, str(next(self._version)), last, None)

    def silently(self, change: Any) -> None:
        """Do something that no open watch hears of, as while they are disconnected."""
        watches, self._open = self._open, []
        change()
        self._open = watches

    def relist(self) -> None:
        """Make every open watch start again from a list, as after a 410."""
        for selection, queue in self._open:
            queue.put_nowait(self._list(selection))

    def crash(self) -> None:
        """Make every open watch die of an unforeseen error."""
        for _, queue in self._open:
            queue.put_nowait(RuntimeError("watch crashed"))

    def tell(self, report: Report) -> None:
        """Tell every watch something that is not about an object."""
        for _, queue in self._open:
            queue.put_nowait([report])

    async def watch(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        """As `kube.watch.watch`."""
        queue: asyncio.Queue[list[Report] | Exception] = asyncio.Queue()
        self.watches.append(selection)
        if selection.kind in self.forbidden:
            yield [WatchLost(f"forbidden: {selection.kind}", brief=False)]
            await self.granted.wait()
        if selection.kind in self.unreachable:
            yield [WatchLost(f"unreachable: {selection.kind}", brief=True)]
            await asyncio.Event().wait()
        await self.listing.wait()
        self._open.append((selection, queue))
        try:
            yield self._list(selection)
            while True:
                reports = await queue.get()
                if isinstance(reports, Exception):
                    raise reports
                yield reports
        finally:
            self._open = [(s, q) for s, q in self._open if q is not queue]

    @property
    def open_watches(self) -> int:
        """The number of watches that are read."""
        return len(self._open)

    def _list(self, selection: Selection) -> list[Report]:
        found = [(key, obj) for key, obj in self.objects.items() if _matches(selection, obj)]
        items: list[Report] = [ObjectSeen(None, key, obj, obj["metadata"]["resourceVersion"]) for key, obj in found]
        return [RelistStarted(), *items, Synced(str(next(self._version)))]

    def _tell(self, key: ObjectKey, version: str, old: Any, new: Any) -> None:
        """What comes to match a selection is Added to its watch; what ceases to is Deleted, in its last state there."""
        for selection, queue in self._open:
            before, after = (state is not None and _matches(selection, state) for state in (old, new))
            if after:
                queue.put_nowait([ObjectSeen(Change.MODIFIED if before else Change.ADDED, key, new, version)])
            elif before:
                queue.put_nowait([ObjectSeen(Change.DELETED, key, old, version)])


def _set(event: asyncio.Event) -> asyncio.Event:
    event.set()
    return event


def _matches(selection: Selection, obj: Any) -> bool:
    metadata = obj["metadata"]
    parts = [part.partition("=") for part in selection.labels.split(",") if part]
    labels = {name: value for name, equals, value in parts if equals}
    fields = dict(part.split("=") for part in selection.fields.split(",") if part)
    return (
        obj["kind"] == selection.kind
        and selection.namespace in ("", metadata.get("namespace", ""))
        and labels.items() <= metadata.get("labels", {}).items()
        and {name for name, _, _ in parts} <= metadata.get("labels", {}).keys()
        and fields.get("metadata.name", metadata["name"]) == metadata["name"]
    )


def namespace(name: str, **labels: str) -> dict[str, Any]:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": name, "labels": labels}}
