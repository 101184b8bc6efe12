"""Edits of the configuration, at the pace at which something is done about them.

A few are answered at once. While they keep coming, as from a script that sets value after value, what they change
together is done once in a while: each run of a module may be a revision, and only so many of those are kept to go back
to (`--helm-history-max`).
"""

import asyncio
from collections import deque
from collections.abc import Collection

AT_ONCE, WITHIN = 3, 1.5
"""So many answers in so many seconds."""


class Edits:
    """Keys whose sections mean something else than before; for one reader."""

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._there = asyncio.Event()
        self._answered = deque([-WITHIN] * AT_ONCE, AT_ONCE)

    def add(self, changed: Collection[str]) -> None:
        """One more edit, or none if nothing was changed by it."""
        if changed:
            self._changed.update(changed)
            self._there.set()

    async def some(self) -> frozenset[str]:
        """All that was changed since the last answer, as soon as there is to be another."""
        await self._there.wait()
        loop = asyncio.get_running_loop()
        if (pause := self._answered[0] + WITHIN - loop.time()) > 0:
            await asyncio.sleep(pause)
        self._answered.append(loop.time())
        changed, self._changed = frozenset(self._changed), set()
        self._there.clear()
        return changed
