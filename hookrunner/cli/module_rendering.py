"""Renders a module of a modules directory, for a made-up cluster or for one that is asked, and compares it with what is
there. Nothing is written to the cluster."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.module_cluster import Wanted
from hookrunner.cli.module_files import Files
from hookrunner.cli.module_offline import asked, opened
from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Credentials, loaded
from hookrunner.kube.discovery import Discovery, read_capabilities
from hookrunner.kube.environment import shared
from hookrunner.kube.loading import Loading
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.requests import Requests
from hookrunner.model.releases import Capabilities, RenderedChart
from hookrunner.modules.offline import stock_capabilities
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.releases import RecordSettings, Releases
from hookrunner.settings import Settings


@dataclass(frozen=True, slots=True)
class _Live:
    """A cluster, the namespace that its credentials are for, and the environment that leads templates there."""

    client: Client
    discovery: Discovery
    watches: Watches
    namespace: str
    environ: Mapping[str, str]


async def manifests(files: Files, name: str, wanted: Wanted, debug: bool) -> str:
    """The manifests, empty without a chart; `debug` adds Helm hooks and notes. Raises HookrunnerError."""
    settings = _settings(files, wanted)
    if wanted.live:
        async with _cluster(settings) as live:
            known = await read_capabilities(live.client)
            rendered = await _rendered(files, name, _placed(settings, live), known, live)
    else:
        rendered = await _rendered(files, name, settings, stock_capabilities(wanted.version, wanted.api_versions))
    return "" if rendered is None else rendered.everything if debug else rendered.manifest


async def difference(files: Files, name: str, wanted: Wanted) -> str:
    """A unified diff of what is in the cluster and what would be, empty without a chart. Raises HookrunnerError."""
    settings = _settings(files, wanted)
    async with _cluster(settings) as live:
        settings = _placed(settings, live)
        rendered = await _rendered(files, name, settings, await read_capabilities(live.client), live)
        if rendered is None:
            return ""
        traits = opened(files).module(name).traits
        identity = ReleaseId(name, traits.namespace or settings.kube.namespace)
        releases = _releases(live, settings)
        head = await releases.read_head(identity.name, identity.namespace)
        deployed = await releases.read_manifest(head) if head else ()
        return await Diffs(live.client, live.discovery).of(identity, rendered.objects, deployed)


async def _rendered(
    files: Files, name: str, settings: Settings, known: Capabilities, live: _Live | None = None
) -> RenderedChart | None:
    """None without a chart."""
    found = opened(files)
    if not found.module(name).chart:
        return None
    modules = settings.modules
    order = found.order(name, settings.kube.namespace or "default", modules.extra_labels, known)
    if live:
        order = replace(order, install=await _releases(live, settings).read_head(name, order.namespace) is None)
    limits = RenderLimits(modules.render_timeout, modules.render_memory)
    async with Renderer(limits, live.environ if live else None) as renderer:
        return await renderer.render(order)


def _settings(files: Files, wanted: Wanted) -> Settings:
    """Those of `start`, with the flags."""
    settings = asked(files)
    kube = settings.kube
    return replace(
        settings,
        kube=replace(
            kube,
            config=Path(wanted.config) if wanted.config else kube.config,
            context=wanted.context or kube.context,
            namespace=wanted.namespace or kube.namespace,
        ),
    )


def _placed(settings: Settings, live: _Live) -> Settings:
    """In the namespace of the credentials, if no other was named."""
    return replace(settings, kube=replace(settings.kube, namespace=settings.kube.namespace or live.namespace))


def _releases(live: _Live, settings: Settings) -> Releases:
    books = RecordSettings(settings.modules.helm_driver, settings.modules.history_max, settings.kube.namespace)
    return Releases(live.client, live.discovery, live.watches, books)


@asynccontextmanager
async def _cluster(settings: Settings) -> AsyncIterator[_Live]:
    """Raises BadKubeConfig, KubeError."""
    with shared(settings) as seen:
        connection = await loaded(Loading(seen.kube))
        metrics = Metrics()
        async with Client(Credentials(seen.kube, connection), Requests(metrics)) as client:
            discovery = Discovery(client)
            watches = Watches(client, discovery, metrics, 75.0)
            yield _Live(client, discovery, watches, connection.namespace or "default", seen.hooks.environ)
