"""Renders a module of a modules directory, for a made-up cluster or a live one, and compares it with the live state.
Nothing is written to the cluster."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.cluster_client import connect_cluster
from hookrunner.cli.modules.module_offline import load_settings, read_modules
from hookrunner.cli.modules.module_options import ClusterChoice, ModuleFiles
from hookrunner.cli.shared import run_to_end
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.kube.client import Client
from hookrunner.kube.cluster_lookup import shared
from hookrunner.kube.discovery import Discovery, read_capabilities
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import Capabilities, RenderedChart
from hookrunner.modules.offline import stock_capabilities
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.releases import RecordSettings, Releases
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Live:
    """A cluster, the namespace that its credentials are for, and the environment that leads templates there."""

    client: Client
    discovery: Discovery
    watches: Watches
    namespace: str
    environ: Mapping[str, str]


def run(files: ModuleFiles, name: str, cluster: ClusterChoice, *, diff: bool, debug: bool) -> str:
    """Render, or compare with what is in the cluster. Raises HookrunnerError."""
    return run_to_end(read_diff(files, name, cluster) if diff else render_manifests(files, name, cluster, debug))


async def render_manifests(files: ModuleFiles, name: str, cluster: ClusterChoice, debug: bool) -> str:
    """The manifests, empty without a chart; `debug` adds Helm hooks and notes. Raises HookrunnerError."""
    settings = _load_settings(files, cluster)
    if cluster.live:
        async with _connect(settings) as live:
            known = await read_capabilities(live.client)
            rendered = await _render(files, name, _in_namespace(settings, live), known, live)
    else:
        rendered = await _render(files, name, settings, stock_capabilities(cluster.version, cluster.api_versions))
    return "" if rendered is None else rendered.everything if debug else rendered.manifest


async def read_diff(files: ModuleFiles, name: str, cluster: ClusterChoice) -> str:
    """A unified diff of what is in the cluster and what would be, empty without a chart. Raises HookrunnerError."""
    settings = _load_settings(files, cluster)
    async with _connect(settings) as live:
        settings = _in_namespace(settings, live)
        rendered = await _render(files, name, settings, await read_capabilities(live.client), live)
        if rendered is None:
            return ""
        traits = read_modules(files).module(name).traits
        release = ReleaseId(name, traits.namespace or settings.kube.namespace)
        releases = _releases(live, settings)
        head = await releases.read_head(release.name, release.namespace)
        deployed = await releases.read_manifest(head) if head else ()
        return await Diffs(live.client, live.discovery).of(release, rendered.objects, deployed)


async def _render(
    files: ModuleFiles, name: str, settings: Settings, known: Capabilities, live: _Live | None = None
) -> RenderedChart | None:
    """None without a chart."""
    modules = read_modules(files)
    if not modules.module(name).chart:
        return None
    order = modules.order(name, settings.kube.namespace or "default", settings.modules.extra_labels, known)
    if live:
        order = replace(order, install=await _releases(live, settings).read_head(name, order.namespace) is None)
    limits = RenderLimits.of(settings.modules)
    async with Renderer(limits, live.environ if live else None) as renderer:
        return await renderer.render(order)


def _load_settings(files: ModuleFiles, cluster: ClusterChoice) -> Settings:
    """Load the settings of `start`, with the flags of this command."""
    settings = load_settings(files)
    kube = settings.kube
    return replace(
        settings,
        kube=replace(
            kube,
            config=Path(cluster.kubeconfig) if cluster.kubeconfig else kube.config,
            context=cluster.context or kube.context,
            namespace=cluster.namespace or kube.namespace,
        ),
    )


def _in_namespace(settings: Settings, live: _Live) -> Settings:
    """In the namespace of the credentials, if no other was named."""
    return replace(settings, kube=replace(settings.kube, namespace=settings.kube.namespace or live.namespace))


def _releases(live: _Live, settings: Settings) -> Releases:
    records = RecordSettings(settings.modules.helm_driver, settings.modules.history_max, settings.kube.namespace)
    return Releases(live.client, live.discovery, live.watches, records)


@asynccontextmanager
async def _connect(settings: Settings) -> AsyncIterator[_Live]:
    """Raises BadKubeConfig, KubeError."""
    with shared(settings) as settings:
        async with connect_cluster(settings) as (client, connection):
            discovery = Discovery(client)
            watches = Watches(client, discovery, Metrics(), 75.0)
            yield _Live(client, discovery, watches, connection.namespace or "default", settings.hooks.environ)
