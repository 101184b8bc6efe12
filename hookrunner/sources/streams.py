"""One watch for all bindings that want the same objects.

Bindings with an equal `Selection` read the same stream. A late reader gets the whole list too: it reads a watch of its
own up to the end of the list and then goes on with the shared one. A reader that cannot keep up, as with a jqFilter
that hangs, does not stop the others: it goes on with a watch of its own. The shared watch ends with its last reader.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeAlias

from hookrunner import log
from hookrunner.background import Background
from hookrunner.metrics.names import Metrics
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost
from hookrunner.model.resources import Selection

Reports: TypeAlias = list[Report]
Watch: TypeAlias = Callable[[Selection], AsyncGenerator[Reports, None]]
"""Opens a watch: `kube/watch.py` in production, a script in tests."""

BACKLOG = 4
"""Batches that a reader may be behind before the watch waits for it: parsed objects are the large thing here."""

_PATIENCE = 2.0
"""Seconds for which a watch waits for one of several readers."""

_Queue: TypeAlias = asyncio.Queue[Reports | None]
"""What a reader has not read yet; None tells it to go on with a watch of its own."""

_log = log.get("streams")


@dataclass(slots=True, eq=False)
class _Stream:
    selection: Selection
    readers: list[_Queue] = field(default_factory=list)
    begun: bool = False
    pump: asyncio.Task[None] | None = None


class Streams:
    """The shared watches. `background` runs one task for each."""

    def __init__(self, watch: Watch, background: Background, metrics: Metrics) -> None:
        self._watch = watch
        self._background = background
        self._deaths = metrics.factory_informer_dead
        self._streams: dict[Selection, _Stream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    async def read(self, selection: Selection) -> AsyncGenerator[Reports, None]:
        """The reports of a selection, beginning with a list (`model/events.py`). Close the generator to leave."""
        stream = self._streams.get(selection) or self._open(selection)
        late = stream.begun
        queue: _Queue = asyncio.Queue(0 if late else BACKLOG)
        stream.readers.append(queue)
        try:
            version = ""
            if late:
                async with aclosing(self._read_list(selection)) as own:
                    async for reports in own:
                        version = _synced_version(reports)
                        yield reports
                        del reports
            async for reports in _after(version, queue):
                yield reports
                del reports
        finally:
            self._leave(stream, queue)
        async with aclosing(self._watch(selection)) as alone:
            async for reports in alone:
                yield reports
                del reports

    async def _read_list(self, selection: Selection) -> AsyncGenerator[Reports, None]:
        """A watch of this reader alone, up to the end of its list."""
        async with aclosing(self._watch(selection)) as own:
            async for reports in own:
                synced = _synced_version(reports)
                yield reports
                if synced:
                    return

    def _open(self, selection: Selection) -> _Stream:
        stream = self._streams[selection] = _Stream(selection)
        stream.pump = self._background.keep(f"watch {selection}", lambda: self._pump(stream))
        return stream

    async def _pump(self, stream: _Stream) -> None:
        try:
            async with aclosing(self._watch(stream.selection)) as batches:
                async for reports in batches:
                    stream.begun = True
                    await _hand_out(stream, reports)
                    del reports  # or the last objects would live until the next change
        except Exception as error:
            selection = stream.selection
            self._deaths.inc(f"{selection.api_version}/{selection.kind}", selection.namespace)
            await _hand_out(stream, [WatchLost(f"the watch died: {error}", brief=False)])
            raise

    def _leave(self, stream: _Stream, queue: _Queue) -> None:
        if queue in stream.readers:
            _remove(stream, queue)
        if not stream.readers and self._streams.get(stream.selection) is stream:
            del self._streams[stream.selection]
            if stream.pump is not None:
                stream.pump.cancel()


async def _hand_out(stream: _Stream, reports: Reports) -> None:
    for queue in tuple(stream.readers):
        while queue in stream.readers and not await _put(queue, reports):
            if len(stream.readers) > 1:
                _log.warn("a reader is too slow for the others and gets a watch of its own", of=str(stream.selection))
                _remove(stream, queue)
                queue.put_nowait(None)


async def _put(queue: _Queue, reports: Reports) -> bool:
    """False if there was no room for too long."""
    try:
        async with asyncio.timeout(_PATIENCE if queue.full() else None):
            await queue.put(reports)
    except TimeoutError:
        return False
    return True


def _remove(stream: _Stream, queue: _Queue) -> None:
    """The reader leaves this stream, and a pump that waits for room in its queue goes on."""
    stream.readers.remove(queue)
    while not queue.empty():
        queue.get_nowait()


def _synced_version(reports: Reports) -> str:
    """The version of a completed list among these reports, otherwise empty."""
    return next((report.version for report in reports if isinstance(report, Synced)), "")


async def _after(version: str, queue: _Queue) -> AsyncIterator[Reports]:
    """The batches of a queue, without what is older than the late reader's own list; ends if the reader is too slow."""
    while (reports := await queue.get()) is not None:
        if version:
            reports, version = _fresh(reports, version)
        yield reports
        reports = None


def _fresh(reports: Reports, version: str) -> tuple[Reports, str]:
    """The reports that are newer than the late reader's own list, and the version to compare the next batch with.

    The version is empty once a new list begins. The rest of a list that was in progress when the reader came is dropped
    as well: its objects are older.

    Comparing versions as numbers is allowed for objects of one resource:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
    """
    for index, report in enumerate(reports):
        if isinstance(report, RelistStarted):
            return [before for before in reports[:index] if not _is_older(before, version)] + reports[index:], ""
    return [report for report in reports if not _is_older(report, version)], version


def _is_older(report: Report, version: str) -> bool:
    if not isinstance(report, ObjectSeen):
        return False
    return report.version.isdigit() and version.isdigit() and int(report.version) <= int(version)
