"""Which units have changed: for readers that look at those again, and not at all of several hundred.

    feed = changes.subscribe()              # then look at all units once
    changes.note("dns.default.x")
    for unit in await feed.next_batch(): ...

A reader gets each name once, however often the unit has changed since it looked last, so it has to read what holds now.
A name says only that something may be new. The unit may be gone when the reader comes to it.
"""

from weakref import WeakSet

from hookrunner.waits import Batches

CALM = 0.25
"""Seconds without a change until it is calm: what is not urgent holds up no runs then."""

MOST_PAUSES = 12
"""So often that time may begin again: what is not urgent waits three seconds at most."""


class UnitChanges:
    """Tells every reader which units have changed. A feed ends with its last reference."""

    def __init__(self) -> None:
        self._feeds = WeakSet[Batches[str]]()

    def subscribe(self) -> Batches[str]:
        """The changes from now on, for one reader."""
        feed = Batches[str]()
        self._feeds.add(feed)
        return feed

    def note(self, unit: str) -> None:
        """A unit has changed, or what is known of it."""
        for feed in self._feeds:
            feed.put(unit, unit)
