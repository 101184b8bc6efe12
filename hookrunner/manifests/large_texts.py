"""Steps of a build whose time grows with what is in a package: in place for what is small, else in another process.

    objects = await work_on(size_of(texts), read_objects, texts)

A megabyte of YAML takes a second to read, in which the event loop would stand still; a package may have 32 of them, and
what kustomize or an executable of `postRender` prints as many.
"""

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

import orjson

from hookrunner.errors import RenderFailed
from hookrunner.process.pure_calls import CallLimits, CallLost, call_within
from kubetypes.json_values import JSON

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

IN_PLACE = 64 << 10
"""Bytes that are worked through in less than 50 ms."""
_LIMITS = CallLimits(seconds=60.0)
"""A file may have 5 MiB, and all of them 32."""


def size_of(texts: Mapping[str, str | bytes]) -> int:
    """Bytes of texts, about."""
    return sum(map(len, texts.values()))


def json_size(value: JSON) -> int:
    """Bytes of a value as JSON; 0 for what JSON cannot carry (nested too deep, an integer of more than 64 bits), which
    is refused where it is written."""
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return 0


async def work_on(
    size: int, function: Callable[_Parameters, _Result], *args: _Parameters.args, **kwargs: _Parameters.kwargs
) -> _Result:
    """What a pure function returns or raises; `size` is that of the texts that it works through. Raises RenderFailed if
    it takes more than a call may, or if there can be no process."""
    if size <= IN_PLACE:
        return function(*args, **kwargs)
    try:
        return await call_within(_LIMITS, function, *args, **kwargs)
    except CallLost as lost:
        raise RenderFailed(f"{size:,} bytes of objects: {lost}") from None
