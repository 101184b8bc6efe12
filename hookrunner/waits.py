"""Waits for what happens in this process: a notice to all that wait."""

import asyncio


class Notifier:
    """Wakes all that wait for the next notice. A reader that checks first, and then waits without an `await` between,
    misses none."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Wake all that wait."""
        self._next.set()
        self._next = asyncio.Event()

    async def next(self) -> None:
        """Wait for the next notice."""
        await self._next.wait()
