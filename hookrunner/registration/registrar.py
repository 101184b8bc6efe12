"""Everything in the cluster that leads the API server to us: put there, kept there, taken away.

    registrar = Registrar(client, metrics, desired_registrations(hooks, …), claim(started))
    await registrar.publish(trust)      # PEM; returns when all that can be written was read back
    await registrar.keep(watches)       # for ever
    await registrar.want(desired_registrations(…))       # something else from now on, since hooks have come or gone
    registrar.condition()               # (True, "") when the API server knows all we want it to

There is no lock between processes; `claims` says who may write. A CRD that does not exist is waited for in `keep`.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing

from hookrunner import log
from hookrunner.errors import RegistrationFailed
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import may_list
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.bindings import Change
from hookrunner.model.resources import Selection
from hookrunner.model.watching import ObjectSeen, Report
from hookrunner.registration.claims import Claim
from hookrunner.registration.desired import DesiredRegistrations
from hookrunner.registration.reconcile import WriteStep, next_step
from hookrunner.registration.registered_object import RegisteredObject
from hookrunner.registration.webhook_objects import (
    CONVERSION,
    DEFINITION,
    Definition,
    Registration,
    Trust,
    certificates,
    registrations,
)

SETTLE = 5.0
"""Seconds for API servers to notice a registration that has changed; they follow them by watch."""

_LOG = log.get("registration")


class Registrar:
    """Looks after the objects of one wish, which may be exchanged for another."""

    def __init__(self, client: Client, metrics: Metrics, wish: DesiredRegistrations, claim: Claim) -> None:
        self._client = client
        self._wish = wish
        self._claim = claim
        self._trust: Sequence[bytes] | None = None
        self._published = self._ready = False
        self._changed = asyncio.Event()
        self._objects: dict[str, RegisteredObject] = {}
        self._take(wish)
        self._warn(wish.clashes)
        metrics.webhook_registered.from_function(lambda: list(self._values()))

    async def publish(self, trust: bytes) -> None:
        """Have the API server come here and trust these certificates. Safe to call again and again.

        The first time, certificates that are there already stay, for a pod of the last release may still show one of
        them; each later call leaves only those that it is given. Temporary errors are outwaited, others are told by
        `condition`.
        """
        self._trust = certificates(trust)
        for one in self._objects.values():
            one.expect(self._trust)
        await _settle(self._objects.values())
        self._published = True

    async def want(self, wish: DesiredRegistrations, mine: DesiredRegistrations) -> None:
        """Have this registered from now on; return when what has changed, and all that `mine` speaks of, was read back
        as it should be. What was never published is only noted.

        Raises RegistrationFailed if a part of `mine` cannot be written, or something cannot be taken away.
        """
        self._warn(clash for clash in wish.clashes if clash not in self._wish.clashes)
        changed = {*self._take(wish), *(key for key, one in _by_key(mine).items() if one.digest)}
        if self._trust is None:
            return
        concerned = [self._objects[key] for key in changed if key in self._objects]
        await _settle(concerned)
        self._forget(one for one in concerned if not (one.failure or _is_asked(one)))
        if failures := [f"{one}: {one.failure}" for one in concerned if one.failure]:
            raise RegistrationFailed("; ".join(failures))

    async def keep(self, watches: Watches) -> None:
        """Repair what is changed, configure CRDs that appear, free those that no hook asks for any more."""
        kept: dict[RegisteredObject, asyncio.Task[None]] = {}
        freeing = False
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                present = set(self._objects.values())
                for gone in kept.keys() - present:
                    kept.pop(gone).cancel()
                for new in present - kept.keys():
                    kept[new] = tasks.create_task(_followed(new, watches))
                if not (self._wish.incomplete or freeing):
                    tasks.create_task(self._free(watches))
                    freeing = True
                await self._changed.wait()

    def condition(self) -> tuple[bool, str]:
        """Is everything in place that can be, and what a person should know.

        Once in place, later trouble is told but does not make us unready: reviews are answered as before.
        """
        objects = self._objects.values()
        self._ready = self._ready or (self._published and all(one.settled for one in objects))
        told = [f"{one}: {one.problem}" for one in objects if one.problem]
        if not self._published and not told:
            told = ["webhooks are not registered yet"]
        return self._ready, "; ".join((*told, *self._wish.clashes))

    def _take(self, wish: DesiredRegistrations) -> list[str]:
        """The keys of objects about which something else is wanted now; of what is not asked for any more, that it is
        not."""
        self._wish, wanted = wish, _by_key(wish)
        for key, one in self._objects.items():
            wanted.setdefault(key, Definition(one.registration.name, wish.conversion, None))
        changed = [key for key, one in wanted.items() if not self._is_known(key, one)]
        for key in changed:
            if known := self._objects.get(key):
                known.want(wanted[key])
            else:
                known = self._objects[key] = RegisteredObject(self._client, wanted[key], self._claim)
                known.expect(self._trust or ())
        self._changed.set()
        return changed

    def _is_known(self, key: str, wanted: Registration) -> bool:
        known = self._objects.get(key)
        return known is not None and known.registration == wanted

    def _forget(self, freed: Iterable[RegisteredObject]) -> None:
        """CRDs that were given back."""
        gone = set(freed)
        self._objects = {key: one for key, one in self._objects.items() if one not in gone}
        self._changed.set()

    def _warn(self, clashes: Iterable[str]) -> None:
        for clash in clashes:
            _LOG.warn("webhooks are in each other's way", reason=clash)

    async def _free(self, watches: Watches) -> None:
        """CRDs that we have set a conversion on, and that no hook speaks of. Without a right to list them there is
        nothing that we could have set."""
        if not await may_list(self._client, DEFINITION.path(), CONVERSION):
            return
        selection = Selection(DEFINITION.api_version, DEFINITION.kind, labels=CONVERSION)
        async with aclosing(watches.open(selection)) as story:
            async for reports in story:
                for definition in self._unasked(reports):
                    await RegisteredObject(self._client, definition, self._claim).settle()

    def _unasked(self, reports: Sequence[Report]) -> Iterator[Definition]:
        """Those that still lead to us; most will be other installations'."""
        for report in reports:
            if isinstance(report, ObjectSeen) and report.change is not Change.DELETED:
                definition = Definition(report.key.name, self._wish.conversion, None)
                asked = definition.name in self._wish.conversions
                if not asked and isinstance(next_step(definition, report.obj, Trust(), self._claim), WriteStep):
                    yield definition

    def _values(self) -> Iterator[tuple[LabelValues, float]]:
        for one in self._objects.values():
            if one.registration.digest:
                yield (one.registration.resource.kind, one.registration.name), float(one.right)


def _by_key(wish: DesiredRegistrations) -> dict[str, Registration]:
    return {f"{one.resource.kind}/{one.name}": one for one in registrations(wish)}


def _is_asked(one: RegisteredObject) -> bool:
    """Is this a part of every wish, or is something wanted of it?"""
    return one.registration.resource is not DEFINITION or bool(one.registration.digest)


async def _settle(objects: Iterable[RegisteredObject]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for one in objects:
            tasks.create_task(one.settle())


async def _followed(one: RegisteredObject, watches: Watches) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(one.follow(watches))
        tasks.create_task(_list_again(one, watches))


async def _list_again(one: RegisteredObject, watches: Watches) -> None:
    """What was listed before a CRD had a conversion came in whatever shape it was stored, under any version's name."""
    plural, _, group = one.registration.name.partition(".")
    while True:
        await one.converts_anew.wait()
        one.converts_anew.clear()
        watches.relist(group, plural)
