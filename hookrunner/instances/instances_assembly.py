"""Puts together what looks after instances of addons, on top of convergence; nothing runs before `start`."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from hookrunner import log
from hookrunner.addons.addon_discovery import AddonCatalog
from hookrunner.addons.build_request import BuildTerms, ImageSettings
from hookrunner.addons.instance_build import BuildTools
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.addons.offer.addon_offer import AddonOffer
from hookrunner.addons.offer.generic_kinds import GenericWorld
from hookrunner.addons.offered_versions import Offer, read_offer
from hookrunner.background import Background
from hookrunner.claimed_directories import private_directory
from hookrunner.convergence.assembly import Convergence
from hookrunner.engine.assembly import Assembly, Parts
from hookrunner.instances.earlier_objects import EarlierObjects
from hookrunner.instances.instance_informer import InstanceCache, InstanceCaches
from hookrunner.instances.instance_planner import InstancePlanner, PlannerParts
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.offer.directory_watch import DirectoryWatch
from hookrunner.instances.offer.generic_watch import GenericParts, GenericWatch
from hookrunner.instances.offer.kind_follower import KindFollower
from hookrunner.instances.offer.kind_life import KindParts
from hookrunner.instances.protection.object_protection import ObjectProtection, ProtectionTerms, ProtectionTools
from hookrunner.instances.removal import FinalizerSetter, InstanceRemover, VanishedInstances
from hookrunner.instances.reports.instance_views import InstanceViews
from hookrunner.instances.reports.instances_status import InstancesStatus
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.reports.sight import LeftKinds, Sight
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.status_reports import StatusReports
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.instances.triggers.gate_world import InstanceGates
from hookrunner.instances.triggers.requirement_watch import RequirementWatch
from hookrunner.instances.units.live_unit import Workshop
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import ReleaseOptions
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, SourceOpener
from hookrunner.packages.source_assembly import open_sources
from hookrunner.packages.source_locations import mirrors_of
from hookrunner.registration.reconcile import claim
from hookrunner.releases.crds import Crds
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


class Instances:
    """What looks after instances: `start` begins with the definitions of their kinds."""

    def __init__(
        self, settings: Settings, offer: AddonOffer, parts: Parts, convergence: Convergence, packages: "_Packages"
    ) -> None:
        helm, client, states = convergence.helm, parts.kube.patcher, convergence.states
        self._parts = parts
        self._convergence = convergence
        self._opener = packages.opener
        self._refresh = settings.addons.refresh
        self._offer = offer
        self._directories = packages.directories
        self._caches = InstanceCaches()
        self._writer = StatusWriter(client)
        self._generics = self._watch_generics(settings) if settings.addons.generic_sources else None
        self._health = HealthTracker(client, helm.releases.kinds, helm.drift.watches, parts.background)
        self._reported = ReportedInstances(states.notices, parts.metrics, time.monotonic)
        self._gates = InstanceGates(
            self._caches,
            states,
            self._reported,
            helm.releases.kinds,
            client,
            partial(helm.releases.read_heads, helm.namespace),
            settings.addons.namespaces,
            settings.addons.accounts,
        )
        planner_parts = self._planner_parts(settings, packages)

        def make(cache: InstanceCache, instance: Instance) -> InstancePlanner:
            return InstancePlanner(cache.addon, cache.values, instance, planner_parts)

        workshop = Workshop(make, client, parts.background, self._forget)
        self.registry = InstanceRegistry(self._caches, convergence.units, states, workshop)
        self._protection = self._protect(settings)
        self._left = LeftKinds()
        sight = Sight(self._caches, client.outage, self._left)
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
        reports = StatusReports(registry, self._writer, self._health, home, rollouts, self._reported, self._protection)
        background.keep("protection of objects", self._protection.keep)
        background.keep("reports of addons", reports.follow)
        background.keep("timeouts of addons", rollouts.keep)
        background.keep("earlier objects of addons", EarlierObjects(self._health, releases, states, registry).take_over)
        background.keep("health of addons", reports.follow_health)
        background.keep("suspensions of instances", registry.follow_suspensions)
        background.keep("replacements of instances", registry.follow_replacements)
        required = RequirementWatch(registry, states, self._convergence.helm.drift.watches)
        background.keep("what addons require", required.follow_units)
        background.keep("watches of objects that addons require", required.follow_facts)
        background.keep("addons directories", self._directories.follow)
        background.keep("offered kinds", self._follower(background).follow)
        if self._generics:
            self._generics.start(background)
        if self._refresh:
            background.keep("sources of addons", self._look_at_sources)

    def _protect(self, settings: Settings) -> ObjectProtection:
        kube, helm = self._parts.kube, self._convergence.helm
        changes = self._convergence.states.unit_changes
        tools = ProtectionTools(kube.patcher, helm.releases.kinds, kube.watches, claim(time.time()), changes)
        return ObjectProtection(self.registry, tools, ProtectionTerms(helm.namespace, settings.addons.protect_except))

    def _watch_generics(self, settings: Settings) -> GenericWatch:
        kube, kinds, addons = self._parts.kube, self._convergence.helm.releases.kinds, settings.addons
        client = kube.patcher
        parts = GenericParts(self._offer, Crds(client, kinds), kinds, kube.watches, self._writer, client.outage)
        rules = GenericWorld(
            prefixes=addons.generic_sources,
            namespaces=addons.namespaces,
            plain_http=addons.verify == "off",
            mirrors=mirrors_of(addons),
        )
        return GenericWatch(parts, rules)

    def _follower(self, background: Background) -> KindFollower:
        convergence, kube = self._convergence, self._parts.kube
        releases, outage = convergence.helm.releases, kube.patcher.outage
        parts = KindParts(
            registry=self.registry,
            crds=Crds(kube.patcher, releases.kinds),
            watches=kube.watches,
            vanished=VanishedInstances(
                releases, kube.patcher, convergence.states.notices, convergence.helm.namespace, outage.rest
            ),
            converged=convergence.wait_for_converge,
            outage=outage,
            background=background,
        )
        return KindFollower(self._offer, parts, self._left, convergence.share_values)

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
        client = self._parts.kube.patcher
        return PlannerParts(
            tools=BuildTools(builder, self._convergence.store, terms),
            metrics=metrics,
            releases=helm.releases,
            home=helm.namespace,
            usual=ReleaseOptions(adopt_orphans=modules.adopt_orphans, timeout=modules.helm_timeout),
            capabilities=helm.capabilities,
            fetcher=PackageFetcher(cache, addons.verify, metrics),
            remover=InstanceRemover(helm.releases, client, self._convergence.events),
            mark=FinalizerSetter(client).set,
            admit=self._gates.admit,
            open_source=self._opener.open,
            status_of=self._writer.status_of,
            health=self._health,
        )

    async def _read_offer(self, addon: Addon, channels: Sequence[str], installed: Sequence[str]) -> Offer:
        kubernetes = (await self._convergence.helm.capabilities.get()).kube_version
        return await read_offer(addon, self._opener.open(addon.name, kubernetes), kubernetes, channels, installed)

    async def _look_at_sources(self) -> None:
        """A run looks at its channel, and does nothing if that says what it said before."""
        while True:
            await asyncio.sleep(self._refresh)
            self._convergence.helm.capabilities.forget()  # the cluster may have another version now
            self.registry.ask_sources(self._caches, "Source-Refresh")


@dataclass(frozen=True, slots=True)
class _Packages:
    """Where addons and their packages come from, and a directory for what is made of packages."""

    directories: DirectoryWatch
    opener: SourceOpener
    unpacked: Path


@asynccontextmanager
async def instances(
    settings: Settings, catalog: AddonCatalog, parts: Parts, convergence: Convergence
) -> AsyncIterator[Instances]:
    """What looks after the instances of these addons, and of those that are offered later. Closes its connections when
    it is left. Raises StartRefused for a key that cannot be used."""
    offer = AddonOffer()
    directories = DirectoryWatch(settings, offer)
    directories.begin(catalog)
    with private_directory(settings.hooks.tmp_dir, "packages") as unpacked:
        async with open_sources(settings, offer.locations, parts.kube.patcher) as opener:
            yield Instances(settings, offer, parts, convergence, _Packages(directories, opener, unpacked))
