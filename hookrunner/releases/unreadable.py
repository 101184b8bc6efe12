"""Records that are there and cannot be read: each is told once, and known for as long as it is there as it was."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeAlias

from hookrunner import log
from hookrunner.releases.ledger import Revision

_LOG = log.get("releases.archive")

_Key: TypeAlias = tuple[str, str, int, int]


class Unreadable:
    """Of one cluster."""

    def __init__(self) -> None:
        self._problems: dict[_Key, str] = {}
        self._told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def __contains__(self, revision: Revision) -> bool:
        return _key(revision) in self._problems

    def note(self, revision: Revision, problem: str) -> None:
        """One more, which cannot be read for this reason."""
        text = f"{problem}; objects that only it knows of stay where they are: look for such, then delete it"
        _LOG.warn("A revision cannot be read.", error=text)
        self._problems[_key(revision)] = text
        self._told.put_nowait((revision.name, text))

    def among(self, history: Iterable[Revision]) -> list[str]:
        """What is wrong with those of a history, for a person."""
        return [self._problems[_key(revision)] for revision in history if revision in self]

    async def found(self) -> AsyncIterator[tuple[str, str]]:
        """The name of a release and what is wrong with a record of it, as that is found out; for one reader."""
        while True:
            yield await self._told.get()


def _key(revision: Revision) -> _Key:
    return revision.namespace, revision.name, revision.number, revision.version
