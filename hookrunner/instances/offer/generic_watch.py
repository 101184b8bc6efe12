"""Follows objects of the kind Generic, which feed the offer beside the directories, and writes their statuses.

    watch = GenericWatch(parts, rules)
    watch.start(background)

They count when all are listed: the oldest of two of one kind has it. While they cannot be seen, the offer stays as it
is. A kind that the cluster does not serve yet is looked for every few seconds while an object waits for it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from hookrunner import log
from hookrunner.addons.offer.addon_offer import AddonOffer
from hookrunner.addons.offer.generic_kinds import GENERIC, GenericVerdict, GenericWorld, decide, make_definition
from hookrunner.background import Background
from hookrunner.errors import HookrunnerError, KubeError, UnknownKind
from hookrunner.instances.instance_informer import InstanceCache, InstanceGone
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.kube.back_off import Outage, retry_forever
from hookrunner.kube.informer import Opener
from hookrunner.model.addon_status import InstanceFacts
from hookrunner.model.resources import Resource
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.waits import Notifier
from kubetypes.light_dataclasses import dataclass

LOOK = 5.0
"""Seconds between two looks for a kind that is not served."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class GenericParts:
    """What follows the objects, and where they lead."""

    offer: AddonOffer
    crds: Crds
    kinds: KindResolver
    watches: Opener
    writer: StatusWriter
    outage: Outage


class GenericWatch:
    """All objects of the kind; `rules` are what the settings allow."""

    def __init__(self, parts: GenericParts, rules: GenericWorld) -> None:
        self._parts = parts
        self._rules = rules
        self._cache = InstanceCache(GENERIC)
        self._changed = Notifier()
        self._resources: dict[tuple[str, str], Resource] = {}
        self._leads_to: dict[str, str] = {}

    def start(self, background: Background) -> None:
        """Begin all of it."""
        background.keep("objects of Generic", self._follow_objects)
        background.keep("definition of Generic", self._restore_definition)
        background.keep("directories beside Generic", self._follow_directories)
        background.keep("kinds of Generic", self._decide)

    async def _follow_objects(self) -> None:
        """Define the kind, and keep what its objects say, until cancelled."""
        await retry_forever(self._define, (HookrunnerError,), _complain, self._parts.outage.rest)
        async with aclosing(self._cache.follow(self._parts.watches)) as events:
            async for event in events:
                if isinstance(event, InstanceGone):
                    self._parts.writer.forget(event.instance.unit)
                self._changed.notify()

    async def _restore_definition(self) -> None:
        """Define the kind again that someone has deleted, until cancelled."""
        while True:
            await self._cache.lost.next()
            await retry_forever(self._define, (HookrunnerError,), _complain, self._parts.outage.rest)

    async def _follow_directories(self) -> None:
        """Look at all objects again when directories offer something else, until cancelled."""
        async for _ in self._parts.offer.states():
            self._changed.notify()

    async def _decide(self) -> None:
        """Feed the offer, and write what each object leads to, until cancelled."""
        await self._cache.listed.wait()
        while True:
            verdicts = await self._judge()
            waits = any(verdict.wanted and verdict.state.reason == "Waiting" for verdict in verdicts)
            until = asyncio.get_running_loop().time() + LOOK if waits else None
            await self._changed.next(until)

    async def _define(self) -> None:
        await self._parts.crds.ensure([make_definition()], {})

    async def _judge(self) -> list[GenericVerdict]:
        """What the objects lead to now. A change while kinds are looked for has a look of its own."""
        first = decide(self._cache, self._world())
        for wanted in {verdict.wanted for verdict in first if verdict.wanted and verdict.state.reason == "Waiting"}:
            await self._look_for(wanted)
        verdicts = decide(self._cache, self._world())
        offered = [verdict.offered for verdict in verdicts if verdict.offered]
        self._parts.offer.set_generics(offered, self._reasons(verdicts))
        for verdict in verdicts:
            facts = InstanceFacts(verdict.generic.generation, obstacle=verdict.state)
            self._parts.writer.report(GENERIC, verdict.generic, facts)
        return verdicts

    def _reasons(self, verdicts: Sequence[GenericVerdict]) -> dict[str, str]:
        """Why objects do not lead to an addon any more that did, by the addon's name."""
        for verdict in verdicts:
            if verdict.offered:
                self._leads_to[verdict.offered.addon.name] = verdict.generic.unit
        offered = {verdict.offered.addon.name for verdict in verdicts if verdict.offered}
        states = {verdict.generic.unit: verdict.state.message for verdict in verdicts}
        left = {name: unit for name, unit in self._leads_to.items() if name not in offered}
        return {name: states.get(unit, f"its object {unit} was deleted") for name, unit in left.items()}

    def _world(self) -> GenericWorld:
        return replace(self._rules, addons=self._parts.offer.of_directories, resources=dict(self._resources))

    async def _look_for(self, wanted: tuple[str, str]) -> None:
        """Remember a kind that the cluster serves."""
        try:
            resource = await self._parts.kinds.resolve(*wanted)
        except UnknownKind:
            return
        except KubeError as error:
            _log.debug("kind of a Generic cannot be looked for", kind=wanted[1], error=error)
            return
        if (resource.api_version, resource.kind) == wanted:
            self._resources[wanted] = resource


def _complain(error: Exception) -> None:
    _log.error("definition of Generic is not applied yet", error=error)
