"""The time for which an object that is missing still counts as it was: a client that replaces it deletes and
creates it (`kubectl replace --force`), and what only it has turned on must not go meanwhile."""

import asyncio
import time
from contextlib import suppress

from hookrunner.engine.progress import Progress
from hookrunner.timers import timeout_at


class Grace:
    """Begins when an object is found missing. `seconds` 0 means no grace. `until` is when it ends, epoch seconds for
    people; 0 while it does not run."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.until = 0.0
        self._deadline = 0.0
        self._changed = Progress()

    @property
    def running(self) -> bool:
        """Does the missing object still count as it was?"""
        return self.until > 0

    def begin(self) -> None:
        """The object is missing. A grace that runs goes on as it is."""
        if self.seconds and not self.running:
            self._deadline = _now() + self.seconds
            self.until = time.time() + self.seconds
            self._changed.happened()

    def end(self) -> None:
        """The object is there again, or nothing depends on it."""
        self.until = 0.0
        self._changed.happened()

    async def is_over(self) -> None:
        """Wait until a grace has run to its end."""
        while not (self.running and _now() >= self._deadline):
            with suppress(TimeoutError):
                async with timeout_at(self._deadline if self.running else None, _now()):
                    await self._changed.next()


def _now() -> float:
    return asyncio.get_running_loop().time()
