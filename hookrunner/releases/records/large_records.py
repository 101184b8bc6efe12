"""Work on records of releases that would be a long step of the event loop: in a thread, or in another process.

A thread is enough where Python code handles one object after another: others run in between. A parser lets nothing
run until it is done, not even the event loop; so what it takes long for is given to a process.
"""

import sys

from hookrunner.errors import ReleaseFailed
from hookrunner.model.json_objects import JsonObjects
from hookrunner.process.pure_calls import CallLimits, CallLost, SizeBounds, call_by_size
from hookrunner.releases.records.record import QUICK_TO_PARSE, ReleaseRecord, inflated, parsed
from kubetypes.json_values import JSON

_APART = CallLimits(seconds=180.0, memory=2 << 30)
"""A megabyte of YAML takes a second or two."""


def _failure(size: int, lost: CallLost) -> Exception:
    return ReleaseFailed(f"it cannot be read: {lost}")


UNPACKING = SizeBounds(in_place=16 << 10, in_thread=sys.maxsize)
"""16 KiB of packed text are unpacked in a few milliseconds."""
PARSING = SizeBounds(in_place=128 << 10, in_thread=4 << 20, limits=_APART, error=_failure)
"""128 KiB of JSON take a millisecond, 4 MiB less than 50 ms at once."""
READING = SizeBounds(in_place=QUICK_TO_PARSE, in_thread=256 << 10, limits=_APART, error=_failure)
"""256 KiB of a manifest take less than 50 ms at once."""
OBJECT_BY_OBJECT = SizeBounds(in_place=QUICK_TO_PARSE, in_thread=sys.maxsize)
"""For functions that handle the objects of manifests one by one, by their work (`ReleaseRecord.work`): in place if that
takes less time than to start a thread."""


async def read_document(text: str) -> JSON:
    """The document of a stored text. Raises ReleaseFailed."""
    raw = await call_by_size(len(text), UNPACKING, inflated, text)
    return await call_by_size(len(raw), PARSING, parsed, raw)


async def read_objects(record: ReleaseRecord) -> JsonObjects:
    """The objects of a record's manifest. Raises ReleaseFailed, orjson.JSONEncodeError."""
    return await call_by_size(len(record.manifest), READING, objects_of, record.without_chart)


def objects_of(record: ReleaseRecord) -> JsonObjects:
    """The same, at once."""
    return JsonObjects.of(record.objects)
