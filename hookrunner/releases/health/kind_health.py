"""What one watch shows of the health of all objects of its kind: verdicts by key, no objects.

    shown = KindHealth("Deployment", opened=loop.time())
    changed = shown.read(facts, Clock(loop.time(), datetime.now(UTC)))
    shown.health("default", "web", now)    # None while nothing is known yet

A verdict is as old as the watch: while the connection is lost, the last one counts for 75 s, and then the object's
health is unknown. So it is at once if the kind was never listed and a person has to act: no such kind, no right to it.
An object that was read directly (`put`) is newer than watch events that were under way.

A reader that needs more of an object than its health judges it itself: by an `ObjectHealth` with more fields.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, Self, TypeAlias

from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.model.events import Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.health.object_status import NOT_FOUND, ObjectHealth, unknown
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

VISIBLE_FOR = 75.0
"""Seconds for which the last verdict counts when nothing is heard from the API server."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The present: seconds of the event loop, and the time of day, by which a Pod's age counts."""

    monotonic: float
    time: datetime

    @classmethod
    def now(cls) -> Self:
        """The present; in a running event loop."""
        return cls(asyncio.get_running_loop().time(), datetime.now(UTC))


JudgeObject: TypeAlias = Callable[[JSON, datetime], ObjectHealth]
"""The health of a complete object at a time."""


class _Verdict(NamedTuple):
    version: int
    health: ObjectHealth


class KindHealth:
    """The verdicts of one watch by the keys of its objects. `opened` is the time of the event loop at which it was
    opened."""

    def __init__(self, kind: str, opened: float, judge: JudgeObject = health_of) -> None:
        self._kind = kind
        self._judge = judge
        self._hidden_since: float | None = opened
        self._reason = "it has not been listed yet"
        self._synced = self._needs_help = False
        self._verdicts: dict[ObjectKey, _Verdict] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._verdicts

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._verdicts)

    def read(self, facts: Iterable[Fact], clock: Clock) -> set[ObjectKey] | None:
        """Take in a batch of the watch; the keys whose health may have changed, None if all may have."""
        changed: set[ObjectKey] = set()
        everything = False
        for fact in facts:
            everything |= self._take_in(fact, clock, changed)
        return None if everything else changed

    def _take_in(self, fact: Fact, clock: Clock, changed: set[ObjectKey]) -> bool:
        """Take in a fact, and note a changed key; may the health of all objects have changed?"""
        match fact:
            case Added(seen) | Modified(seen):
                if self.put(seen.key, seen.version, self._judge(seen.obj, clock.time)):
                    changed.add(seen.key)
                return False
            case Deleted(key):
                self._verdicts.pop(key, None)
                changed.add(key)
                return False
            case Synced() | WatchRestored():
                self._synced, self._hidden_since, self._needs_help = True, None, False
            case WatchLost(reason, brief):
                self._reason, self._needs_help = reason, not brief
                self._hidden_since = clock.monotonic if self._hidden_since is None else self._hidden_since
        return True

    def put(self, key: ObjectKey, version: str, health: ObjectHealth) -> bool:
        """Note the health of an object at a resourceVersion, unless a newer one is known; does it differ?"""
        number, known = int(version) if version.isdecimal() else 0, self._verdicts.get(key)
        if known and number < known.version:
            return False
        self._verdicts[key] = _Verdict(number, health)
        return known is None or known.health != health

    def drop(self, key: ObjectKey) -> None:
        """Note that an object was read and does not exist."""
        self._verdicts.pop(key, None)

    def health(self, namespace: str, name: str, now: float) -> ObjectHealth | None:
        """The health of an object; None while it is not known yet. The namespace does not matter for kinds without
        namespaces. `now` is of the event loop."""
        if self.expires_in(now) == 0:
            return unknown(f"it cannot be watched: {self._reason}")
        if key := self.find(namespace, name):
            return self._verdicts[key].health
        if self._synced:
            return NOT_FOUND
        return unknown(f"it cannot be watched: {self._reason}") if self._needs_help else None

    def find(self, namespace: str, name: str) -> ObjectKey | None:
        """The key of an object that the watch has shown; the namespace as in `health`."""
        keys = (ObjectKey(any_namespace, self._kind, name) for any_namespace in (namespace, ""))
        return next((key for key in keys if key in self._verdicts), None)

    def last(self, key: ObjectKey) -> ObjectHealth | None:
        """The last verdict, however old it is; None for an object that the watch has not shown."""
        return self._verdicts[key].health if key in self._verdicts else None

    def expires_in(self, now: float) -> float | None:
        """Seconds for which the verdicts still count, 0 if they do not any more; None while the watch works."""
        return None if self._hidden_since is None else max(0.0, self._hidden_since + VISIBLE_FOR - now)

    def obstacle(self, now: float) -> str:
        """Why nothing is known of the kind, if that does not pass at once; else empty."""
        is_hidden = self.expires_in(now) == 0 or (self._needs_help and not self._synced)
        return self._reason if is_hidden else ""

    @property
    def is_synced(self) -> bool:
        """Was the kind listed once?"""
        return self._synced
