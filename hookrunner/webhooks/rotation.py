"""Exchanges a server's certificate while reviews come in, so that none of them fails (design.md §4.3).

Clients must trust the new CA before they meet a certificate of it, and the old one as long as somebody shows such a
certificate: another replica may be late. So: publish both, wait until that has reached the API servers, show the new
certificate, and after an hour publish the new CA alone.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from hookrunner import log
from hookrunner.certificates.latest import Latest
from hookrunner.certificates.material import OVERLAP, Material, overlap
from hookrunner.errors import BadConfig

Show: TypeAlias = Callable[[bytes, bytes], None]
"""Makes a server present this certificate with this key from now on. Raises BadConfig."""

Publish: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Has the cluster trust these CAs; returns when it does."""

SETTLE = 5.0
"""Seconds for API servers to notice a registration that has changed; they follow them by watch."""

MARGIN = 60.0
"""Seconds before the old certificate expires in which the new one is shown, published or not: there is nothing to
lose any more."""

_log = log.get("webhooks")


class Rotation:
    """Follows the certificates of one server. `shown` is the one in use, `now` gives epoch seconds."""

    def __init__(self, server: str, show: Show, publish: Publish, now: Callable[[], float] = time.time) -> None:
        self.shown: Material | None = None
        self.server = server
        self._latest = Latest("")
        self._show = show
        self._publish = publish
        self._now = now

    @property
    def problem(self) -> str:
        """Why there is no certificate yet, or no newer one; empty without a problem."""
        problem = self._latest.problem
        if self.shown is None:
            return f"{self.server}: no certificate yet" + (f": {problem}" if problem else "")
        return f"{self.server}: the certificate in use stays: {problem}" if problem else ""

    async def follow(self, latest: Latest, materials: AsyncGenerator[Material, None]) -> None:
        """Show each certificate in its turn, for ever. `latest` knows why one does not come."""
        self._latest = latest
        forgetting: asyncio.Task[None] | None = None
        try:
            async with aclosing(materials):
                async for material in materials:
                    if forgetting:
                        forgetting.cancel()
                    await self._exchange(material)
                    forgetting = asyncio.create_task(self._forget_later(material))
        finally:
            if forgetting:
                forgetting.cancel()

    async def _exchange(self, new: Material) -> None:
        """The first one is shown at once: nobody can be served without. If only the CAs have changed, whoever did that
        knows which ones are still needed."""
        old = self.shown
        if old is None:
            self._present(new)
            await self._publish(new.trust)
            return
        if old.certificate == new.certificate:
            self.shown = new
            await self._publish(new.trust)
            return
        if old.trust != new.trust:
            await self._publish_both(old, new)
        self._present(new)

    async def _publish_both(self, old: Material, new: Material) -> None:
        trust = overlap(old.trust, new.trust, self._now())
        try:
            async with asyncio.timeout(max(old.expires - MARGIN - self._now(), 0.0)):
                await self._publish(trust)
                await asyncio.sleep(SETTLE)
        except TimeoutError:
            _log.error("the new CA could not be published before the old certificate expires", server=self.server)

    async def _forget_later(self, material: Material) -> None:
        """The CAs of before are trusted for an hour more."""
        await asyncio.sleep(OVERLAP)
        await self._publish(material.trust)

    def _present(self, material: Material) -> None:
        try:
            self._show(material.certificate, material.key)
        except BadConfig as error:
            _log.error("a certificate cannot be shown, the one before stays", server=self.server, error=str(error))
            return
        self.shown = material
        _log.info(
            "certificate in use", server=self.server, serial=f"{material.serial:x}", expires=int(material.expires)
        )
