"""Reads a source of certificates as a server does: one at a time, until cancelled."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from hookrunner.certificates.material import Material

Materials: TypeAlias = AsyncGenerator[Material, None]


class Reader:
    """Waits for what comes next without ending the source if nothing comes."""

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._coming: asyncio.Future[Material] | None = None

    async def next(self, patience: float = 60) -> Material:
        """Raises TimeoutError."""
        self._coming = self._coming or asyncio.ensure_future(anext(self._materials))
        async with asyncio.timeout(patience):
            material = await asyncio.shield(self._coming)
        self._coming = None
        return material

    async def quiet(self, seconds: float) -> bool:
        """Does nothing come for so long?"""
        try:
            await self.next(seconds)
        except TimeoutError:
            return True
        return False

    async def close(self) -> None:
        if self._coming:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)
        await self._materials.aclose()


@asynccontextmanager
async def reading(materials: Materials) -> AsyncIterator[Reader]:
    reader = Reader(materials)
    try:
        yield reader
    finally:
        await reader.close()
