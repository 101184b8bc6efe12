"""Puts together what looks after modules, on top of an engine; nothing runs before `start`."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hookrunner.background import Background
from hookrunner.charts import engine as helm
from hookrunner.charts.renderer import Limits, Renderer
from hookrunner.convergence.deciding import Deciding
from hookrunner.convergence.definitions import Definitions
from hookrunner.convergence.deleting import Deleting
from hookrunner.convergence.hooks import ModuleHooks
from hookrunner.convergence.known import KnownCapabilities
from hookrunner.convergence.loading import Shelf
from hookrunner.convergence.objects import ConfigObject, Contents
from hookrunner.convergence.reactions import Reactions
from hookrunner.convergence.releasing import Cluster, Releasing
from hookrunner.convergence.rounds import STARTUP, Rounds
from hookrunner.convergence.running import Running
from hookrunner.convergence.state import States
from hookrunner.convergence.status import ModulesStatus
from hookrunner.convergence.steps import Converge
from hookrunner.convergence.tasks import Tasks
from hookrunner.convergence.values import HookValues
from hookrunner.engine.assembly import Assembly, Parts
from hookrunner.engine.direct import DirectRuns
from hookrunner.errors import KubeError
from hookrunner.hooks import catalog
from hookrunner.model.tasks import own_queue
from hookrunner.modules.scripts import Scripts
from hookrunner.releases.crds import Crds
from hookrunner.releases.drift import Drift
from hookrunner.releases.kinds import Kinds
from hookrunner.releases.releases import Releases
from hookrunner.settings import Settings
from hookrunner.values.store import Store


@dataclass(frozen=True, slots=True)
class Convergence:
    """What looks after modules. `prepare` comes before the engine starts, `start` after it."""

    status: ModulesStatus
    releasing: Releasing
    store: Store
    states: States
    _deciding: Deciding
    _rounds: Rounds
    _reactions: Reactions
    _cluster: Cluster
    _values: HookValues
    _sources: tuple[ConfigObject, ConfigObject | None]

    async def prepare(self) -> None:
        """Read what users have configured: hooks are to see it from their first run on. What cannot be read leaves
        every module undecided, until it can."""
        config, secret = self._sources
        try:
            contents = await config.read(), await secret.read() if secret else Contents()
        except KubeError as error:
            self._deciding.unseen = str(error)
        else:
            self._deciding.adopt(*contents)

    def start(self, background: Background, built: Assembly) -> None:
        """Begin with the first converge."""
        reactions, cluster = self._reactions, self._cluster
        config, secret = self._sources
        self._rounds.ask(STARTUP, at_once=False)
        followed: dict[str, Callable[[], Awaitable[None]]] = {
            "converge": self._rounds.keep,
            "turns of modules": self._rounds.advance,
            f"watch {config}": lambda: reactions.follow_config(config, secret, config),
            "changed values": lambda: reactions.follow_values(built.executions),
            "changed flags": lambda: reactions.follow_flags(self._values.flagged),
            "snapshots for modules": lambda: reactions.follow_snapshots(built.engine.progress),
            "drift": lambda: reactions.follow_drift(cluster.drift.findings()),
            "release records": lambda: reactions.follow_records(cluster.releases.changes(cluster.namespace)),
            "capabilities": lambda: reactions.follow_capabilities(cluster.known),
            "served CRDs": lambda: cluster.known.follow(0),
            "served APIServices": lambda: cluster.known.follow(1),
        }
        if secret:
            followed[f"watch {secret}"] = lambda: reactions.follow_config(config, secret, secret)
        for name, follow in followed.items():
            background.keep(name, follow)


@asynccontextmanager
async def convergence(settings: Settings, shelf: Shelf, parts: Parts, built: Assembly) -> AsyncIterator[Convergence]:
    """What looks after these modules, with the engine as its hands; at its end the render workers go."""
    kube, modules = parts.kube, settings.modules
    namespace = settings.kube.namespace or kube.connection.namespace or "default"
    store, states = Store(shelf.loaded.statics.sections, shelf.schemas), States(shelf.modules)
    config = ConfigObject(kube.patcher, kube.watches, "ConfigMap", (namespace, modules.config_map))
    secret = modules.config_secret
    sources = (config, ConfigObject(kube.patcher, kube.watches, "Secret", (namespace, secret)) if secret else None)
    values = HookValues(store, config, {module.name: module.key for module in shelf.modules})
    scripts = Scripts(settings.hooks, parts.children, modules.enabled_timeout)
    cluster = _cluster(settings, parts, namespace)
    deciding = Deciding(shelf.loaded, states, store, scripts, modules.extenders, lambda: values.flags, cluster.known)
    async with _renderer(settings) as renderer:
        releasing = Releasing(modules, cluster, renderer, store, parts.metrics, deciding.maintained)
        tasks, steps = _work(settings, parts, built, _Known(states, store, deciding, releasing, cluster, shelf))
        rounds = Rounds(states, tasks, steps, built.engine, modules.patience, parts.metrics)
        reactions = Reactions(states, deciding, rounds, tasks, releasing)
        built.executions.values, built.engine.modules = values, tasks
        for state in states:
            built.engine.open(own_queue(state.module.name))
        status = ModulesStatus(states, rounds, deciding, config)
        status.export(parts.metrics)
        yield Convergence(status, releasing, store, states, deciding, rounds, reactions, cluster, values, sources)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the work on modules is done with."""

    states: States
    store: Store
    deciding: Deciding
    releasing: Releasing
    cluster: Cluster
    shelf: Shelf


def _work(settings: Settings, parts: Parts, built: Assembly, known: _Known) -> tuple[Tasks, Converge]:
    """What is done with one module, and what a round does beside that."""
    modules, store, releasing = settings.modules, known.store, known.releasing
    direct = DirectRuns(built.executions, built.rates, built.engine.progress, time.monotonic)
    hooks = ModuleHooks(
        lambda module: catalog.load_module(module, settings.hooks, parts.children, parts.jq), built.engine, direct
    )
    definitions = Definitions(
        Crds(parts.kube.patcher, Kinds(parts.kube.discovery)),
        known.cluster.known,
        modules.extra_labels,
        modules.crd_filters,
    )
    acts = Running(hooks, definitions, releasing, store), Deleting(hooks, releasing, store)
    tasks = Tasks(known.states, acts, built.queues, parts.metrics, time.monotonic)
    certain = known.shelf.loaded.found.certain
    steps = Converge(modules, known.states, known.deciding, hooks, releasing, definitions, store, certain)
    return tasks, steps


def _cluster(settings: Settings, parts: Parts, namespace: str) -> Cluster:
    kube, modules = parts.kube, settings.modules
    releases = Releases(kube.patcher, kube.discovery, kube.watches, modules.helm_driver, modules.history_max)
    drift = Drift(kube.patcher, kube.discovery, kube.watches, parts.background)
    return Cluster(releases, drift, KnownCapabilities(kube.patcher, kube.watches), namespace)


def _renderer(settings: Settings) -> Renderer:
    modules, kube = settings.modules, settings.kube
    limits = Limits(modules.render_timeout, modules.render_memory)
    return Renderer(limits, helm.Cluster(str(kube.config or ""), kube.context))
