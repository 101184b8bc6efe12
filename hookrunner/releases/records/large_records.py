"""Work on records of releases that would be a long step of the event loop: in a thread, or in another process.

A thread is enough where Python code handles one object after another: others run in between. A parser lets nothing
run until it is done, not even the event loop; so what it takes long for is given to a process.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hookrunner.errors import ReleaseFailed
from hookrunner.model.json_objects import JsonObjects
from hookrunner.process.pure_calls import CallLimits, CallLost, call_within
from hookrunner.releases.records.record import QUICK_TO_PARSE, ReleaseRecord, inflated, parsed
from kubetypes.json_values import JSON

_Parameters = ParamSpec("_Parameters")
_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")

JSON_IN_THREAD, YAML_IN_THREAD = 4 << 20, 256 << 10
"""Characters whose parser takes less than 50 ms at once."""
QUICK = 16 * 1024
"""Bytes of packed text that are unpacked in a few milliseconds."""
_LIMITS = CallLimits(seconds=180.0, memory=2 << 30)
"""A megabyte of YAML takes a second or two."""


async def work_on(
    size: int, function: Callable[_Parameters, _Result], *args: _Parameters.args, **kwargs: _Parameters.kwargs
) -> _Result:
    """What a function returns that handles the objects of manifests of this size (characters) one by one: in place if
    that takes less time than to start a thread."""
    if size <= QUICK_TO_PARSE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


async def read_document(text: str) -> JSON:
    """The document of a stored text. Raises ReleaseFailed."""
    raw = inflated(text) if len(text) <= QUICK else await asyncio.to_thread(inflated, text)
    if len(raw) > JSON_IN_THREAD:
        return await _call_apart(parsed, raw)
    return parsed(raw) if len(text) <= QUICK else await asyncio.to_thread(parsed, raw)


async def read_objects(record: ReleaseRecord) -> JsonObjects:
    """The objects of a record's manifest. Raises ReleaseFailed, orjson.JSONEncodeError."""
    if len(record.manifest) <= YAML_IN_THREAD:
        return await work_on(len(record.manifest), objects_of, record)
    return await _call_apart(objects_of, record.without_chart)


def objects_of(record: ReleaseRecord) -> JsonObjects:
    """The same, at once."""
    return JsonObjects.of(record.objects)


async def _call_apart(function: Callable[[_Argument], _Result], argument: _Argument) -> _Result:
    try:
        return await call_within(_LIMITS, function, argument)
    except CallLost as lost:
        raise ReleaseFailed(f"it cannot be read: {lost}") from None
