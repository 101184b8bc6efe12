"""Tells whoever waits for a snapshot that one may have come nearer: look again."""

import asyncio


class Progress:
    """Any number may wait for the next time. Nobody who looks first and then waits without a pause misses one."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def happened(self) -> None:
        """Let them look again."""
        self._next.set()
        self._next = asyncio.Event()

    async def next(self) -> None:
        """Wait for it."""
        await self._next.wait()
