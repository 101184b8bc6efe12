"""Assembles webhooks: the servers, their certificates, and the registrations that lead the API server to them.

    async with serving(settings, declared, parts) as webhooks:
        webhooks.conditions()
        await webhooks.renew()     # hooks declare other webhooks now

Ports are opened first, so that a port in use refuses the start. Everything else may take as long as the API is
unreachable: it continues in the background, and `conditions` shows its progress.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field, replace

from hookrunner.engine.assembly import Parts
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import KubeError, NotFound, RegistrationFailed
from hookrunner.kube import writes
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.resources import Resource
from hookrunner.registration.desired import DesiredRegistrations, desired_registrations, no_registrations
from hookrunner.registration.reconcile import claim
from hookrunner.registration.registrar import Registrar
from hookrunner.settings import Settings
from hookrunner.webhooks.plan import WebhookPlan, kinds
from hookrunner.webhooks.servers import Publish, Servers
from kubetypes.light_dataclasses import dataclass

_SERVICES = Resource("v1", "Service", "services", True)

_ACTION = "grant or create what it names; hookrunner webhooks list"

_CERTIFIED_WITHIN = 10.0
"""Seconds for which a module waits for the first certificate of a port; later it tries again."""


@dataclass(slots=True)
class Trust:
    """The CA bundle of all servers together.

    The first one is published once every server has reported its certificate: it keeps the CAs that are registered,
    later ones do not. A server added later does not delay it; nothing that leads to that server is registered before it
    has reported.
    """

    registrar: Registrar
    _parts: dict[str, bytes | None] = field(default_factory=dict)
    _complete: asyncio.Event = field(default_factory=asyncio.Event)
    _begun: bool = False

    async def complete(self) -> None:
        """Wait until every server has reported."""
        await self._complete.wait()

    async def keep(self, watches: Watches) -> None:
        """Repair registrations until cancelled; also while one of the objects cannot be written."""
        await self.complete()
        await self.registrar.keep(watches)

    def part(self, server: str) -> Publish:
        """The function by which the server of this name reports its CA."""
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
    """The open servers, their certificates and registrations."""

    def __init__(self, settings: Settings, declared: ReviewDeclarations, parts: Parts, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._declared = declared
        self._client = parts.kube.patcher
        # Until the desired state is known, existing registrations stay.
        undecided = replace(no_registrations(settings, parts.kube.connection.namespace), incomplete=True)
        self._registrar = Registrar(parts.kube.patcher, parts.metrics, undecided, claim(time.time()))
        self._trust = Trust(self._registrar)
        self._servers = Servers(settings, declared.reviewer, parts, stack, self._trust.part)
        self._hinders = bool(kinds(declared.own)) or settings.webhooks.port is not None

    async def start(self, parts: Parts) -> None:
        """Open the ports; the rest continues in the background. Raises StartRefused."""
        planned = await self._servers.open(self._declared.kinds)
        await self._registrar.register(self._desired(planned, self._declared.asked), self._desired(planned, ()))
        parts.background.keep("registration", lambda: self._trust.keep(parts.kube.watches))

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Register what hooks declare now, and unregister the rest.

        Returns when the webhooks of `mine` are registered and the rest is unregistered. Raises StartRefused,
        RegistrationFailed.
        """
        planned = await self._servers.open(self._declared.kinds)
        await self._wait_for_certificates()
        await self._check_services(planned, kinds(mine))
        await self._registrar.register(self._desired(planned, self._declared.asked), self._desired(planned, mine))

    def leave(self) -> None:
        """Answer as before, while the API server switches to other replicas: its next requests may go to them
        already."""
        for listener in self._servers.listeners:
            listener.leave()

    async def finish(self, grace: float) -> None:
        """Accept no more reviews; return when running ones are answered, or after `grace` seconds."""
        await asyncio.gather(*(listener.finish(grace) for listener in self._servers.listeners))

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """The conditions for `/readyz`. Webhooks that only modules have are shown, and do not affect readiness."""
        registered, _ = self._registrar.condition()
        ready = registered and all(rotation.shown for rotation in self._servers.rotations)
        return {"webhooks": (ready or not self._hinders, "; ".join(self._problems()))}

    def needs(self) -> Iterator[UserNeed]:
        """What needs the user: the same, each on its own."""
        for problem in self._problems():
            yield UserNeed(Urgency.CRITICAL, "webhooks", "", problem, _ACTION)

    def _problems(self) -> Iterator[str]:
        _, unregistered = self._registrar.condition()
        return filter(None, (*(rotation.problem for rotation in self._servers.rotations), unregistered))

    async def _wait_for_certificates(self) -> None:
        try:
            async with asyncio.timeout(_CERTIFIED_WITHIN):
                await self._trust.complete()
        except TimeoutError:
            problems = "; ".join(rotation.problem for rotation in self._servers.rotations if rotation.problem)
            raise RegistrationFailed(f"webhooks cannot be registered yet: {problems}") from None

    async def _check_services(self, planned: WebhookPlan, wanted: frozenset[ReviewKind]) -> None:
        """Raise RegistrationFailed if a Service is missing.

        A registration that leads nowhere may refuse every request, which must not follow from turning on a module.
        """
        targets = {"admission": planned.admission, "conversion": planned.conversion}
        for target in [targets[kind] for kind in sorted(wanted) if not targets[kind].url]:
            try:
                with tolerated_refusals():
                    await writes.read(self._client, ObjectRef(_SERVICES, target.namespace, target.service))
            except NotFound:
                raise RegistrationFailed(
                    f"webhooks would lead to the {target}, which does not exist: with the chart set webhooks.admission "
                    "or webhooks.conversion, elsewhere create it or set --webhook-url"
                ) from None
            except KubeError:
                continue  # there may be no right to read it

    def _desired(self, planned: WebhookPlan, hooks: Iterable[Hook]) -> DesiredRegistrations:
        name, declared = self._settings.validating.configuration, self._declared
        desired = desired_registrations(hooks, name, planned.admission, planned.conversion, declared.incomplete)
        return replace(desired, sure=declared.sure)


@asynccontextmanager
async def serving(settings: Settings, declared: ReviewDeclarations, parts: Parts) -> AsyncIterator[Webhooks]:
    """Serve and register inside the `with`. Raises StartRefused."""
    async with AsyncExitStack() as stack:
        webhooks = Webhooks(settings, declared, parts, stack)
        await webhooks.start(parts)
        yield webhooks
