"""Everything in the cluster that leads the API server to us: put there, kept there, taken away.

    registrar = Registrar(client, metrics, wish(hooks, …), claim(started))
    await registrar.publish(trust)      # PEM; returns when all that can be written was read back
    await registrar.keep(watches)       # for ever
    registrar.condition()               # (True, "") when the API server knows all we want it to

There is no lock between processes; `claims` says who may write. A CRD that does not exist is waited for in `keep`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing

from hookrunner import log
from hookrunner.kube.client import Client
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.bindings import Change
from hookrunner.model.resources import Selection
from hookrunner.model.watching import Item, Report
from hookrunner.registration.claims import Claim
from hookrunner.registration.merging import CONVERSION, DEFINITION, Definition, registrations
from hookrunner.registration.registered import Registered
from hookrunner.registration.steps import Write, step
from hookrunner.registration.trust import Trust, certificates
from hookrunner.registration.wanted import Wish

_LOG = log.get("registration")


class Registrar:
    """Looks after the objects of one wish."""

    def __init__(self, client: Client, metrics: Metrics, wish: Wish, claim: Claim) -> None:
        self._client = client
        self._wish = wish
        self._claim = claim
        self._published = False
        self._objects = [Registered(client, one, claim) for one in registrations(wish)]
        for clash in wish.clashes:
            _LOG.warn("webhooks are in each other's way", reason=clash)
        metrics.webhook_registered.from_function(lambda: list(self._values()))

    async def publish(self, trust: bytes) -> None:
        """Have the API server come here and trust these certificates. Safe to call again and again.

        The first time, certificates that are there already stay, for a pod of the last release may still show one of
        them; each later call leaves only those that it is given. Temporary errors are outwaited, others are told by
        `condition`.
        """
        wanted = Trust(certificates(trust), exact=self._published)
        for one in self._objects:
            one.expect(wanted)
        async with asyncio.TaskGroup() as tasks:
            for one in self._objects:
                tasks.create_task(one.settle())
        self._published = True

    async def keep(self, watches: Watches) -> None:
        """Repair what is changed, configure CRDs that appear, free those that no hook asks for any more."""
        async with asyncio.TaskGroup() as tasks:
            for one in self._objects:
                tasks.create_task(one.follow(watches))
                tasks.create_task(_list_again(one, watches))
            if not self._wish.incomplete:
                tasks.create_task(self._free(watches))

    def condition(self) -> tuple[bool, str]:
        """Is everything in place that can be, and what a person should know.

        Once in place, later trouble is told but does not make us unready: reviews are answered as before.
        """
        ready = self._published and all(one.settled for one in self._objects)
        told = [f"{one}: {one.problem}" for one in self._objects if one.problem]
        if not self._published and not told:
            told = ["webhooks are not registered yet"]
        return ready, "; ".join((*told, *self._wish.clashes))

    async def _free(self, watches: Watches) -> None:
        """CRDs that we have set a conversion on, and that no hook speaks of."""
        selection = Selection(DEFINITION.api_version, DEFINITION.kind, labels=CONVERSION)
        async with aclosing(watches.open(selection)) as story:
            async for reports in story:
                for definition in self._unasked(reports):
                    await Registered(self._client, definition, self._claim).settle()

    def _unasked(self, reports: Sequence[Report]) -> Iterator[Definition]:
        """Those that still lead to us; most will be other installations'."""
        for report in reports:
            if isinstance(report, Item) and report.change is not Change.DELETED:
                definition = Definition(report.key.name, self._wish.conversion, None)
                asked = definition.name in self._wish.conversions
                if not asked and isinstance(step(definition, report.obj, Trust(), self._claim), Write):
                    yield definition

    def _values(self) -> Iterator[tuple[LabelValues, float]]:
        for one in self._objects:
            if one.registration.digest:
                yield (one.registration.resource.kind, one.registration.name), float(one.right)


async def _list_again(one: Registered, watches: Watches) -> None:
    """What was listed before a CRD had a conversion came in whatever shape it was stored, under any version's name."""
    plural, _, group = one.registration.name.partition(".")
    while True:
        await one.converts_anew.wait()
        one.converts_anew.clear()
        watches.again(group, plural)
