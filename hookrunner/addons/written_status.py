"""Reads the status of an instance. It is ours, but others may write it too: with a definition of someone else each
author of an instance may be able to.

    status = readable(document.get("status"))   # has the types that status_conditions.py writes

What has another type counts as not written: an error while it is read would stop other instances.
"""

from collections.abc import Mapping
from datetime import datetime

from hookrunner.shapes import FLAG, TEXT, Integer, Many, Shape, Table, check
from kubetypes.json_values import JSON

_NUMBER = Integer(0, 2**53)
"""Larger ones are no numbers that hookrunner writes, and may be too large to be written."""
_CONDITION = Table(dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), TEXT), open=True)
_HOOK_REPORT = Table({"type": TEXT, "hook": TEXT, "healthy": FLAG}, open=True)
SHAPES: Mapping[str, Shape] = {
    "healthy": FLAG,
    "errors": Many(TEXT, at_least=0),
    "phase": TEXT,
    "observedGeneration": _NUMBER,
    "version": TEXT,
    "channel": TEXT,
    "serial": _NUMBER,
    "availableVersion": TEXT,
    "digest": TEXT,
    "commit": TEXT,
    "release": TEXT,
    "revision": _NUMBER,
    "lastHealthy": Table({"version": TEXT, "revision": _NUMBER, "time": TEXT}, open=True),
    "startedAt": TEXT,
    "conditions": Many(_CONDITION, at_least=0),
    "hookReports": Many(_HOOK_REPORT, at_least=0),
}
_STARTED = "startedAt"


def readable(status: JSON) -> dict[str, JSON]:
    """The part of a status whose fields, and elements of lists, have the types that we write."""
    fields = status if isinstance(status, dict) else {}
    parts = {key: _readable(value, SHAPES[key]) if key in SHAPES else value for key, value in fields.items()}
    if not _is_moment(parts.get(_STARTED)):
        parts.pop(_STARTED, None)
    return {key: value for key, value in parts.items() if value is not None}


def _readable(value: JSON, shape: Shape) -> JSON:
    """The value without elements of another type; None if it has another type itself."""
    if isinstance(shape, Many) and isinstance(value, list):
        return [element for element in value if not any(check(element, shape.item))]
    return None if any(check(value, shape)) else value


def _is_moment(text: JSON) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False
