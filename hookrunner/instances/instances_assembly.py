"""Puts together what looks after instances of addons, on top of convergence; nothing runs before `start`."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hookrunner import log
from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.build_request import BuildTerms, ImageSettings
from hookrunner.addons.instance_build import BuildTools
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.addons.offered_versions import Offer, read_offer
from hookrunner.background import Background
from hookrunner.claimed_directories import private_directory
from hookrunner.convergence.assembly import Convergence
from hookrunner.engine.assembly import Assembly, Parts
from hookrunner.errors import HookrunnerError, KubeError, ReleaseFailed
from hookrunner.instances.addon_offer import AddonOffer
from hookrunner.instances.instance_health import InstanceHealth
from hookrunner.instances.instance_informer import InstanceCache, InstancesHidden
from hookrunner.instances.instance_planner import InstancePlanner, PlannerParts
from hookrunner.instances.instance_registry import InstanceRegistry, Workshop
from hookrunner.instances.removal import FinalizerSetter, InstanceRemover, VanishedInstances
from hookrunner.instances.reports.instance_views import InstanceViews, InstanceViewSources
from hookrunner.instances.reports.instances_status import InstancesStatus
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.status_reports import StatusReports
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.instances.triggers.gate_world import GateViews, InstanceGates
from hookrunner.instances.triggers.requirement_watch import RequirementWatch
from hookrunner.instances.triggers.source_watch import SourceWatch
from hookrunner.kube.back_off import retry_forever
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import ReleaseOptions
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, SourceOpener
from hookrunner.packages.source_locations import ClusterLocation, locations_of
from hookrunner.packages.web_proxies import WebProxies
from hookrunner.releases.crds import Crds
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.settings import Settings

_log = log.get("addons.instances")


@dataclass(frozen=True, slots=True)
class Instances:
    """What looks after instances: `start` begins with the definitions of their kinds."""

    registry: InstanceRegistry
    status: InstancesStatus
    views: InstanceViews
    _caches: dict[str, InstanceCache]
    _crds: Crds
    _parts: Parts
    _convergence: Convergence
    _writer: StatusWriter
    _health: InstanceHealth
    _reported: ReportedInstances
    _sources: Mapping[ClusterLocation, Mapping[str, Addon]]
    _refresh: float

    def start(self, background: Background, built: Assembly) -> None:
        """Begin with the first converge; define the kinds, follow their objects, write their statuses."""
        self._convergence.start(background, built)
        states, writer = self._convergence.states, self._writer
        background.keep("statuses of addons", writer.post)
        rollouts = RolloutWatch(self.registry.request, states.unit_changes.note)
        reports = StatusReports(self.registry, writer, self._health, rollouts, self._reported)
        background.keep("reports of addons", reports.follow)
        background.keep("timeouts of addons", rollouts.keep)
        background.keep("objects of addons", partial(self._health.follow_runs, states, self.registry))
        background.keep("earlier objects of addons", partial(self._health.take_over, states, self.registry))
        background.keep("health of addons", reports.follow_health)
        background.keep("edits of instances", self.registry.follow_edits)
        background.keep("suspensions of instances", self.registry.follow_suspensions)
        self._start_triggers(background)
        for cache in self._caches.values():
            name = cache.addon.name
            background.keep(f"start of {name}", partial(self._begin, background, cache), ends=True)
            background.keep(f"definition of {name}", partial(self._restore_definition, cache))
            background.keep(f"vanished instances of {name}", partial(self._purge, cache), ends=True)

    def _start_triggers(self, background: Background) -> None:
        states, watches = self._convergence.states, self._parts.kube.watches
        required = RequirementWatch(self.registry, states, self._convergence.helm.drift.watches)
        background.keep("what addons require", required.follow_units)
        background.keep("watches of objects that addons require", required.follow_facts)
        for location, addons in self._sources.items():
            watch = SourceWatch(location, addons, watches)
            background.keep(f"channels in {location}", partial(watch.follow, 0))
            background.keep(f"packages in {location}", partial(watch.follow, 1))
            background.keep(f"changes in {location}", partial(self._follow_source, watch))
        if self._refresh:
            background.keep("sources of addons", self._look_at_sources)

    async def _follow_source(self, watch: SourceWatch) -> None:
        async for addons in watch.changes():
            self.registry.ask_sources(addons, "Source-Changed")

    async def _begin(self, background: Background, cache: InstanceCache) -> None:
        """Define a kind, and follow its objects from then on."""
        await self._define(cache)
        follow = partial(self.registry.follow, self._parts.kube.watches, cache)
        background.keep(f"addon {cache.addon.name}", follow)

    async def _restore_definition(self, cache: InstanceCache) -> None:
        """Define a kind again that someone has deleted: its watch tells of it."""
        while True:
            await cache.lost.next()
            await self._define(cache)

    async def _purge(self, cache: InstanceCache) -> None:
        """Purge what instances have left that vanished while no process ran."""
        await cache.listed.wait()
        await self._convergence.wait_for_converge()
        helm, notices = self._convergence.helm, self._convergence.states.notices
        await VanishedInstances(helm.releases, notices, helm.namespace).purge(cache)

    async def _define(self, cache: InstanceCache) -> None:
        """Apply the definition of a kind, however long that takes; what exists is followed meanwhile only if it is."""
        addon = cache.addon

        def report(error: Exception) -> None:
            level = "debug" if cache.is_listed else "error"  # else the loss of the watch is logged
            _log.log(level, "definition of an addon is not applied yet", addon=addon.name, error=str(error))
            if not cache.is_listed:
                cache.hide(str(error), isinstance(error, KubeError | ReleaseFailed) and error.brief)
                self.registry.take_in(addon, InstancesHidden())

        async def define() -> None:
            await self._crds.ensure(await asyncio.to_thread(read_definitions, addon), {})

        await retry_forever(define, (HookrunnerError,), report)

    async def _look_at_sources(self) -> None:
        """A run looks at its channel, and does nothing if that says what it said before."""
        while True:
            await asyncio.sleep(self._refresh)
            self._convergence.helm.capabilities.forget()  # the cluster may have another version now
            self.registry.ask_sources(self._caches, "Source-Refresh")


@asynccontextmanager
async def instances(
    settings: Settings, offer: AddonOffer, parts: Parts, convergence: Convergence
) -> AsyncIterator[Instances]:
    """What looks after the instances of these addons. Closes its connections when it is left."""
    with private_directory(settings.hooks.tmp_dir, "packages") as unpacked:
        async with HttpsReader(proxies=WebProxies(settings.hooks.environ)) as reader:
            locations = locations_of((offered.addon for offered in offer.addons.values()), settings.addons)
            opener = SourceOpener(reader, parts.kube.patcher, settings.addons.fetch_timeout, locations)
            made = _PlannerMaker(settings, parts, convergence, opener, unpacked)
            yield made.assemble(offer)


class _PlannerMaker:
    """Makes planners, and the registry that asks for them."""

    def __init__(
        self, settings: Settings, parts: Parts, convergence: Convergence, opener: SourceOpener, unpacked: Path
    ) -> None:
        addons, helm = settings.addons, convergence.helm
        cache = PackageCache(addons.cache_directory or settings.hooks.tmp_dir / "packages", addons.cache_size)
        self._settings = settings
        self._parts = parts
        self._convergence = convergence
        self._helm = helm
        self._fetcher = PackageFetcher(cache, addons.verify, parts.metrics)
        self._opener = opener
        self._unpacked = unpacked
        self._writer = StatusWriter(parts.kube.patcher)
        tracker = HealthTracker(parts.kube.patcher, helm.releases.kinds, helm.drift.watches, parts.background)
        self._health = InstanceHealth(tracker, helm.releases, helm.namespace)
        self._reported = ReportedInstances(convergence.states.notices, parts.metrics, time.monotonic)

    def assemble(self, offer: AddonOffer) -> Instances:
        """Everything for these addons."""
        convergence, client = self._convergence, self._parts.kube.patcher
        caches = {name: InstanceCache(offered.addon) for name, offered in offer.addons.items()}
        values = {name: offered.values for name, offered in offer.addons.items()}
        gates = InstanceGates(self._gate_views(caches))
        parts = self._planner_parts(caches, gates)
        sight = Sight(caches, client.outage)
        status = InstancesStatus(self._reported, sight, time.monotonic)
        status.export(self._parts.metrics)

        def make(addon: Addon, instance: Instance) -> InstancePlanner:
            return InstancePlanner(addon, values[addon.name], instance, parts)

        def forget(unit: str) -> None:
            self._writer.forget(unit)
            self._health.forget(unit)
            self._reported.forget(unit)
            gates.forget(unit)

        workshop = Workshop(values, make, client, self._parts.background, forget)
        registry = InstanceRegistry(caches, convergence.units, convergence.states, workshop)
        return Instances(
            registry=registry,
            status=status,
            views=InstanceViews(self._view_sources(registry, offer, sight)),
            _caches=caches,
            _crds=Crds(client, self._helm.releases.kinds),
            _parts=self._parts,
            _convergence=convergence,
            _writer=self._writer,
            _health=self._health,
            _reported=self._reported,
            _sources=self._cluster_sources(cache.addon for cache in caches.values()),
            _refresh=self._settings.addons.refresh,
        )

    def _cluster_sources(self, addons: Iterable[Addon]) -> dict[ClusterLocation, dict[str, Addon]]:
        """The sources that can be watched, with the addons that use them. A source that cannot be read is reported by
        the runs of its instances."""
        sources: dict[ClusterLocation, dict[str, Addon]] = {}
        for addon in addons:
            if isinstance(location := self._opener.locations[addon.name], ClusterLocation):
                sources.setdefault(location, {})[addon.name] = addon
        return sources

    def _view_sources(self, registry: InstanceRegistry, offer: AddonOffer, sight: Sight) -> InstanceViewSources:
        helm = self._helm

        async def read(addon: Addon, channels: Sequence[str], installed: Sequence[str]) -> Offer:
            kubernetes = (await helm.capabilities.get()).kube_version
            return await read_offer(addon, self._opener.open(addon.name, kubernetes), kubernetes, channels, installed)

        return InstanceViewSources(registry, self._reported, offer, read, sight)

    def _gate_views(self, caches: dict[str, InstanceCache]) -> GateViews:
        helm = self._helm
        return GateViews(
            caches,
            self._convergence.states,
            self._reported,
            helm.releases.kinds,
            self._parts.kube.patcher,
            partial(helm.releases.read_names, helm.namespace),
            self._settings.addons.namespaces,
        )

    def _planner_parts(self, caches: dict[str, InstanceCache], gates: InstanceGates) -> PlannerParts:
        addons, helm, client = self._settings.addons, self._helm, self._parts.kube.patcher
        runner = ProgramRunner(self._parts.children, self._unpacked)
        images = ImageSettings(addons.private_registry, addons.image_pull_secret)
        builder = ObjectBuilder(helm.renderer, runner, self._settings.hooks.environ)
        terms = BuildTerms(images, helm.releases.kinds.read_scopes, helm.namespace, addons.patches)
        modules = self._settings.modules
        return PlannerParts(
            tools=BuildTools(builder, self._convergence.store, terms),
            metrics=self._parts.metrics,
            releases=helm.releases,
            home=helm.namespace,
            usual=ReleaseOptions(adopt_orphans=modules.adopt_orphans, timeout=modules.helm_timeout),
            capabilities=helm.capabilities,
            fetcher=self._fetcher,
            remover=InstanceRemover(
                helm.releases, client, {name: cache.addon for name, cache in caches.items()}, self._convergence.events
            ),
            mark=FinalizerSetter(client).set,
            find_obstacle=gates.find_obstacle,
            open_source=self._opener.open,
            status_of=self._writer.status_of,
        )
