"""What a metadata-only watch shows of the objects of one kind: which are there. No objects are kept, only names."""

from hookrunner.model.bindings import Change
from hookrunner.model.watching import ObjectSeen, RelistStarted, Report, Synced

Place = tuple[str, str]
"""Namespace ("" for kinds without) and name."""


class Shown:
    """`listed` says that what was not shown is not there."""

    def __init__(self) -> None:
        self.listed = False
        self._there: set[Place] = set()
        self._unlisted: set[Place] = set()

    def has(self, namespace: str, name: str) -> bool:
        """Is there such an object? Of a kind without namespaces, whatever namespace is asked for."""
        return (namespace, name) in self._there or ("", name) in self._there

    def lose(self) -> None:
        """Nothing is known any more."""
        self.listed = False
        self._there.clear()

    def hear(self, report: Report) -> None:
        """Follow one step of the watch's story."""
        match report:
            case RelistStarted():
                self._unlisted = set(self._there)
            case Synced():
                self.listed = True
                self._there -= self._unlisted
            case ObjectSeen(change=Change.DELETED, key=key):
                self._there.discard((key.namespace, key.name))
            case ObjectSeen(key=key):
                self._there.add((key.namespace, key.name))
                self._unlisted.discard((key.namespace, key.name))
