"""What kstatus calls the status of an object: the six words, and how fields of an object are read for them.

    ObjectHealth("InProgress", "LessReady", "1 of 3 replicas are ready")

`reason` is the word of the library for an object in progress or failed, empty otherwise; `message` is for people. A
field of another type than expected counts as absent, except where the library gives up: that is `MalformedObject`, and
the object's status is unknown.
Source: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from hookrunner.model.addon_status import ObjectStatusWord
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObjectHealth:
    """The status of one object, with the library's reason and a message for people. `NotFound` and `Unknown` are never
    computed from a well-formed object: it does not exist, or cannot be read. `is_running`: it counts as current and may
    fail nevertheless, a Job that has begun and not ended. `clause` is the message after the object's name."""

    status: ObjectStatusWord
    reason: str = ""
    message: str = ""
    is_running: bool = False
    clause: str = field(default="", compare=False)

    @property
    def is_current(self) -> bool:
        """Is the object as its spec says?"""
        return self.status == "Current"

    @property
    def has_failed(self) -> bool:
        """Is waiting pointless?"""
        return self.status == "Failed"

    def __str__(self) -> str:
        return self.clause or self.message.removeprefix("it ")


class Judgement(NamedTuple):
    """How a status is judged that the library has no last word on. Without `with_signs`, what may pass is no failure: a
    Pod that crashes or fits no node; nor does what operators report beside `Ready` count. With `with_pauses` a workload
    that a person holds back is current: a paused Deployment, a suspended Job, a DaemonSet whose Pods a person
    deletes."""

    with_signs: bool = True
    with_pauses: bool = False


REPORTED = Judgement()
"""For a status that is shown: as the library."""
AWAITED = Judgement(with_signs=False, with_pauses=True)
"""For a rollout that waits: a verdict ends it, and a person who holds a workload back is not waited for."""

CURRENT = ObjectHealth("Current")
RUNNING = ObjectHealth("Current", is_running=True)
NOT_FOUND = ObjectHealth("NotFound", message="does not exist")


def in_progress(reason: str, message: str, clause: str = "") -> ObjectHealth:
    """Its controller is at work."""
    return ObjectHealth("InProgress", reason, message, clause=clause)


def failed(reason: str, message: str, clause: str = "") -> ObjectHealth:
    """It does not become current by waiting."""
    return ObjectHealth("Failed", reason, message, clause=clause)


def unknown(message: str) -> ObjectHealth:
    """It cannot be read."""
    return ObjectHealth("Unknown", message=message)


class MalformedObject(ValueError):
    """An object whose status cannot be computed; the message says which field is at fault."""


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """An entry of `status.conditions`."""

    type: str
    status: str
    reason: str = ""
    message: str = ""

    @property
    def holds(self) -> bool:
        """Is it true?"""
        return self.status == "True"

    @property
    def words(self) -> str:
        """Reason and message."""
        return words(self.reason, self.message) or "no reason is given"

    def __str__(self) -> str:
        return words(self.reason, self.message) or f"{self.type} is {self.status}"


def words(reason: str, message: str) -> str:
    """Reason and message of a condition, or of a container's state; empty without both."""
    return ": ".join(filter(None, (reason, message)))


def field_of(obj: JSON, *path: str) -> JSON:
    """The value at a path, None if it is absent."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj


def count_of(obj: JSON, *path: str, default: int = 0) -> int:
    """The whole number at a path."""
    value = field_of(obj, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text_of(obj: JSON, *path: str, default: str = "") -> str:
    """The text at a path."""
    value = field_of(obj, *path)
    return value if isinstance(value, str) else default


def time_of(obj: JSON, *path: str) -> datetime | None:
    """The time at a path, with its time zone; None if no such time can be read."""
    try:
        time = datetime.fromisoformat(text_of(obj, *path))
    except ValueError:
        return None
    return time if time.tzinfo else None


def generation_of(obj: JSON, *path: str) -> int | None:
    """A generation, None without one. Raises MalformedObject if it is no number."""
    value = field_of(obj, *path)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise MalformedObject(f"its {'.'.join(path)} is no number")


def conditions_of(obj: JSON) -> list[ObjectCondition]:
    """The conditions in their order. Raises MalformedObject if they are no list of conditions."""
    status = obj.get("status") or {}
    entries = (status.get("conditions") or []) if isinstance(status, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise MalformedObject("its status.conditions are no list of conditions")
    return [
        ObjectCondition(*(_word(entry, key) for key in ("type", "status", "reason", "message"))) for entry in entries
    ]


def _word(entry: JSON, key: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise MalformedObject(f"a condition's {key} is no text")
    return value
