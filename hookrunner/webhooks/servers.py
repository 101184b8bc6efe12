"""The ports that reviews come to, each with its certificate: opened when a hook answers what comes there, and open for
good from then on."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack

from hookrunner import descriptors, log
from hookrunner.certificates.material import Material
from hookrunner.certificates.own import DesiredCertificate, own
from hookrunner.certificates.provided import LatestMaterial, from_files, from_secret
from hookrunner.engine.assembly import Kube, Parts
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.reviews import Reviewer
from hookrunner.settings import Settings
from hookrunner.web import listen
from hookrunner.web.review_limits import CONNECTIONS, MemoryBudget, ReviewBound, ReviewLimits, bytes_of
from hookrunner.web.reviews import Reviews
from hookrunner.web.tls import TlsListener, listening
from hookrunner.webhooks.plan import CertificateFiles, CertificateSecret, ServerPlan, Surroundings, WebhookPlan, plan
from hookrunner.webhooks.rotation import Publish, Rotation

_log = log.get("webhooks")


class Servers:
    """`stack` closes them at the end. `part` gives for each what tells the cluster whom to trust."""

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
            connections=min(CONNECTIONS, descriptors.limit() // 2),
            admission_body=webhooks.admission_body,
            conversion_body=webhooks.conversion_body,
        )
        self._kinds: frozenset[ReviewKind] = frozenset()
        self._ports: dict[str, int] = {}
        self._opening = asyncio.Lock()
        parts.metrics.webhook_certificate_expiry.from_function(self._expiries)

    async def open(self, kinds: frozenset[ReviewKind]) -> WebhookPlan:
        """Have reviews of these kinds answered, beside those of earlier calls; where they are. Raises StartRefused."""
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
        return (((one.server,), one.shown.expires) for one in self.rotations if one.shown)


def _materials(latest: LatestMaterial, server: ServerPlan, kube: Kube) -> AsyncGenerator[Material, None]:
    match server.certificates:
        case CertificateFiles(cert, key, ca):
            return from_files(latest, cert, key, ca)
        case CertificateSecret(namespace, name, True):
            return own(latest, kube.patcher, kube.watches, DesiredCertificate(namespace, name, server.names))
        case CertificateSecret(namespace, name):
            return from_secret(latest, kube.watches, namespace, name)
