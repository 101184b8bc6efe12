"""What a watch yields, in the order in which it happened.

A watch tells a story that a snapshot can follow without knowing why it is told again:
`Listing`, then an `Item` for every object there is, then `Listed`, then an `Item` for every change, and now and then
`Listing` again (after a 410, a restart of the watch, or for a newcomer), from which the reader finds out itself what
was deleted meanwhile. `Lost` and `Found` say whether the story is up to date.
"""

from dataclasses import dataclass
from typing import TypeAlias

from hookrunner.model.bindings import Change
from hookrunner.model.resources import JSON, ObjectKey, written


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete list begins: what has no `Item` before the next `Listed` is gone."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The list is complete, as of this resourceVersion."""

    version: str


@dataclass(slots=True)
class Item:
    """An object as it is now, complete (`apiVersion` and `kind` filled in). `change` is None inside a list, else what
    the server called it. `version` is its resourceVersion."""

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
class Lost:
    """Nothing more is known for now. `brief` means that it may mend itself at once (no connection, a restart of the
    server), otherwise somebody has to act (no such kind, forbidden). The watch goes on trying."""

    reason: str
    brief: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The watch is up to date again after `Lost`."""


Report: TypeAlias = Listing | Listed | Item | Lost | Found
"""One step. Watches yield lists of them, as many as arrived together."""
