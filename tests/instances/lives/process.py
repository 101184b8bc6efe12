"""Hookrunner with addons in the test's own process, on a sandbox: everything but its HTTP servers and signals.

    async with running(settings, client):       # until the block is left, which ends it as SIGKILL does
        ...

Much quicker than a process, and its requests pass through a client that the test has made.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from hookrunner import settings as all_settings
from hookrunner.addons import addon_discovery
from hookrunner.background import Background
from hookrunner.convergence import assembly
from hookrunner.convergence.decisions.module_configuration import configuration
from hookrunner.engine.assembly import Kube, Parts, assemble_engine
from hookrunner.hooks.catalog import Catalog
from hookrunner.instances import instances_assembly
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.hooks import HookMetrics, SampleBounds
from hookrunner.metrics.names import Metrics
from hookrunner.modules import shelf
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from hookrunner.webhooks.lazy_webhooks import LazyWebhooks


def settings_for(directory: Path, **flags: str) -> Settings:
    """For the addons in `addons`, and hooks that write to this directory."""
    places = {"addons-dir": directory / "addons", "tmp-dir": directory / "tmp", "hooks-dir": directory / "hooks"}
    for place in places.values():
        place.mkdir(exist_ok=True, parents=True)
    return all_settings.load({name: str(place) for name, place in places.items()} | flags, "hookrunner", {})


@asynccontextmanager
async def running(settings: Settings, client: Client) -> AsyncIterator[Metrics]:
    """Run it; its metrics. When the block is left, everything ends where it is."""
    async with AsyncExitStack() as stack:
        jq, metrics = await stack.enter_async_context(Jq()), Metrics("")
        group = await stack.enter_async_context(asyncio.TaskGroup())
        background = Background(group)
        stack.callback(background.stop)
        parts = Parts(background, Children(Patience(kill=0.1)), jq, connect(client, metrics), metrics)
        stack.push_async_callback(parts.children.stop, 0.0)
        await _start(settings, parts, stack)
        yield metrics


def connect(client: Client, metrics: Metrics) -> Kube:
    """The cluster behind this client, for everything."""
    discovery = Discovery(client)
    return Kube(Watches(client, discovery, metrics, 75), discovery, client, Connection(""))


async def _start(settings: Settings, parts: Parts, stack: AsyncExitStack) -> None:
    modules = shelf.read(settings.modules)
    offer = addon_discovery.load_offer(settings.addons)
    configured = configuration(settings, modules, parts.kube, offer.shared)
    hook_metrics = HookMetrics(SampleBounds(100, 100), parts.metrics.sample_names())
    built = assemble_engine(settings, parts, hook_metrics, Catalog(()), configured.values)
    webhooks = LazyWebhooks(settings, built.declared, parts, stack)
    convergence = await stack.enter_async_context(assembly.convergence(settings, configured, parts, built, webhooks))
    await convergence.prepare()
    live = await stack.enter_async_context(instances_assembly.instances(settings, offer, parts, convergence))
    built.start()
    live.start(parts.background, built)
