"""Puts together what makes the API server ask hooks: the servers, their certificates, and the registrations that lead
to them.

    async with serving(settings, declared, parts) as webhooks:
        webhooks.conditions()
        await webhooks.renew()     # other hooks are to be asked now

Ports are opened first, so that one that is taken refuses the start. Everything else may take its time, for ever if the
API is away: it goes on in the background, and `conditions` says how far it has come.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from hookrunner.engine.assembly import Parts
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import KubeError, NotFound, RegistrationFailed
from hookrunner.kube.watch import Watches
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.registration.claims import claim
from hookrunner.registration.desired import DesiredRegistrations, desired_registrations, no_registrations
from hookrunner.registration.registrar import Registrar
from hookrunner.settings import Settings
from hookrunner.webhooks.plan import WebhookPlan, kinds
from hookrunner.webhooks.rotation import Publish
from hookrunner.webhooks.servers import Servers

_CERTIFIED = 10.0
"""Seconds for which a module waits for the first certificate of a port; then it tries again later."""


@dataclass(slots=True)
class Trust:
    """What all servers together want to be trusted. Nothing is published before each has had its say: the first
    publication keeps what is there, later ones do not. A server that comes later is waited for no more; nothing is
    registered that leads there before it has had its say."""

    registrar: Registrar
    _parts: dict[str, bytes | None] = field(default_factory=dict)
    _complete: asyncio.Event = field(default_factory=asyncio.Event)
    _begun: bool = False

    async def complete(self) -> None:
        """Wait until each has."""
        await self._complete.wait()

    async def keep(self, watches: Watches) -> None:
        """Repair what is published, for ever; also while one of the objects cannot be written."""
        await self.complete()
        await self.registrar.keep(watches)

    def part(self, server: str) -> Publish:
        """What tells whom to trust because of the server of this name."""
        self._parts[server] = None
        self._complete.clear()

        async def publish(trust: bytes) -> None:
            self._parts[server] = trust
            known = [part for part in self._parts.values() if part is not None]
            if len(known) == len(self._parts):
                self._begun = True
                self._complete.set()
            if self._begun:
                await self.registrar.publish(b"".join(known))

        return publish


class Webhooks:
    """What was put together."""

    def __init__(self, settings: Settings, declared: ReviewDeclarations, parts: Parts, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._declared = declared
        self._client = parts.kube.patcher
        # As long as nobody has said what is wanted, what is there stays.
        unsaid = replace(no_registrations(settings, parts.kube.connection.namespace), incomplete=True)
        self._registrar = Registrar(parts.kube.patcher, parts.metrics, unsaid, claim(time.time()))
        self._trust = Trust(self._registrar)
        self._servers = Servers(settings, declared.reviewer, parts, stack, self._trust.part)
        self._hinders = bool(kinds(declared.own)) or settings.webhooks.port is not None

    async def start(self, parts: Parts) -> None:
        """Open the ports, and let the rest come to pass. Raises StartRefused."""
        planned = await self._servers.open(self._declared.kinds)
        await self._registrar.set_desired(self._wish(planned, self._declared.asked), self._wish(planned, ()))
        parts.background.keep("registration", lambda: self._trust.keep(parts.kube.watches))

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Ask those who are to be asked now; return when the webhooks of `mine` are registered, and what nobody asks
        for any more is not. Raises StartRefused, RegistrationFailed."""
        planned = await self._servers.open(self._declared.kinds)
        await self._certified()
        await self._reached(planned, kinds(mine))
        await self._registrar.set_desired(self._wish(planned, self._declared.asked), self._wish(planned, mine))

    def leave(self) -> None:
        """Answer as before, and let the API server find others: its next requests may go to them already."""
        for listener in self._servers.listeners:
            listener.leave()

    async def finish(self, grace: float) -> None:
        """Take no more reviews, and return when those that run are answered, or after so many seconds."""
        await asyncio.gather(*(listener.finish(grace) for listener in self._servers.listeners))

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """For `/readyz`. Webhooks that only modules have are told of, and make nobody unready."""
        registered, message = self._registrar.condition()
        rotations = self._servers.rotations
        told = [*(one.problem for one in rotations), message]
        ready = registered and all(one.shown for one in rotations)
        return {"webhooks": (ready or not self._hinders, "; ".join(filter(None, told)))}

    async def _certified(self) -> None:
        try:
            async with asyncio.timeout(_CERTIFIED):
                await self._trust.complete()
        except TimeoutError:
            problems = "; ".join(one.problem for one in self._servers.rotations if one.problem)
            raise RegistrationFailed(f"webhooks cannot be registered yet: {problems}") from None

    async def _reached(self, planned: WebhookPlan, wanted: frozenset[ReviewKind]) -> None:
        """A registration that leads nowhere may refuse everything, and nobody expects that of turning on a module."""
        targets = {"admission": planned.admission, "conversion": planned.conversion}
        for target in [targets[kind] for kind in sorted(wanted) if not targets[kind].url]:
            try:
                await self._client.get(f"/api/v1/namespaces/{target.namespace}/services/{target.service}")
            except NotFound:
                raise RegistrationFailed(
                    f"webhooks would lead to the {target}, which does not exist: with the chart set webhooks.admission "
                    "or webhooks.conversion, elsewhere create it or set --webhook-url"
                ) from None
            except KubeError:
                continue  # there may be no right to look

    def _wish(self, planned: WebhookPlan, hooks: Iterable[Hook]) -> DesiredRegistrations:
        name, declared = self._settings.validating.configuration, self._declared
        wanted = desired_registrations(hooks, name, planned.admission, planned.conversion, declared.incomplete)
        return replace(wanted, sure=declared.sure)


@asynccontextmanager
async def serving(settings: Settings, declared: ReviewDeclarations, parts: Parts) -> AsyncIterator[Webhooks]:
    """Serve and register inside the `with`. Raises StartRefused."""
    async with AsyncExitStack() as stack:
        webhooks = Webhooks(settings, declared, parts, stack)
        await webhooks.start(parts)
        yield webhooks
