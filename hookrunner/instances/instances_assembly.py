"""Puts together what looks after instances of addons, on top of convergence; nothing runs before `start`."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from hookrunner import log
from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.addon_discovery import AddonCatalog
from hookrunner.addons.build_request import BuildTerms, ImageSettings
from hookrunner.addons.instance_build import BuildTools
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.addons.offered_versions import Offer, read_offer
from hookrunner.background import Background
from hookrunner.claimed_directories import private_directory
from hookrunner.convergence.assembly import Convergence
from hookrunner.engine.assembly import Assembly, Parts
from hookrunner.errors import HookrunnerError, KubeError, ReleaseFailed
from hookrunner.instances.earlier_objects import EarlierObjects
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.instance_planner import InstancePlanner, PlannerParts
from hookrunner.instances.instance_registry import InstanceRegistry, Workshop
from hookrunner.instances.removal import FinalizerSetter, InstanceRemover, VanishedInstances
from hookrunner.instances.reports.instance_views import InstanceViews
from hookrunner.instances.reports.instances_status import InstancesStatus
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.status_reports import StatusReports
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.instances.triggers.gate_world import InstanceGates
from hookrunner.instances.triggers.requirement_watch import RequirementWatch
from hookrunner.instances.triggers.source_watch import SourceWatch
from hookrunner.kube.back_off import retry_forever
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import ReleaseOptions
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, SourceOpener
from hookrunner.packages.source_assembly import open_sources
from hookrunner.packages.source_locations import ClusterLocation, locations_of
from hookrunner.releases.crds import Crds
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


class Instances:
    """What looks after instances: `start` begins with the definitions of their kinds."""

    def __init__(
        self, settings: Settings, offer: AddonCatalog, parts: Parts, convergence: Convergence, packages: "_Packages"
    ) -> None:
        helm, client, states = convergence.helm, parts.kube.patcher, convergence.states
        self._parts = parts
        self._convergence = convergence
        self._opener = packages.opener
        self._refresh = settings.addons.refresh
        self._caches = {addon.name: InstanceCache(addon) for addon in offer.addons}
        self._crds = Crds(client, helm.releases.kinds)
        self._writer = StatusWriter(client)
        self._health = HealthTracker(client, helm.releases.kinds, helm.drift.watches, parts.background)
        self._reported = ReportedInstances(states.notices, parts.metrics, time.monotonic)
        self._gates = InstanceGates(
            self._caches,
            states,
            self._reported,
            helm.releases.kinds,
            client,
            partial(helm.releases.read_names, helm.namespace),
            settings.addons.namespaces,
        )
        planner_parts = self._planner_parts(settings, packages)

        def make(addon: Addon, instance: Instance) -> InstancePlanner:
            return InstancePlanner(addon, offer.values[addon.name], instance, planner_parts)

        workshop = Workshop(offer.values, make, client, parts.background, self._forget)
        self.registry = InstanceRegistry(self._caches, convergence.units, states, workshop)
        sight = Sight(self._caches, client.outage)
        self.status = InstancesStatus(self._reported, sight, time.monotonic)
        self.status.export(parts.metrics)
        self.views = InstanceViews(self.registry, self._reported, offer, self._read_offer, sight)

    def start(self, background: Background, built: Assembly) -> None:
        """Begin with the first converge; define the kinds, follow their objects, write their statuses."""
        self._convergence.start(background, built)
        states, registry = self._convergence.states, self.registry
        background.keep("statuses of addons", self._writer.post)
        background.keep("statuses of addons after outages", self._writer.retry_after_outages)
        rollouts = RolloutWatch(self._convergence.units.tasks.request, states.unit_changes.note)
        releases, home = self._convergence.helm.releases, self._convergence.helm.namespace
        reports = StatusReports(registry, self._writer, self._health, home, rollouts, self._reported)
        background.keep("reports of addons", reports.follow)
        background.keep("timeouts of addons", rollouts.keep)
        background.keep("earlier objects of addons", EarlierObjects(self._health, releases, states, registry).take_over)
        background.keep("health of addons", reports.follow_health)
        background.keep("suspensions of instances", registry.follow_suspensions)
        required = RequirementWatch(registry, states, self._convergence.helm.drift.watches)
        background.keep("what addons require", required.follow_units)
        background.keep("watches of objects that addons require", required.follow_facts)
        self._follow_sources(background)
        for name, cache in self._caches.items():
            background.keep(f"start of {name}", partial(self._begin, background, cache), ends=True)
            background.keep(f"definition of {name}", partial(self._restore_definition, cache))
            background.keep(f"vanished instances of {name}", partial(self._purge, cache), ends=True)

    def _forget(self, unit: str) -> None:
        """A unit has ended."""
        self._writer.forget(unit)
        self._health.forget(ReleaseId(unit, self._convergence.helm.namespace))
        self._reported.forget(unit)
        self._gates.forget(unit)

    def _planner_parts(self, settings: Settings, packages: "_Packages") -> PlannerParts:
        addons, modules, helm, metrics = settings.addons, settings.modules, self._convergence.helm, self._parts.metrics
        runner = ProgramRunner(self._parts.children, packages.unpacked)
        builder = ObjectBuilder(helm.renderer, runner, settings.hooks.environ)
        images = ImageSettings(addons.private_registry, addons.image_pull_secret)
        terms = BuildTerms(images, helm.releases.kinds.read_scopes, helm.namespace, addons.patches)
        cache = PackageCache(addons.cache_directory or settings.hooks.tmp_dir / "packages", addons.cache_size)
        client, known = self._parts.kube.patcher, {name: cache.addon for name, cache in self._caches.items()}
        return PlannerParts(
            tools=BuildTools(builder, self._convergence.store, terms),
            metrics=metrics,
            releases=helm.releases,
            home=helm.namespace,
            usual=ReleaseOptions(adopt_orphans=modules.adopt_orphans, timeout=modules.helm_timeout),
            capabilities=helm.capabilities,
            fetcher=PackageFetcher(cache, addons.verify, metrics),
            remover=InstanceRemover(helm.releases, client, known, self._convergence.events),
            mark=FinalizerSetter(client).set,
            find_obstacle=self._gates.find_obstacle,
            open_source=self._opener.open,
            status_of=self._writer.status_of,
            health=self._health,
        )

    async def _read_offer(self, addon: Addon, channels: Sequence[str], installed: Sequence[str]) -> Offer:
        kubernetes = (await self._convergence.helm.capabilities.get()).kube_version
        return await read_offer(addon, self._opener.open(addon.name, kubernetes), kubernetes, channels, installed)

    def _follow_sources(self, background: Background) -> None:
        """Watch the sources that can be watched. One whose location cannot be read is reported by the runs of its
        instances."""
        sources: dict[ClusterLocation, dict[str, Addon]] = {}
        for name, cache in self._caches.items():
            if isinstance(location := self._opener.locations[name], ClusterLocation):
                sources.setdefault(location, {})[name] = cache.addon
        for location, addons in sources.items():
            watch = SourceWatch(location, addons, self._parts.kube.watches)
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
        helm, notices, rest = (
            self._convergence.helm,
            self._convergence.states.notices,
            self._parts.kube.patcher.outage.rest,
        )
        await VanishedInstances(helm.releases, notices, helm.namespace, rest).purge(cache)

    async def _define(self, cache: InstanceCache) -> None:
        """Apply the definition of a kind, however long that takes; what exists is followed meanwhile only if it is."""
        addon = cache.addon

        def report(error: Exception) -> None:
            level = "debug" if cache.is_listed else "error"  # else the loss of the watch is logged
            _log.log(level, "definition of an addon is not applied yet", addon=addon.name, error=error)
            if not cache.is_listed:
                cache.hide(str(error), isinstance(error, KubeError | ReleaseFailed) and error.brief)
                self.registry.decide(addon)

        async def define() -> None:
            await self._crds.ensure(await asyncio.to_thread(read_definitions, addon), {})

        await retry_forever(define, (HookrunnerError,), report, self._parts.kube.patcher.outage.rest)

    async def _look_at_sources(self) -> None:
        """A run looks at its channel, and does nothing if that says what it said before."""
        while True:
            await asyncio.sleep(self._refresh)
            self._convergence.helm.capabilities.forget()  # the cluster may have another version now
            self.registry.ask_sources(self._caches, "Source-Refresh")


@dataclass(frozen=True, slots=True)
class _Packages:
    """Where packages come from, and a directory for what is made of them."""

    opener: SourceOpener
    unpacked: Path


@asynccontextmanager
async def instances(
    settings: Settings, offer: AddonCatalog, parts: Parts, convergence: Convergence
) -> AsyncIterator[Instances]:
    """What looks after the instances of these addons. Closes its connections when it is left. Raises StartRefused for
    a key that cannot be used."""
    locations = locations_of(offer.addons, settings.addons)
    with private_directory(settings.hooks.tmp_dir, "packages") as unpacked:
        async with open_sources(settings, locations, parts.kube.patcher) as opener:
            yield Instances(settings, offer, parts, convergence, _Packages(opener, unpacked))
