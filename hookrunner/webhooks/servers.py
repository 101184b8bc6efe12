"""The ports for reviews, each with its certificate: a port opens when the first hook answers its kind of reviews, and
stays open.

A certificate is exchanged while reviews come in, so that none of them fails. Clients must trust the new CA before they
meet a certificate of it, and the old one as long as any replica shows such a certificate: another replica may be late.
So `Rotation` publishes both, waits until that has reached the API servers, shows the new certificate, and after an hour
publishes the new CA alone.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, aclosing
from typing import TypeAlias

from hookrunner import log, safe_files
from hookrunner.certificates.material import OVERLAP, Material, overlap
from hookrunner.certificates.own import DesiredCertificate, own
from hookrunner.certificates.provided import LatestMaterial, from_files, from_secret
from hookrunner.engine.assembly import Kube, Parts
from hookrunner.errors import BadConfig
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.reviews import Reviewer
from hookrunner.model.timestamps import rfc3339
from hookrunner.registration.registrar import SETTLE
from hookrunner.settings import Settings
from hookrunner.web import listen
from hookrunner.web.review_limits import CONNECTIONS, MemoryBudget, ReviewBound, ReviewLimits, bytes_of
from hookrunner.web.reviews import Reviews
from hookrunner.web.tls import TlsListener, listening
from hookrunner.webhooks.plan import CertificateFiles, CertificateSecret, ServerPlan, Surroundings, WebhookPlan, plan

Show: TypeAlias = Callable[[bytes, bytes], None]
"""Makes a server present this certificate with this key from now on. Raises BadConfig."""

Publish: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Makes the cluster trust these CAs; returns when it does."""

MARGIN = 60.0
"""Seconds before the old certificate expires in which the new one is shown, published or not: waiting longer
would not save a review."""

NEAR_END = 86400.0
"""Seconds before its end from which a certificate is reported: our own are renewed long before, others usually too."""

_log = log.get(__name__)


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
        """Why there is no certificate yet, or no newer one, or that the one in use ends soon; empty without a
        problem."""
        problem = self._latest.problem or self._refused
        if self.shown is None:
            return f"{self.server}: no certificate yet" + (f": {problem}" if problem else "")
        if self.shown.expires - self._now() < NEAR_END:
            end = f"the certificate in use ends at {rfc3339(self.shown.expires)}"
            return f"{self.server}: {end}, and {problem or 'no newer one has come'}"
        return f"{self.server}: the certificate in use stays: {problem}" if problem else ""

    async def follow(self, latest: LatestMaterial, materials: AsyncGenerator[Material, None]) -> None:
        """Show each certificate in its turn, until cancelled. `latest` has the reason why one is missing. A turn takes
        an hour, and does not end if nothing can be published; the next certificate ends it."""
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


class Servers:
    """The open servers. `stack` closes them at the end; `part` returns for a server the function that publishes its
    CA."""

    def __init__(
        self,
        settings: Settings,
        reviewer: Reviewer,
        parts: Parts,
        stack: AsyncExitStack,
        part: Callable[[str], Publish],
    ) -> None:
        self.listeners: list[TlsListener] = []
        self.rotations: list[Rotation] = []
        self._settings = settings
        self._reviewer = reviewer
        self._parts = parts
        self._stack = stack
        self._part = part
        webhooks = settings.webhooks
        self._bound = ReviewBound(
            webhooks.concurrency + webhooks.queue, MemoryBudget(bytes_of(webhooks.memory)), parts.metrics
        )
        self._limits = ReviewLimits(
            connections=min(CONNECTIONS, safe_files.limit() // 2),
            admission_body=webhooks.admission_body,
            conversion_body=webhooks.conversion_body,
        )
        self._kinds: frozenset[ReviewKind] = frozenset()
        self._ports: dict[str, int] = {}
        self._opening = asyncio.Lock()
        parts.metrics.webhook_certificate_expiry.from_function(self._expiries)

    async def open(self, kinds: frozenset[ReviewKind]) -> WebhookPlan:
        """Serve reviews of these kinds, beside those of earlier calls; the resulting plan. Raises StartRefused."""
        async with self._opening:
            connection = self._parts.kube.connection
            self._kinds |= kinds
            planned = plan(self._settings, self._kinds, Surroundings(connection.namespace, connection.in_pod))
            for server in planned.servers:
                if server.name not in self._ports:
                    await self._open(server, planned)
                planned = planned.found_at(self._ports[server.name])
            return planned

    async def _open(self, server: ServerPlan, planned: WebhookPlan) -> None:
        sock = listen.on_port(server.address, server.port, server.flag)
        port = sock.getsockname()[1]
        reached_by = planned.found_at(port).way_to(server)
        _log.info("listening for reviews", server=server.name, port=port, reached_by=reached_by)
        if server.takes_forged_reviews:
            _log.warn(
                f"any client that reaches the webhook port can forge reviews: give {server.client_ca_flag}, or let "
                "only API servers reach it by a NetworkPolicy",
                server=server.name,
                address=f"{server.address}:{port}",
            )
        reviews = Reviews(self._reviewer, server.kinds, self._bound, self._parts.metrics, self._limits)
        listening_there = listening(sock, reviews.answer, server.client_cas, self._limits)
        listener = await self._stack.enter_async_context(listening_there)
        rotation = Rotation(server.name, listener.use, self._part(server.name))
        self._ports[server.name] = port
        self.listeners.append(listener)
        self.rotations.append(rotation)
        self._follow(server, listener, rotation)

    def _follow(self, server: ServerPlan, listener: TlsListener, rotation: Rotation) -> None:
        def shown() -> Coroutine[None, None, None]:
            latest = LatestMaterial(str(server.certificates))
            return rotation.follow(latest, _materials(latest, server, self._parts.kube))

        self._parts.background.keep(f"certificates of {server.name}", shown, ends=True)
        if server.client_cas:
            self._parts.background.keep(f"client CAs of {server.name}", listener.follow_client_cas)

    def _expiries(self) -> Iterator[tuple[tuple[str], float]]:
        """When the certificate of each server expires, for the metrics."""
        return (((rotation.server,), rotation.shown.expires) for rotation in self.rotations if rotation.shown)


def _materials(latest: LatestMaterial, server: ServerPlan, kube: Kube) -> AsyncGenerator[Material, None]:
    match server.certificates:
        case CertificateFiles(cert, key, ca):
            return from_files(latest, cert, key, ca)
        case CertificateSecret(namespace, name, True):
            return own(latest, kube.patcher, kube.watches, DesiredCertificate(namespace, name, server.names))
        case CertificateSecret(namespace, name):
            return from_secret(latest, kube.watches, namespace, name)
