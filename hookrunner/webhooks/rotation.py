"""Exchanges a server's certificate while reviews come in, so that none of them fails.

Clients must trust the new CA before they meet a certificate of it, and the old one as long as any replica shows such a
certificate: another replica may be late. So: publish both, wait until that has reached the API servers, show the new
certificate, and after an hour publish the new CA alone.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from hookrunner import log
from hookrunner.certificates.material import OVERLAP, Material, overlap
from hookrunner.certificates.provided import LatestMaterial
from hookrunner.errors import BadConfig
from hookrunner.registration.registrar import SETTLE

Show: TypeAlias = Callable[[bytes, bytes], None]
"""Makes a server present this certificate with this key from now on. Raises BadConfig."""

Publish: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Has the cluster trust these CAs; returns when it does."""

MARGIN = 60.0
"""Seconds before the old certificate expires in which the new one is shown, published or not: there is nothing to
lose any more."""

_log = log.get("webhooks")


class Rotation:
    """Follows the certificates of one server. `shown` is the one in use, `now` gives epoch seconds."""

    def __init__(self, server: str, show: Show, publish: Publish, now: Callable[[], float] = time.time) -> None:
        self.shown: Material | None = None
        self.server = server
        self._latest = LatestMaterial("")
        self._refused = ""
        self._trusted = b""
        self._show = show
        self._publish = publish
        self._now = now

    @property
    def problem(self) -> str:
        """Why there is no certificate yet, or no newer one; empty without a problem."""
        problem = self._latest.problem or self._refused
        if self.shown is None:
            return f"{self.server}: no certificate yet" + (f": {problem}" if problem else "")
        return f"{self.server}: the certificate in use stays: {problem}" if problem else ""

    async def follow(self, latest: LatestMaterial, materials: AsyncGenerator[Material, None]) -> None:
        """Show each certificate in its turn, until cancelled. `latest` knows why one is missing. A turn takes an hour,
        and does not end if nothing can be published; the next certificate ends it."""
        self._latest = latest
        turn: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as turns, aclosing(materials):
            async for material in materials:
                if turn:
                    turn.cancel()
                turn = turns.create_task(self._turn(material))

    async def _turn(self, new: Material) -> None:
        """Show a new certificate; the first one at once, since the server cannot answer without. If only the CAs have
        changed, the author of that change knows which ones are still needed."""
        old = self.shown
        replaces = old is not None and old.certificate != new.certificate
        self._trusted = overlap(self._trusted, new.trust, self._now()) if replaces else new.trust
        async with asyncio.TaskGroup() as tasks:
            settled = tasks.create_task(self._publish_and_wait(self._trusted))
            if old is not None and replaces and old.trust != new.trust:
                await self._wait_while_valid(old, settled)
            self._present(new)
        await asyncio.sleep(OVERLAP)
        if self.shown is not None:
            self._trusted = self.shown.trust
            await self._publish(self._trusted)

    async def _publish_and_wait(self, trust: bytes) -> None:
        await self._publish(trust)
        await asyncio.sleep(SETTLE)

    async def _wait_while_valid(self, old: Material, settled: asyncio.Task[None]) -> None:
        """Wait as long as the old certificate can be shown."""
        await asyncio.wait({settled}, timeout=max(old.expires - MARGIN - self._now(), 0.0))
        if not settled.done():
            _log.error("the old certificate expires before the new CA is known to be trusted", server=self.server)

    def _present(self, material: Material) -> None:
        if self.shown is None or self.shown.certificate != material.certificate:
            try:
                self._show(material.certificate, material.key)
            except BadConfig as error:
                self._refused = str(error)
                _log.error("a certificate cannot be shown, the one before stays", server=self.server, error=error)
                return
            serial, expires = f"{material.serial:x}", int(material.expires)
            _log.info("certificate in use", server=self.server, serial=serial, expires=expires)
        self.shown, self._refused = material, ""
