"""Everything in the cluster that leads the API server to us: registered, kept in sync, removed.

    registrar = Registrar(client, metrics, desired_registrations(hooks, …), claim(started))
    await registrar.publish(trust)          # PEM; returns when all that can be written was read back
    await registrar.keep(watches)           # until cancelled
    await registrar.register(desired, own)     # after hooks have come or gone
    registrar.condition()                   # (True, "") when the API server knows all that is desired

Processes do not lock each other out; `reconcile.Claim` says which one may write. `keep` waits for CRDs that do not
exist.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing

from hookrunner import log
from hookrunner.errors import RegistrationFailed
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import may_list
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, Report
from hookrunner.model.resources import Selection
from hookrunner.registration.desired import DesiredRegistrations
from hookrunner.registration.reconcile import Claim, WriteStep, next_step
from hookrunner.registration.registered_object import RegisteredObject
from hookrunner.registration.webhook_objects import (
    CONVERSION,
    DEFINITION,
    CrdConversion,
    Registration,
    TrustedCertificates,
    certificates,
    registrations,
)

SETTLE = 5.0
"""Seconds for API servers to notice a registration that has changed; they follow them by watch."""

_log = log.get(__name__)


class Registrar:
    """Keeps the objects of the desired registrations in sync; the desired state may be replaced."""

    def __init__(self, client: Client, metrics: Metrics, desired: DesiredRegistrations, claim: Claim) -> None:
        self._client = client
        self._desired = desired
        self._claim = claim
        self._trust: Sequence[bytes] | None = None
        self._published = self._ready = False
        self._changed = asyncio.Event()
        self._objects: dict[str, RegisteredObject] = {}
        self._adopt(desired)
        self._warn(desired.clashes)
        metrics.webhook_registered.from_function(lambda: list(self._values()))

    async def publish(self, trust: bytes) -> None:
        """Register, with these certificates to trust. May be called again.

        The first time, certificates that are published already stay, because a pod of the last release may still show
        one of them; each later call leaves only the given ones. Temporary errors are retried, `condition` reports the
        others.
        """
        self._trust = certificates(trust)
        for registered in self._objects.values():
            registered.expect(self._trust)
        await _reconcile(self._objects.values())
        self._published = True

    async def register(self, desired: DesiredRegistrations, own: DesiredRegistrations) -> None:
        """Replace the desired state; return when the changed objects, and all objects of `own`, were read back in sync.
        Before the first `publish` it is only noted.

        Raises RegistrationFailed if a part of `own` cannot be written, or something cannot be removed.
        """
        self._warn(clash for clash in desired.clashes if clash not in self._desired.clashes)
        changed = {*self._adopt(desired), *(key for key, part in _by_key(own).items() if part.digest)}
        if self._trust is None:
            return
        concerned = [self._objects[key] for key in changed if key in self._objects]
        await _reconcile(concerned)
        self._forget(concerned)
        if failures := [f"{registered}: {registered.failure}" for registered in concerned if registered.failure]:
            raise RegistrationFailed("; ".join(failures))

    async def keep(self, watches: Watches) -> None:
        """Repair changed objects, configure CRDs that appear, release CRDs that no hook converts any more."""
        kept: dict[RegisteredObject, asyncio.Task[None]] = {}
        releasing = False
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                present = set(self._objects.values())
                for gone in kept.keys() - present:
                    kept.pop(gone).cancel()
                for new in present - kept.keys():
                    kept[new] = tasks.create_task(_follow(new, watches))
                if not (self._desired.incomplete or releasing):
                    tasks.create_task(self._release_definitions(watches))
                    releasing = True
                await self._changed.wait()

    def condition(self) -> tuple[bool, str]:
        """Is everything registered that can be, and what a person should know.

        Once registered, later problems are reported but do not make us unready: reviews are answered as before.
        """
        objects = self._objects.values()
        wanted = filter(_is_wanted, objects)  # removals hold nothing up
        self._ready = self._ready or (self._published and all(registered.settled for registered in wanted))
        problems = [f"{registered}: {registered.problem}" for registered in objects if registered.problem]
        if not self._published and not problems:
            problems = ["webhooks are not registered yet"]
        return self._ready, "; ".join((*problems, *self._desired.clashes))

    def _adopt(self, desired: DesiredRegistrations) -> list[str]:
        """Take over what is desired; the keys of objects whose desired state changed, including those that are no
        longer wanted."""
        self._desired, parts = desired, _by_key(desired)
        for key, registered in self._objects.items():
            parts.setdefault(key, CrdConversion(registered.registration.name, desired.conversion, None))
        changed = [key for key, part in parts.items() if not self._is_known(key, part)]
        for key in changed:
            if known := self._objects.get(key):
                known.set_desired(parts[key])
            else:
                self._add(parts[key])
        self._changed.set()
        return changed

    def _add(self, registration: Registration) -> RegisteredObject:
        """Add the one that writes this object. There must be no second: each would undo what the other writes."""
        added = self._objects[_key(registration)] = RegisteredObject(self._client, registration, self._claim)
        added.expect(self._trust or ())
        return added

    def _is_known(self, key: str, registration: Registration) -> bool:
        known = self._objects.get(key)
        return known is not None and known.registration == registration

    def _forget(self, reconciled: Iterable[RegisteredObject]) -> None:
        """Forget CRDs whose conversion was removed. One that could not be removed stays, to be shown and tried again,
        and so does one that a hook needs again."""
        gone = {registered for registered in reconciled if not (registered.failure or _is_wanted(registered))}
        self._objects = {key: registered for key, registered in self._objects.items() if registered not in gone}
        self._changed.set()

    def _warn(self, clashes: Iterable[str]) -> None:
        for clash in clashes:
            _log.warn("webhooks are in each other's way", reason=clash)

    async def _release_definitions(self, watches: Watches) -> None:
        """Remove our conversion from CRDs that no hook converts. Without a right to list them we have set none."""
        with tolerated_refusals():
            if not await may_list(self._client, DEFINITION.path(), CONVERSION):
                return
        selection = Selection(DEFINITION.api_version, DEFINITION.kind, labels=CONVERSION)
        async with aclosing(watches.open(selection)) as batches:
            async for reports in batches:
                for conversion in self._unwanted_conversions(reports):
                    released = self._add(conversion)
                    await released.reconcile()
                    self._forget([released])

    def _unwanted_conversions(self, reports: Sequence[Report]) -> Iterator[CrdConversion]:
        """Conversions to remove, of the CRDs in these reports; most CRDs belong to other installations."""
        for report in reports:
            if isinstance(report, ObjectSeen) and report.change is not Change.DELETED:
                conversion = CrdConversion(report.key.name, self._desired.conversion, None)
                step = next_step(conversion, report.obj, TrustedCertificates(), self._claim)
                if _key(conversion) not in self._objects and isinstance(step, WriteStep):
                    yield conversion

    def _values(self) -> Iterator[tuple[LabelValues, float]]:
        for registered in self._objects.values():
            if registered.registration.digest:
                yield (registered.registration.resource.kind, registered.registration.name), float(registered.in_sync)


def _by_key(desired: DesiredRegistrations) -> dict[str, Registration]:
    return {_key(part): part for part in registrations(desired)}


def _key(registration: Registration) -> str:
    return f"{registration.resource.kind}/{registration.name}"


def _is_wanted(registered: RegisteredObject) -> bool:
    """Is this a configuration, which is always kept, or a CRD that hooks convert?"""
    return registered.registration.resource is not DEFINITION or bool(registered.registration.digest)


async def _reconcile(objects: Iterable[RegisteredObject]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for registered in objects:
            tasks.create_task(registered.reconcile())


async def _follow(registered: RegisteredObject, watches: Watches) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(registered.follow(watches))
        tasks.create_task(_relist_after_conversion(registered, watches))


async def _relist_after_conversion(registered: RegisteredObject, watches: Watches) -> None:
    """Relist objects when their CRD gets a conversion: until then they came in their stored shape under any version."""
    plural, _, group = registered.registration.name.partition(".")
    while True:
        await registered.converts_anew.wait()
        registered.converts_anew.clear()
        watches.relist(group, plural)
