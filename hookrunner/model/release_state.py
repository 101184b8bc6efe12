"""What the runs of a unit have found out about its release, for those who report it. Kept in memory."""

from collections.abc import Iterable, Mapping

from hookrunner.model.read_only import ReadOnly
from hookrunner.model.releases import PINNED, Adoption, Head, KeptObject, WriteNotes
from kubetypes.json_values import JSON


class ReleaseState:
    """What the runs of a unit have found out about its release. An earlier process may have known what patches without
    an object there are (`unmatched`), and by object what the API server ignores of it (`faults`)."""

    head = ReadOnly[Head | None]()
    """Its latest revision when a run last ended in sync."""
    undone = ReadOnly[str]()
    """Why that was restored in place of the desired one, as far as this process knows; empty if it was not."""
    adopted = ReadOnly[tuple[Adoption, ...]]()
    """The objects that the last attempt has taken over."""
    kept = ReadOnly[tuple[KeptObject, ...]]()
    """The objects that have left it in the last attempt, and stay."""
    faults = ReadOnly[Mapping[str, str]]()
    """What the API server ignores of its objects, by object."""

    def __init__(self, unmatched: tuple[str, ...] = (), faults: Mapping[str, str] | None = None) -> None:
        self._head: Head | None = None
        self._undone = ""
        self._adopted: tuple[Adoption, ...] = ()
        self._kept: tuple[KeptObject, ...] = ()
        self._faults: Mapping[str, str] = faults or {}
        self._unmatched = unmatched
        self._rendered: tuple[str, ...] | None = None

    @property
    def revision(self) -> int:
        """The revision of the head, 0 without one."""
        return self._head.revision if self._head else 0

    @property
    def is_pinned(self) -> bool:
        """Is that an earlier revision which a user has brought back?"""
        return self._head is not None and self._head.note == PINNED

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Why patches have no object: those of what the last attempt has rendered, which may have been refused, or else
        those of what is installed."""
        return self._unmatched if self._rendered is None else self._rendered

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """What the API server ignores of its objects, for people."""
        return tuple(f"{name}: {text}" for name, text in sorted(self._faults.items()))

    def begin_attempt(self) -> None:
        """What the last attempt came to does not count any more."""
        self._adopted, self._kept, self._rendered = (), (), None

    def note_rendered(self, unmatched: tuple[str, ...]) -> None:
        """The present attempt has rendered it, with these patches without an object."""
        self._rendered = unmatched

    def settle(self, head: Head, undone: str = "") -> None:
        """It is in sync at this revision, which was perhaps restored. It stands for what was rendered if it was not."""
        if undone or head.revision != self.revision:
            self._undone = undone
        if not head.note:
            self._unmatched = self.unmatched
        self._head = head

    def note_written(self, notes: WriteNotes, objects: Iterable[JSON] | None = None) -> None:
        """The present attempt has written objects. What the API server ignores of them is kept until they are written
        again or leave the release. `objects` are all of it, None if they have not changed."""
        self._adopted += (*sorted(notes.adopted, key=lambda adoption: adoption.object),)
        self._kept += (*notes.kept,)
        known = {**self._faults, **notes.faults}
        if objects is not None:
            names = {f"{obj['kind']}/{obj['metadata'].get('name')}" for obj in objects}
            known = {name: text for name, text in known.items() if "/".join(name.split("/")[-2:]) in names}
        self._faults = {name: text for name, text in known.items() if text}

    def remove(self) -> None:
        """It is deleted."""
        self._head, self._undone, self._faults = None, "", {}
