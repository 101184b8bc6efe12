"""Ages as kubectl shows them: two or three figures, `5s`, `2m10s`, `5h3m`, `3d`."""

from datetime import datetime

from kubetypes.json_values import JSON

UNKNOWN = "<unknown>"
ZERO_TIME = "0001-01-01T00:00:00Z"
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400

# Below the limit an age is shown in the unit and, unless that is 0, the rest in the smaller one: both in seconds.
STEPS = (
    (2 * MINUTE, 1, "s", 0, ""),
    (10 * MINUTE, MINUTE, "m", 1, "s"),
    (3 * HOUR, MINUTE, "m", 0, ""),
    (8 * HOUR, HOUR, "h", MINUTE, "m"),
    (48 * HOUR, HOUR, "h", 0, ""),
    (8 * DAY, DAY, "d", HOUR, "h"),
    (2 * YEAR, DAY, "d", 0, ""),
    (8 * YEAR, YEAR, "y", DAY, "d"),
)


def human(seconds: float) -> str:
    """A duration with two or three figures; a clock that is up to two seconds behind counts as now."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    for limit, unit, letter, smaller, small_letter in STEPS:
        if whole < limit:
            rest = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{whole // YEAR}y"


def since(timestamp: JSON, now: datetime) -> str:
    """The time since a timestamp of the API, `<unknown>` without one. Raises `ValueError` if it is not a timestamp."""
    if not timestamp or timestamp == ZERO_TIME:
        return UNKNOWN
    return human((now - moment(str(timestamp))).total_seconds())


def between(start: str, end: str) -> str:
    """The time from one timestamp to another."""
    return human((moment(end) - moment(start)).total_seconds())


def moment(timestamp: str) -> datetime:
    """A timestamp of the API (RFC 3339) as a time with its zone. Raises `ValueError`."""
    found = datetime.fromisoformat(timestamp)
    if found.tzinfo is None:
        raise ValueError(f"{timestamp} has no time zone")
    return found
