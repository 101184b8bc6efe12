"""Steps of a build whose time grows with what is in a package: in place for what is small, else in another process.

    objects = await call_by_size(size_of(texts), TEXTS, read_objects, texts)

A megabyte of YAML takes a second to read, in which the event loop would stand still; a package may have 32 of them, and
what kustomize or an executable of `postRender` prints as many.
"""

from collections.abc import Mapping

import orjson

from hookrunner.errors import RenderFailed
from hookrunner.process.pure_calls import CallLimits, SizeBounds
from kubetypes.json_values import JSON

TEXTS = SizeBounds(
    in_place=64 << 10,
    limits=CallLimits(seconds=60.0),
    error=lambda size, lost: RenderFailed(f"{size:,} bytes of objects: {lost}"),
)
"""64 KiB are worked through in less than 50 ms. A file may have 5 MiB, and all of them 32."""


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
