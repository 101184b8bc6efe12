"""The objects of one kubernetes binding as last seen: what a hook gets as `snapshots` and `objects`.

A snapshot keeps what the binding needs and no more, says whether the binding can see a change, and counts operations
for the debug dump. Whether it is complete, its monitor knows.
"""

from collections.abc import Callable, Iterator, KeysView
from dataclasses import asdict, dataclass, field

from hookrunner.model.bindings import Change
from hookrunner.model.contexts import Entry
from hookrunner.model.resources import ObjectKey
from kubetypes.json_values import JSON


@dataclass(slots=True)
class Operations:
    """Counts for the dump; `cleaned`: how often the last object was deleted."""

    added: int = 0
    deleted: int = 0
    modified: int = 0
    cleaned: int = 0


@dataclass(slots=True, eq=False)
class Snapshot:
    """Entries by object."""

    _entries: dict[ObjectKey, Entry] = field(default_factory=dict)
    _sorted: list[Entry] | None = None
    since_start: Operations = field(default_factory=Operations)
    since_run: Operations = field(default_factory=Operations)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._entries)

    def keys(self) -> KeysView[ObjectKey]:
        """The keys of all entries, as they are at any time."""
        return self._entries.keys()

    def get(self, key: ObjectKey) -> Entry | None:
        """The entry of an object, None if it is unknown."""
        return self._entries.get(key)

    def update(self, entry: Entry) -> Change | None:
        """Keep a new state. Added or Modified, or None if the binding cannot see a difference to the last one."""
        known = self._entries.get(entry.key)
        self._sorted = None
        if known is not None:
            self._entries[known.key] = entry
            if known.mark == entry.mark:
                return None
            self._count("modified")
            return Change.MODIFIED
        self._entries[entry.key] = entry
        self._count("added")
        return Change.ADDED

    def remove(self, key: ObjectKey) -> Entry | None:
        """Forget an object; its last state, None if it was unknown."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._sorted = None
            self._count("deleted")
            if not self._entries:
                self._count("cleaned")
        return entry

    def read(self) -> list[Entry]:
        """All entries by namespace and name, or by `ns/Kind/name` where objects are not kept. The list is shared: do
        not change it."""
        if self._sorted is None:
            self._sorted = sorted(self._entries.values(), key=_order(next(iter(self._entries.values()), None)))
        return self._sorted

    def run_started(self) -> None:
        """A hook run has read this snapshot."""
        self.since_run = Operations()

    def operations(self) -> JSON:
        """The `operations` object of a dump."""
        return {
            "sinceStart": {"count": len(self), **asdict(self.since_start)},
            "sinceLastExecution": {"count": _changes(self.since_run), **asdict(self.since_run)},
        }

    def _count(self, what: str) -> None:
        for counts in (self.since_start, self.since_run):
            setattr(counts, what, getattr(counts, what) + 1)


def _changes(counts: Operations) -> int:
    return counts.added + counts.modified + counts.deleted


def _order(sample: Entry | None) -> Callable[[Entry], tuple[str, ...]]:
    if sample is not None and sample.obj is not None:
        return lambda entry: (entry.key.namespace, entry.key.name)
    return lambda entry: (str(entry.key),)
