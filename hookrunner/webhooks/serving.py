"""Puts together what makes the API server ask hooks: the servers, their certificates, and the registrations that lead
to them.

    async with serving(settings, declared, cluster, metrics, background) as webhooks:
        webhooks.conditions()

Ports are opened first, so that one that is taken refuses the start. Everything else may take its time, for ever if the
API is away: it goes on in the background, and `conditions` says how far it has come.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from hookrunner import log
from hookrunner.background import Background
from hookrunner.certificates.files import files
from hookrunner.certificates.latest import Latest
from hookrunner.certificates.material import Material
from hookrunner.certificates.own import Wanted, own
from hookrunner.certificates.secret import from_secret
from hookrunner.engine.reviews.reviewer import Declared
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.registration.claims import claim
from hookrunner.registration.registrar import Registrar
from hookrunner.registration.wanted import Wish, wish
from hookrunner.settings import Settings
from hookrunner.web import listen
from hookrunner.web.limits import Bound
from hookrunner.web.reviews import Reviews
from hookrunner.web.tls import TlsListener, listening
from hookrunner.webhooks.plan import Files, Plan, Secret, Server, Where, kinds, plan
from hookrunner.webhooks.rotation import Publish, Rotation

_log = log.get("webhooks")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Who calls us, what we may write there, and as whom. `watches` are for following registrations and Secrets."""

    client: Client
    watches: Watches
    connection: Connection

    @property
    def where(self) -> Where:
        return Where(self.connection.namespace, self.connection.in_pod)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What was put together."""

    listeners: Sequence[TlsListener]
    rotations: Sequence[Rotation]
    registrar: Registrar

    def leave(self) -> None:
        """Answer as before, and let the API server find others: its next requests may go to them already."""
        for listener in self.listeners:
            listener.leave()

    async def finish(self, grace: float) -> None:
        """Take no more reviews, and return when those that run are answered, or after so many seconds."""
        await asyncio.gather(*(listener.finish(grace) for listener in self.listeners))

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """For `/readyz`."""
        registered, message = self.registrar.condition()
        shown = all(one.shown for one in self.rotations)
        told = [*(one.problem for one in self.rotations), message]
        return {"webhooks": (registered and shown, "; ".join(filter(None, told)))}

    def expiries(self) -> Iterator[tuple[tuple[str], float]]:
        """When the certificate of each server expires, for the metrics."""
        return (((one.server,), one.shown.expires) for one in self.rotations if one.shown)


@dataclass(slots=True)
class _Trust:
    """What all servers together want to be trusted. Nothing is published before each has had its say: the first
    publication keeps what is there, later ones do not."""

    registrar: Registrar
    servers: int
    _parts: dict[str, bytes] = field(default_factory=dict)
    _complete: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self, watches: Watches) -> None:
        """Repair what is published, for ever; also while one of the objects cannot be written."""
        await self._complete.wait()
        await self.registrar.keep(watches)

    def part(self, server: Server) -> Publish:
        async def publish(trust: bytes) -> None:
            self._parts[server.name] = trust
            if len(self._parts) == self.servers:
                self._complete.set()
                await self.registrar.publish(b"".join(self._parts.values()))

        return publish


@asynccontextmanager
async def serving(
    settings: Settings, declared: Declared, cluster: Cluster, metrics: Metrics, background: Background
) -> AsyncIterator[Webhooks]:
    """Serve and register inside the `with`. Raises StartRefused."""
    planned = plan(settings, kinds(declared.hooks), cluster.where)
    bound = Bound(settings.webhooks.concurrency + settings.webhooks.queue, metrics)
    async with AsyncExitStack() as stack:
        listeners = []
        for server in planned.servers:
            sock = listen.on_port(server.address, server.port, server.flag)
            port = sock.getsockname()[1]
            planned = planned.found_at(port)
            _log.info("listening for reviews", server=server.name, port=port, reached_by=planned.way_to(server))
            reviews = Reviews(declared.reviewer, server.kinds, bound, metrics)
            listeners.append(await stack.enter_async_context(listening(sock, reviews.answer, server.client_cas)))
        registrar = Registrar(cluster.client, metrics, _wish(settings, declared, planned), claim(time.time()))
        trust = _Trust(registrar, len(listeners))
        rotations = [
            Rotation(server.name, listener.use, trust.part(server))
            for server, listener in zip(planned.servers, listeners, strict=True)
        ]
        webhooks = Webhooks(listeners, rotations, registrar)
        for server, listener, rotation in zip(planned.servers, listeners, rotations, strict=True):
            _follow(server, listener, rotation, cluster, background)
        background.keep("registration", lambda: trust.keep(cluster.watches))
        metrics.webhook_certificate_expiry.from_function(webhooks.expiries)
        yield webhooks


def _follow(
    server: Server, listener: TlsListener, rotation: Rotation, cluster: Cluster, background: Background
) -> None:
    def shown() -> Coroutine[None, None, None]:
        latest = Latest(str(server.certificates))
        return rotation.follow(latest, _materials(latest, server, cluster))

    background.keep(f"certificates of {server.name}", shown)
    if server.client_cas:
        background.keep(f"client CAs of {server.name}", listener.follow_client_cas)


def _materials(latest: Latest, server: Server, cluster: Cluster) -> AsyncGenerator[Material, None]:
    match server.certificates:
        case Files(cert, key, ca):
            return files(latest, cert, key, ca)
        case Secret(namespace, name, True):
            return own(latest, cluster.client, cluster.watches, Wanted(namespace, name, server.names))
        case Secret(namespace, name):
            return from_secret(latest, cluster.watches, namespace, name)


def _wish(settings: Settings, declared: Declared, planned: Plan) -> Wish:
    name = settings.validating.configuration
    return wish(declared.hooks, name, planned.admission, planned.conversion, declared.incomplete)
