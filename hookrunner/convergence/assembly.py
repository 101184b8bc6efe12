"""Puts together what looks after modules, on top of an engine; nothing runs before `start`."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hookrunner import log
from hookrunner.background import Background
from hookrunner.charts.renderer import Limits, Renderer
from hookrunner.convergence.converge import Rounds
from hookrunner.convergence.decisions.asking import Measured
from hookrunner.convergence.decisions.config_object import ConfigObject
from hookrunner.convergence.decisions.grace import Grace
from hookrunner.convergence.decisions.hook_values import HookValues
from hookrunner.convergence.decisions.module_decisions import Deciding, Extenders
from hookrunner.convergence.decisions.sources import Sources
from hookrunner.convergence.events import Events
from hookrunner.convergence.gauges import Gauges
from hookrunner.convergence.reactions import Reactions
from hookrunner.convergence.runs.ahead import Ahead
from hookrunner.convergence.runs.capabilities import KnownCapabilities
from hookrunner.convergence.runs.compiled import CompiledHooks
from hookrunner.convergence.runs.definitions import Definitions
from hookrunner.convergence.runs.deleting import Deleting
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.convergence.runs.leftovers import Leftovers
from hookrunner.convergence.runs.module_hooks import ModuleHooks
from hookrunner.convergence.runs.module_runner import Running
from hookrunner.convergence.runs.module_tasks import Tasks
from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks, Registering
from hookrunner.convergence.runs.release_reconciler import Helm, Releasing
from hookrunner.convergence.state import ModuleStates
from hookrunner.convergence.status import Known, ModulesStatus
from hookrunner.convergence.steps import Steps
from hookrunner.convergence.turns import Rules
from hookrunner.convergence.views import ModuleViews, Seen
from hookrunner.engine.assembly import Assembly, Kube, Parts
from hookrunner.engine.direct import DirectRuns
from hookrunner.errors import KubeError
from hookrunner.hooks import catalog
from hookrunner.model.modules import Module
from hookrunner.model.tasks import OPERATOR_STARTUP, own_queue
from hookrunner.modules.scripts import Scripts
from hookrunner.modules.shelf import Shelf
from hookrunner.options import Compat
from hookrunner.releases.crds import Crds
from hookrunner.releases.drift.drift import Drift
from hookrunner.releases.releases import Books, Releases
from hookrunner.settings import ModulesSettings, Settings
from hookrunner.values.store import Store

_log = log.get("config")


@dataclass(frozen=True, slots=True)
class Convergence:
    """What looks after modules. `prepare` comes before the engine starts, `start` after it."""

    status: ModulesStatus
    views: ModuleViews
    releasing: Releasing
    store: Store
    states: ModuleStates
    _deciding: Deciding
    _rounds: Rounds
    _reactions: Reactions
    _helm: Helm
    _values: HookValues
    _sources: Sources
    _events: Events

    async def prepare(self) -> None:
        """Read what users have configured: hooks are to see it from their first run on. What cannot be read leaves
        every module undecided, until it can."""
        await asyncio.gather(self._configured(), self.releasing.foresee())

    async def _configured(self) -> None:
        with suppress(KubeError):
            for source in self._sources:
                await source.read()
        config = self._sources.config
        if not self._sources.unread:
            if not config.contents.version and config.name != Compat.ADDON:
                await _look_for_predecessors(config)
            if await self.releasing.has_releases():  # an earlier process may have seen what is missing now
                for source in self._sources:
                    source.expect()
        self._deciding.adopt()

    def start(self, background: Background, built: Assembly) -> None:
        """Begin with the first converge."""
        reactions, helm = self._reactions, self._helm
        self._rounds.ask(OPERATOR_STARTUP, at_once=False)
        followed: dict[str, Callable[[], Awaitable[None]]] = {
            "converge": self._rounds.keep,
            "turns of modules": self._rounds.advance,
            "edits": reactions.follow_edits,
            "enabled scripts": reactions.follow_scripts,
            "changed values": lambda: reactions.follow_values(built.executions),
            "changed flags": lambda: reactions.follow_flags(self._values.flagged),
            "snapshots for modules": lambda: reactions.follow_snapshots(built.engine.progress),
            "events": self._events.post,
            "objects of releases": self.releasing.following.keep,
            "drift": lambda: reactions.follow_drift(helm.drift.findings()),
            "records that cannot be read": lambda: reactions.follow_unreadable(helm.releases),
            "capabilities": lambda: reactions.follow_capabilities(helm.known),
            "served CRDs": lambda: helm.known.follow(0),
            "served APIServices": lambda: helm.known.follow(1),
        }
        for source in self._sources:
            followed[f"watch {source}"] = partial(reactions.follow_config, source)
            followed[f"grace of {source}"] = partial(reactions.follow_grace, source)
        for namespace in {helm.namespace, *(state.module.traits.namespace for state in self.states)} - {""}:
            followed[f"records in {namespace}"] = partial(reactions.follow_records, helm.releases, namespace)
        for name, follow in followed.items():
            # What the cluster does not serve is not followed.
            background.keep(name, follow, ends=name.startswith("served "))


async def _look_for_predecessors(config: ConfigObject) -> None:
    """Whoever comes from addon-operator may have left the ConfigMap under its name, and nothing would say so."""
    theirs = config.called(Compat.ADDON)
    with suppress(KubeError):
        if (await theirs.read()).version:
            _log.warn(f"{config} does not exist, but {theirs} does.", hint=f"to use it: --config-map {theirs.name}")


@dataclass(frozen=True, slots=True)
class Configuration:
    """The modules as their files describe them, with what users configure in the cluster and their values, which hooks
    read and change. `namespace` is that of the configuration, and of releases by default."""

    shelf: Shelf
    namespace: str
    sources: Sources
    store: Store
    values: HookValues


def configuration(settings: Settings, shelf: Shelf, kube: Kube) -> Configuration:
    """What the engine needs before modules are put together on top of it."""
    namespace = settings.kube.namespace or kube.connection.namespace or "default"
    sources, store = _sources(kube, namespace, settings.modules), Store(shelf.loaded.statics.sections, shelf.schemas)
    values = HookValues(store, sources.config, {module.name: module.key for module in shelf.modules})
    return Configuration(shelf, namespace, sources, store, values)


@asynccontextmanager
async def convergence(
    settings: Settings, configured: Configuration, parts: Parts, built: Assembly, registering: Registering
) -> AsyncIterator[Convergence]:
    """What looks after these modules, with the engine as its hands; at its end the render workers go."""
    modules, shelf, namespace = settings.modules, configured.shelf, configured.namespace
    sources, store, values = configured.sources, configured.store, configured.values
    states = ModuleStates(shelf.modules)
    async with _renderer(settings) as renderer:
        helm = _helm(parts, modules, namespace, renderer)
        scripts = Measured(
            Scripts(settings.hooks, parts.children, modules.enabled_timeout), parts.metrics, lambda: tasks.activation
        )
        as_addon = settings.compat is Compat.ADDON
        extenders = Extenders(modules.extenders, shelf.loaded.statics.enabled, lambda: values.flags, scripts, as_addon)
        deciding = Deciding(extenders, states, store, helm.known, sources)
        releasing = Releasing(modules, helm, store, parts.metrics, deciding.maintained)
        definitions = _definitions(parts.kube, modules, helm)
        leftovers = Leftovers(states, releasing, shelf.loaded.found.certain, modules.ignored_releases)
        compiled = CompiledHooks(states.news, shelf.compiled, modules.on_compiled == "park")
        hooks = _hooks(settings, parts, built, states, compiled)
        webhooks = ModuleWebhooks(states, hooks, built.declared, registering, shelf.loaded.found.certain)
        acts = Running(hooks, webhooks, definitions, releasing, store), Deleting(hooks, webhooks, releasing, store)
        tasks = Tasks(states, acts, built.queues, parts.metrics, time.monotonic)
        steps = Steps(deciding, hooks, webhooks, definitions, leftovers)
        rules = Rules(modules.patience, strict=settings.compat is Compat.ADDON)
        rounds = Rounds(states, tasks, steps, built.engine, rules, parts.metrics)
        reactions = Reactions(states, deciding, rounds, tasks, releasing)
        for state in states:
            built.engine.open(own_queue(state.module.name), tasks.carry_out)
        known = Known(deciding, releasing, sources, shelf.loaded.found.rejected, leftovers, compiled)
        status = ModulesStatus(states, rounds, known, built.queues)
        Gauges(states, deciding, releasing, built.queues, built.engine).export(parts.metrics)
        diffs = Diffs(parts.kube.patcher, parts.kube.discovery)
        seen = Seen(states, status, store, built.engine, releasing, tasks, diffs, built.status.snapshots)
        views = ModuleViews(seen)
        compiled.tell_shared()
        events = Events(parts.kube.patcher, states.news, sources.config)
        yield Convergence(
            status, views, releasing, store, states, deciding, rounds, reactions, helm, values, sources, events
        )


def _sources(kube: Kube, namespace: str, modules: ModulesSettings) -> Sources:
    def called(kind: Literal["ConfigMap", "Secret"], name: str) -> ConfigObject:
        return ConfigObject(kube.patcher, kube.watches, kind, (namespace, name), Grace(modules.config_grace))

    secret = called("Secret", modules.config_secret) if modules.config_secret else None
    return Sources(called("ConfigMap", modules.config_map), secret)


def _hooks(
    settings: Settings, parts: Parts, built: Assembly, states: ModuleStates, compiled: CompiledHooks
) -> ModuleHooks:
    direct = DirectRuns(built.executions, built.rates, built.engine.progress, time.monotonic)

    async def load(module: Module) -> catalog.Catalog:
        return await catalog.load_module(module, settings.hooks, parts.children, parts.jq)

    return ModuleHooks(Ahead(load, states, parts.background), built.engine, built.enabling, direct, compiled)


def _definitions(kube: Kube, modules: ModulesSettings, helm: Helm) -> Definitions:
    crds = Crds(kube.patcher, helm.releases.kinds)
    return Definitions(crds, helm.known, modules.extra_labels, modules.crd_filters)


def _helm(parts: Parts, modules: ModulesSettings, namespace: str, renderer: Renderer) -> Helm:
    kube = parts.kube
    books = Books(modules.helm_driver, modules.history_max, namespace)
    releases = Releases(kube.patcher, kube.discovery, kube.watches, books)
    drift = Drift(kube.patcher, releases.kinds, kube.watches, parts.background)
    return Helm(renderer, releases, drift, KnownCapabilities(kube.patcher, kube.watches), namespace)


def _renderer(settings: Settings) -> Renderer:
    limits = Limits(settings.modules.render_timeout, settings.modules.render_memory)
    return Renderer(limits, settings.hooks.environ)
