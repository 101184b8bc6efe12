"""What happened to watched objects and schedules, in the order in which it reaches the engine.

First the reports of a watch: `RelistStarted`, then an `ObjectSeen` for every object, then `Synced`; from then on an
`ObjectSeen` for every change. At any time `RelistStarted` may come again: after a 410, after a restart of the watch,
or for a reader that joins late. What the new list does not mention was deleted meanwhile; `kube/informer.py` finds
that out, so that readers need not know why a list is repeated. `WatchLost` and `WatchRestored` say whether the reports
are up to date.

Then what sources make of them for bindings, and what schedules add: past facts, which the engine turns into tasks.
"""

from typing import TypeAlias

from hookrunner.model.bindings import Change
from hookrunner.model.resources import ObjectKey
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelistStarted:
    """A complete list begins. Objects without an `ObjectSeen` before the next `Synced` no longer exist."""


@dataclass(frozen=True, slots=True)
class Synced:
    """The list is complete, as of this resourceVersion."""

    version: str


@dataclass(slots=True)
class ObjectSeen:
    """An object as it is now, complete (`apiVersion` and `kind` filled in). `change` is None inside a list, otherwise
    the server's word. `version` is its resourceVersion."""

    change: Change | None
    key: ObjectKey
    obj: JSON
    version: str
    _raw: bytes | None = None

    @property
    def raw(self) -> bytes:
        """The object as compact JSON, made once for all readers."""
        if self._raw is None:
            self._raw = written(self.obj)
        return self._raw


@dataclass(frozen=True, slots=True)
class WatchLost:
    """The connection to the API broke; the watch keeps trying. `brief` means that it may recover without help (no
    connection, a restart of the server); otherwise a person has to act (unknown kind, forbidden). `is_unserved`: the
    server does not know the kind."""

    reason: str
    brief: bool
    is_unserved: bool = False


@dataclass(frozen=True, slots=True)
class WatchRestored:
    """The reports are up to date again after `WatchLost`."""


Report: TypeAlias = RelistStarted | Synced | ObjectSeen | WatchLost | WatchRestored
"""One report of a watch. Watches yield lists of them, as many as arrived together."""


@dataclass(frozen=True, slots=True)
class BindingId:
    """A kubernetes binding of a hook: the hook's name and the binding's place in its config.

    Names alone are not enough: two unnamed bindings of a hook are both called `kubernetes`.
    """

    hook: str
    index: int

    def __str__(self) -> str:
        return f"{self.hook}[{self.index}]"


@dataclass(frozen=True, slots=True)
class ObjectChanged:
    """A change of one object that a binding asked for.

    `obj` is the complete object as compact JSON, None if the binding keeps none; `filtered` the filter's result as
    compact JSON, None without a filter. For a deletion both are the last state known. `seen_at` is the monotonic
    time at which the change arrived from the API server.
    """

    binding: BindingId
    change: Change
    key: ObjectKey
    obj: bytes | None
    filtered: bytes | None
    seen_at: float


@dataclass(frozen=True, slots=True)
class FilterBroke:
    """The filter failed on a changed object, so it is not known yet whether the binding cares. The engine makes a
    visible failed task of it and asks the monitor again later."""

    binding: BindingId
    key: ObjectKey
    reason: str
    seen_at: float


@dataclass(frozen=True, slots=True)
class Progressed:
    """A binding's obstacle may have come or gone: look again at the tasks that wait for it."""

    binding: BindingId


@dataclass(frozen=True, slots=True)
class Ticked:
    """A crontab came due. `at` is wall-clock time in epoch seconds. All bindings with this text share the tick."""

    crontab: str
    at: float
    timezone: str = ""


UNKNOWN_VALUES = "values"
"""The word of an obstacle: the values that the hook reads are not known."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a hook must not run on a snapshot, or with its values. `brief` means that it will pass by itself at once, so
    a queue may wait for it; otherwise the task is set aside and others pass. `word` is the kind of obstacle, one of
    few: for metrics."""

    reason: str
    brief: bool
    word: str = "refused"

    @property
    def awaited(self) -> str:
        """What a run waits for, for a person."""
        return f"values: {self.reason}" if self.word == UNKNOWN_VALUES else f"snapshot of {self.reason}"
