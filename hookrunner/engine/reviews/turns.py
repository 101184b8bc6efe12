"""Who runs a hook now: reviews take turns, first come, first served.

A turn is held only while the hook runs. Waiting for snapshots comes before it, so that reviews which cannot be answered
yet do not keep others from running. How many may wait at all is bounded where they come in (web/limits.py).
"""

import asyncio


class Turns:
    """At most `most` at once (`--webhook-concurrency`)."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def take(self) -> None:
        """Wait for a turn. Whoever is cancelled meanwhile, at their deadline for example, has taken none."""
        await self._free.acquire()

    def give_back(self) -> None:
        """The next one, if somebody waits."""
        self._free.release()
