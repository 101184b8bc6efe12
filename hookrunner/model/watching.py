"""What a watch yields, in the order in which it happened.

`RelistStarted`, then an `ObjectSeen` for every object, then `Synced`; from then on an `ObjectSeen` for every change.
At any time `RelistStarted` may come again: after a 410, after a restart of the watch, or for a reader that joins late.
What the new list does not mention was deleted meanwhile; `kube/informer.py` finds that out, so that readers need not
know why a list is repeated. `WatchLost` and `WatchRestored` say whether the reports are up to date.
"""

from dataclasses import dataclass
from typing import TypeAlias

from hookrunner.model.bindings import Change
from hookrunner.model.resources import JSON, ObjectKey, written


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
    connection, a restart of the server); otherwise a person has to act (unknown kind, forbidden)."""

    reason: str
    brief: bool


@dataclass(frozen=True, slots=True)
class WatchRestored:
    """The reports are up to date again after `WatchLost`."""


Report: TypeAlias = RelistStarted | Synced | ObjectSeen | WatchLost | WatchRestored
"""One thing that a watch tells. Watches yield lists of them, as many as arrived together."""
