"""Puts together what looks after modules, on top of an engine; nothing runs before `start`."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from hookrunner import log
from hookrunner.background import Background
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.controllers.event_recorder import EventRecorder, EventSource
from hookrunner.convergence.converge import Converge, RoundSteps
from hookrunner.convergence.decisions.config_object import ConfigObject
from hookrunner.convergence.decisions.configuration import Extenders, UserConfiguration
from hookrunner.convergence.decisions.module_configuration import ModuleConfiguration
from hookrunner.convergence.decisions.module_decisions import ModuleDecisions
from hookrunner.convergence.events import PACE, EventWriter
from hookrunner.convergence.plan import Planners
from hookrunner.convergence.reactions import ClusterReactions, ConfigReactions, UnitRequests
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.convergence.runs.hook_loading import CompiledHooks, HookPrefetch, SharedHooks
from hookrunner.convergence.runs.module_planner import ModulePlanner
from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks, WebhookRegistrar
from hookrunner.convergence.runs.release_reconciler import Helm, ReleaseReconciler
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.convergence.runs.unit_releases import Leftovers
from hookrunner.convergence.runs.unit_remover import UnitRemover
from hookrunner.convergence.runs.unit_runner import UnitDefinitions, UnitParts, UnitRunner
from hookrunner.convergence.runs.unit_tasks import UnitTasks
from hookrunner.convergence.seams import Steps
from hookrunner.convergence.status import ModuleGauges, ModulesStatus, StatusSources
from hookrunner.convergence.turns import TurnDispatcher, TurnRules
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.units import Units, UnitWorld
from hookrunner.convergence.views import ModuleViews, UnitViews, ViewSources
from hookrunner.engine.assembly import Assembly, Kube, Parts
from hookrunner.errors import KubeError
from hookrunner.hooks import catalog
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.model.tasks import OPERATOR_STARTUP, own_queue
from hookrunner.model.units import Unit
from hookrunner.modules.scripts import MeteredScripts, Scripts
from hookrunner.options import Compat
from hookrunner.releases.crds import Crds
from hookrunner.releases.drift import Drift
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.releases.releases import RecordSettings, Releases
from hookrunner.settings import ModulesSettings, Settings
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_Change = TypeVar("_Change")


@dataclass(frozen=True, slots=True)
class ConvergenceCore:
    """What moves units: requests, their tasks, turns and rounds, and the units that come and go."""

    tasks: UnitTasks
    turns: TurnDispatcher
    converge: Converge
    requests: UnitRequests
    units: Units


def connect(world: UnitWorld, steps: Steps, rules: TurnRules) -> ConvergenceCore:
    """Put these together, and open the queues of modules."""
    states, parts = world.states, world.parts
    runner = UnitRunner(parts, world.definitions, world.planners, world.metrics)
    tasks = UnitTasks(states, (runner.run, UnitRemover(parts).run), world.queues, world.metrics, world.clock)
    turns = TurnDispatcher(states, tasks, rules)
    converge = Converge(states, tasks, steps, turns, world.engine)
    for state in states.modules:
        world.engine.open(own_queue(state.name), tasks.carry_out)
    units = Units(world, runner, tasks, converge)
    return ConvergenceCore(tasks, turns, converge, UnitRequests(states, converge, turns.give, tasks), units)


@dataclass(frozen=True, slots=True)
class Convergence:
    """What looks after modules. `helm` is what releases are made with. `prepare` comes before the engine starts,
    `start` after it."""

    status: ModulesStatus
    views: UnitViews
    module_views: ModuleViews
    releases: ReleaseReconciler
    states: UnitStates
    helm: Helm
    _decisions: ModuleDecisions
    _core: ConvergenceCore
    _configured: ModuleConfiguration
    _events: EventWriter

    @property
    def units(self) -> Units:
        """The units that come and go."""
        return self._core.units

    @property
    def events(self) -> EventSource:
        """For Events that something waits for."""
        return self._events.source

    @property
    def store(self) -> SectionStore:
        """The values of all units."""
        return self._configured.store

    def share_values(self, shared: JSON) -> None:
        """The global values that stand below those of modules are these from now on; what sees them runs again."""
        if self._configured.set_shared(shared):
            self._core.converge.request("Addon-Values-Changed", at_once=True)

    async def prepare(self) -> None:
        """Read what users have configured: hooks should see it from their first run on. What cannot be read leaves
        every module undecided until it can."""
        await asyncio.gather(self._read_config(), self.releases.prewarm_if_new())

    async def _read_config(self) -> None:
        sources = self._configured.sources
        with suppress(KubeError):
            for source in sources:
                await source.read()
        config = sources.config
        if not sources.unread:
            if not config.contents.version and config.name != Compat.ADDON:
                await _look_for_predecessor(config)
            if await self.releases.has_releases():  # an earlier process may have seen what is missing now
                for source in sources:
                    source.expect()
        await self._decisions.configuration.read_ahead()
        self._decisions.configuration.adopt()

    async def wait_for_converge(self) -> None:
        """Wait until the first converge is over."""
        await self._core.converge.converged.wait()

    def start(self, background: Background, built: Assembly) -> None:
        """Begin with the first converge."""
        core, requests, helm = self._core, self._core.requests, self.helm
        core.converge.request(OPERATOR_STARTUP, at_once=False)
        config = ConfigReactions(requests, self._decisions, helm.renderer.prewarm)
        cluster = ClusterReactions(requests, self.releases)
        tasks: dict[str, Callable[[], Awaitable[None]]] = {
            "converge": core.converge.keep,
            "turns of modules": core.turns.dispatch,
            "decisive edits": config.follow_decisive_edits,
            "enabled scripts": config.follow_scripts,
            "changed values": _follow(config.follow_values, built.executor.changes),
            "changed flags": lambda: config.follow_flags(self._configured.values.flagged),
            "snapshots for modules": lambda: cluster.follow_snapshots(built.engine.progress),
            "events": self._events.post,
            "objects of releases": self.releases.tracker.keep,
            "drift": _follow(cluster.follow_drift, helm.drift.findings),
            "records that cannot be read": _follow(cluster.follow_unreadable, helm.releases.watch_unreadable),
            "capabilities": lambda: cluster.follow_capabilities(helm.capabilities),
            "served CRDs": lambda: helm.capabilities.follow(0),
            "served APIServices": lambda: helm.capabilities.follow(1),
        }
        for source in self._configured.sources:
            tasks[f"watch {source}"] = _follow(config.follow_config, source.states)
            tasks[f"grace of {source}"] = _follow(config.follow_config, source.ends)
        for namespace in {helm.namespace, *(state.unit.namespace for state in self.states.modules)} - {""}:
            watch = partial(helm.releases.watch_changes, namespace)
            tasks[f"records in {namespace}"] = _follow(cluster.follow_records, watch)
        for name, follow in tasks.items():
            # What the cluster does not serve is not followed.
            background.keep(name, follow, ends=name.startswith("served "))


def _follow(
    follow: Callable[[AsyncIterator[_Change]], Awaitable[None]], changes: Callable[[], AsyncIterator[_Change]]
) -> Callable[[], Awaitable[None]]:
    """Follows changes, each time that it is called, which is once more after a crash."""
    return lambda: follow(changes())


@asynccontextmanager
async def convergence(
    settings: Settings, configured: ModuleConfiguration, parts: Parts, built: Assembly, registrar: WebhookRegistrar
) -> AsyncIterator[Convergence]:
    """What looks after these modules; the engine runs its tasks. Ends its render workers when it is left."""
    async with Renderer(RenderLimits.of(settings.modules), settings.hooks.environ) as renderer:
        helm = _helm(parts, settings.modules, configured.namespace, renderer)
        yield _Assembler(settings, configured, parts, built, helm).assemble(registrar)


class _Assembler:
    """Makes the parts, in the order in which they need each other."""

    def __init__(
        self, settings: Settings, configured: ModuleConfiguration, parts: Parts, built: Assembly, helm: Helm
    ) -> None:
        self._settings = settings
        self._configured = configured
        self._parts = parts
        self._built = built
        self._helm = helm
        self._states = states = UnitStates(configured.shelf.modules)
        on_compiled = settings.modules.on_compiled
        self._compiled = CompiledHooks(states.notices, configured.shelf.compiled, on_compiled == "park")

    def assemble(self, registrar: WebhookRegistrar) -> Convergence:
        """All parts; their queues are open, and nothing runs yet."""
        configured, parts, built, states = self._configured, self._parts, self._built, self._states
        store, certain = configured.store, configured.shelf.loaded.found.certain
        decisions = self._decisions(lambda: tasks.activation)
        planner = self._planner(decisions)
        planners = Planners(planner)
        releases = ReleaseReconciler(self._helm, planners, parts.metrics, self._settings.modules.concurrency)
        hooks = _hooks(self._settings, parts, built, states, self._compiled)
        webhooks = ModuleWebhooks(states, hooks, built.declared, registrar, certain)
        world = UnitWorld(
            states,
            UnitParts(hooks, webhooks, releases, store),
            planners,
            _definitions(parts.kube, self._settings.modules, self._helm),
            configured.values,
            built.engine,
            built.executor,
            built.queues,
            parts.metrics,
            time.monotonic,
            self._settings.engine.shutdown_grace,
        )
        leftovers = Leftovers(states, releases.locator, planner.purge, certain, self._settings)
        steps = RoundSteps(decisions, hooks, webhooks, world.definitions, leftovers)
        strict = self._settings.compat is Compat.ADDON
        core = connect(world, steps, TurnRules(self._settings.modules.patience, strict=strict))
        tasks, converge = core.tasks, core.converge
        status = self._status(converge, decisions, releases, leftovers)
        diffs = Diffs(parts.kube.patcher, parts.kube.discovery)
        sources = ViewSources(states, store, releases, tasks, built.engine, diffs, built.status.snapshots)
        views = UnitViews(sources), ModuleViews(sources, status)
        client = parts.kube.patcher
        events = EventWriter(EventRecorder(client, PACE), states.notices, configured.sources.config, client.lacked)
        self._publish(decisions, releases)
        return Convergence(status, *views, releases, states, self._helm, decisions, core, configured, events)

    def _decisions(self, activation: Callable[[], str]) -> ModuleDecisions:
        settings, configured, states = self._settings, self._configured, self._states
        store, flags = configured.store, configured.values.flags
        asked = Scripts(settings.hooks, self._parts.children, settings.modules.enabled_timeout)
        scripts = MeteredScripts(asked, self._parts.metrics, activation)
        by_values, strict = configured.shelf.loaded.statics.enabled, settings.compat is Compat.ADDON
        extenders = Extenders(settings.modules.extenders, by_values, flags, scripts, strict)
        configuration = UserConfiguration(extenders, states, store, configured.sources)
        return ModuleDecisions(configuration, states, store, self._helm.capabilities.get)

    def _planner(self, decisions: ModuleDecisions) -> ModulePlanner:
        modules, store = self._configured.shelf.modules, self._configured.store
        is_maintained = decisions.configuration.is_maintained
        return ModulePlanner(modules, self._settings.modules, self._helm, store, is_maintained)

    def _status(
        self, converge: Converge, decisions: ModuleDecisions, releases: ReleaseReconciler, leftovers: Leftovers
    ) -> ModulesStatus:
        sources, rejected = self._configured.sources, self._configured.shelf.loaded.found.rejected
        outage = self._parts.kube.patcher.outage
        shown = StatusSources(decisions, releases, sources, rejected, leftovers, self._compiled, outage)
        return ModulesStatus(self._states, converge, shown, self._built.queues)

    def _publish(self, decisions: ModuleDecisions, releases: ReleaseReconciler) -> None:
        """Show what is known of modules: gauges, and hooks that never run here."""
        engine, queues = self._built.engine, self._built.queues
        self._compiled.publish_shared()
        ModuleGauges(self._states, decisions, releases, queues, engine).export(self._parts.metrics)


async def _look_for_predecessor(config: ConfigObject) -> None:
    """A user who comes from addon-operator may have left the ConfigMap under its name; nothing else would say so."""
    theirs = config.renamed(Compat.ADDON)
    with suppress(KubeError), tolerated_refusals():
        if (await theirs.read()).version:
            _log.warn(f"{config} does not exist, but {theirs} does", hint=f"to use it: --config-map {theirs.name}")


def _hooks(settings: Settings, parts: Parts, built: Assembly, states: UnitStates, compiled: CompiledHooks) -> UnitHooks:

    async def load(unit: Unit) -> catalog.Catalog:
        return await catalog.load_unit(unit, settings.hooks, parts.children, parts.jq)

    own, shared = HookPrefetch(load, states, parts.background), SharedHooks(load)

    async def load_unit(unit: Unit) -> catalog.Catalog:
        return await (shared if unit.hooks_of else own)(unit)

    return UnitHooks(load_unit, built.engine, built.activator, built.inline_runs.run, compiled)


def _definitions(kube: Kube, modules: ModulesSettings, helm: Helm) -> UnitDefinitions:
    crds = Crds(kube.patcher, helm.releases.kinds)
    return UnitDefinitions(crds, helm.capabilities, modules.extra_labels, modules.crd_filters)


def _helm(parts: Parts, modules: ModulesSettings, namespace: str, renderer: Renderer) -> Helm:
    kube = parts.kube
    records = RecordSettings(modules.helm_driver, modules.history_max, namespace)
    releases = Releases(kube.patcher, kube.discovery, kube.watches, records)
    drift = Drift(kube.patcher, releases.kinds, ObjectWatches(kube.watches, parts.background), parts.background)
    return Helm(renderer, releases, drift, ClusterCapabilities(kube.patcher, kube.watches), namespace)
