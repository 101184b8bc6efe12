"""The composition root: builds every object once, starts every task in one `TaskGroup`, and ends them in order.

It decides nothing about hooks. Start: answer HTTP, load hooks while a child finds the way to the cluster, then let the
engine go. Stop (SIGTERM, Ctrl-C): give running hooks their grace, end those that are left, then everything else.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import field, replace
from typing import Protocol, TypeAlias, TypeVar

from hookrunner import __version__, log, safe_files
from hookrunner.background import Background
from hookrunner.claimed_directories import private_directory
from hookrunner.controllers.replica_check import OwnPod, ReplicaCheck
from hookrunner.engine.assembly import Assembly, Kube, Parts, assemble_engine
from hookrunner.errors import BadConfig, BadSetting, StartRefused
from hookrunner.hooks import catalog, writable
from hookrunner.hooks.catalog import Catalog
from hookrunner.jq.program import Jq
from hookrunner.kube import rights_checks
from hookrunner.kube.back_off import Outage, TokenBucket
from hookrunner.kube.client import Client
from hookrunner.kube.cluster_lookup import Lookup, shared
from hookrunner.kube.credentials import Connection, Credentials, load_connection
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.hooks import HookMetrics, SampleBounds
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.needs import UserNeed
from hookrunner.options import Compat
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.process.prepared_interpreters import PreparedInterpreters
from hookrunner.settings import Settings, WebSettings
from hookrunner.status_views import StatusViews
from hookrunner.web import debug, listen, server
from hookrunner.web.debug import OverTcp, Parameters, log_level
from hookrunner.web.watchdog import watched
from hookrunner.webhooks.lazy_webhooks import LazyWebhooks
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

T = TypeVar("T")


class CloudPart(Protocol):
    """`cloud.cloud_assembly.Cloud`, imported only if there is a provider."""

    def start(self, background: Background) -> None: ...

    async def finish(self, grace: float) -> None: ...


class DiscoveryPart(Protocol):
    """`discovery.discovery_assembly.AddonDiscovery`, imported only with `--discovery`."""

    def start(self, background: Background) -> None: ...

    def conditions(self) -> Mapping[str, tuple[bool, str]]: ...

    def needs(self) -> Iterable[UserNeed]: ...


StartModules: TypeAlias = Callable[[Background, Assembly], None]
"""Starts the tasks of the modules."""

LEAVING = 5.0
"""Seconds for which a stopping pod answers reviews as before: API servers switch to another pod only when they learn
that this one stops. Until then each review without an answer refuses a user's request."""

KILL_AFTER = 5.0
"""Seconds from SIGTERM to SIGKILL for a hook that outlasts the grace."""


def run(settings: Settings, loading: Lookup | None) -> int:
    """Run until asked to stop; the exit code. `loading` looks for the cluster, which processes that we start see too
    (`kube/cluster_lookup.py`); None means a sandbox, which is made first. Raises StartRefused and BadSetting, whose
    messages are for the user."""
    log.configure(settings.log.type, settings.log.level, sys.stdout)
    safe_files.raise_limit()
    try:
        return asyncio.run(serve(settings, loading))
    except BadSetting:  # bad usage, also where only the start can tell
        raise
    except BadConfig as error:
        raise StartRefused(str(error)) from error
    finally:
        log.flush(1.0)


async def serve(settings: Settings, loading: Lookup | None) -> int:
    """The whole life of the process."""
    began = time.monotonic()
    signals, views = Signals(), _build_views(settings.web)
    views.is_stopping = signals.stop.is_set
    async with AsyncExitStack() as stack:
        await _answer(settings, views, stack)
        if loading is None:
            settings, loading = await _start_sandbox(settings, stack)
        children, jq = _children(settings.hooks.python_fork_idle), await stack.enter_async_context(Jq())
        loaded = await run_until(signals.stop, _load(settings, children, jq, loading))
        if loaded is None:
            return 0
        hooks, connection = loaded
        kube = await _connect(settings, connection, views.metrics, stack)
        group = await stack.enter_async_context(_tasks())
        background = Background(group)
        views.add(lambda: {"background": background.condition()})
        background.keep("times of conditions", views.watch_conditions)
        stack.callback(background.stop)
        parts = Parts(background, children, jq, kube, views.metrics)
        built, webhooks, start_modules = await _assemble(settings, parts, hooks, views, stack)
        cloud = await _assemble_cloud(settings, parts, views, stack)
        views.add(parts.kube.patcher.lacked.conditions.copy)
        background.keep("rights that are missing", lambda: rights_checks.keep_checking(parts.kube.patcher))
        writes = settings.modules.on or settings.addons.on or settings.discovery.on
        if writes or any(hook.config.runs_unasked for hook in hooks.hooks):
            _check_replicas(settings, parts, views)
        views.add_engine(built.status, hooks)  # not earlier: not ready while modules are unknown
        views.add(webhooks.conditions, webhooks.needs)
        await webhooks.start()
        built.start()
        if start_modules:
            start_modules(background, built)
        if cloud:
            cloud.start(background)
        _log.info(f"hookrunner {__version__} runs", hooks=len(hooks.hooks), seconds=round(time.monotonic() - began, 3))
        if hooks.problems and not hooks.hooks:
            _log.warn("no hook is left, all were left out", left_out=len(hooks.problems))
        elif not (hooks.hooks or start_modules or cloud):
            _log.warn("there are no hooks; `hookrunner new hook NAME` writes one", path=settings.hooks.directory)
        await _wait_for_end(signals, webhooks, connection)
        return await _stop(settings, signals, RunningParts(built, children, webhooks, cloud))


def _build_views(web: WebSettings) -> StatusViews:
    metrics = Metrics(web.metrics_prefix, web.queue_actions)
    of_hooks = HookMetrics(SampleBounds(web.hook_metric_samples, web.hook_metrics_samples), metrics.sample_names())
    metrics.hook_metrics_samples.from_function(lambda: [((), of_hooks.samples)])
    metrics.hook_metrics_refused.from_function(of_hooks.refused.items)
    views = StatusViews(metrics, of_hooks)
    views.conditions()  # their present state begins now
    return views


async def _answer(settings: Settings, views: StatusViews, stack: AsyncExitStack) -> None:
    """Open the public port and the debug socket."""
    web = settings.web
    converge = views.converge if settings.modules.on else None
    unready = 500 if settings.compat is Compat.ADDON else 503
    pages = server.Pages(
        views.metrics.pieces, views.hook_metrics.pieces, views.conditions, converge, unready, views.needs
    )
    public = listen.on_port(web.address, web.port, "--listen-port")
    await stack.enter_async_context(listen.serve(server.application(pages), public, most=web.connections))
    stack.enter_context(watched(public))
    private = await stack.enter_async_context(listen.on_path(web.debug_sockets))
    parameters = Parameters([log_level(settings.log.level)])
    shown = debug.Views(views.queues, views.hooks, views.snapshots, parameters, views.pages, views.status)
    await stack.enter_async_context(listen.serve(debug.application(shown), private))
    if web.debug_address is not None:
        open_to_all = listen.on_port(*web.debug_address, "--debug-http-addr")
        over_tcp = OverTcp(web.debug_address[0], secret=bool(settings.modules.config_secret))
        await stack.enter_async_context(listen.serve(debug.application(shown, over_tcp), open_to_all))


async def _start_sandbox(settings: Settings, stack: AsyncExitStack) -> tuple[Settings, Lookup]:
    """Make the cluster; from here on it is like any other, and nothing that the settings say leads to another one. Its
    kubeconfig is a file that no other sandbox overwrites."""
    # 0.1 s, which a start on a real cluster need not pay.
    from hookrunner.embedded import serve_sandbox, write_kubeconfig

    sandbox = await stack.enter_async_context(serve_sandbox(settings.sandbox, settings.hooks.tmp_dir))
    kubeconfig = stack.enter_context(private_directory(settings.hooks.tmp_dir, "kubeconfig")) / "kubeconfig"
    write_kubeconfig(kubeconfig, sandbox)
    kube = replace(settings.kube, config=kubeconfig, text=sandbox.kubeconfig(), context="")
    settings = stack.enter_context(shared(replace(settings, kube=kube)))
    return settings, stack.enter_context(closing(Lookup(settings.kube)))


def _children(idle: float) -> Children:
    children = Children(Patience(kill=KILL_AFTER), PreparedInterpreters(idle))
    if os.getpid() == 1:
        children.adopt_orphans()
    return children


async def _load(settings: Settings, children: Children, jq: Jq, loading: Lookup) -> tuple[Catalog, Connection]:
    """Hooks while a child loads the connection; after it if that also writes the kubeconfig that hooks are to use."""
    connection = await load_connection(loading) if settings.kube.derived else None
    hooks = await catalog.load(settings.hooks, children, jq)
    if settings.modules.global_hooks:
        ours = await catalog.load_global(settings.modules.global_hooks, settings.hooks, children, jq)
        hooks = Catalog(hooks.hooks + ours.hooks, hooks.problems + ours.problems)
    return hooks, connection or await load_connection(loading)


async def _connect(settings: Settings, connection: Connection, metrics: Metrics, stack: AsyncExitStack) -> Kube:
    kube, credentials, outage = settings.kube, Credentials(settings.kube, connection), Outage()
    reads = TokenBucket.per_second(kube.qps, kube.burst) if kube.qps > 0 else None
    writes = TokenBucket.per_second(kube.patch_qps, kube.patch_burst) if kube.patch_qps > 0 else None
    reader = Client(credentials, Requests(metrics), reads, kube.log_requests, outage)
    patcher = Client(credentials, Requests(metrics, "object_patcher"), writes, kube.log_requests, outage)
    await stack.enter_async_context(reader)
    await stack.enter_async_context(patcher)
    discovery = Discovery(reader)
    return Kube(Watches(reader, discovery, metrics, kube.watch_idle_timeout), discovery, patcher, connection)


async def _assemble(
    settings: Settings, parts: Parts, hooks: Catalog, views: StatusViews, stack: AsyncExitStack
) -> tuple[Assembly, LazyWebhooks, StartModules | None]:
    """The engine, its webhooks and, if there are modules directories or addons, the modules with what users have
    configured, and the addons."""
    if not (settings.modules.on or settings.addons.on):
        built = assemble_engine(settings, parts, views.hook_metrics, hooks)
        lazy = LazyWebhooks(settings, built.declared, parts, stack)
        if not settings.discovery.on:
            return built, lazy, None
        from hookrunner.discovery.discovery_assembly import AddonDiscovery

        return built, lazy, _with_discovery(views, AddonDiscovery(settings, parts.kube))
    # 0.1 s, which a start without modules need not pay.
    from hookrunner.convergence import assembly
    from hookrunner.convergence.decisions.module_configuration import configuration
    from hookrunner.modules import shelf

    for directory in (*settings.modules.directories, *settings.addons.directories):
        await asyncio.to_thread(writable.check, directory, settings.hooks)
    shelf_read = await asyncio.to_thread(shelf.read, settings.modules)
    if settings.modules.default and shelf_read.modules:
        names = [module.name for module in shelf_read.modules]
        _log.info("modules of the default directory; --modules-dir names another, or none", modules=names)
    offer = None
    if settings.addons.on:
        from hookrunner.addons import addon_discovery
        from hookrunner.instances import instances_assembly

        offer = await asyncio.to_thread(addon_discovery.load_offer, settings.addons)
    configured = configuration(settings, shelf_read, parts.kube, offer.shared if offer else None)
    built = assemble_engine(settings, parts, views.hook_metrics, hooks, configured.values)
    webhooks = LazyWebhooks(settings, built.declared, parts, stack)
    context = assembly.convergence(settings, configured, parts, built, webhooks)
    modules = await stack.enter_async_context(context)
    views.add(modules.status.conditions, modules.status.needs)
    views.read_converge = modules.status.converge
    views.pages.units, views.pages.modules = modules.views, modules.module_views
    await modules.prepare()
    start: StartModules = modules.start
    if offer is not None:
        live = await stack.enter_async_context(instances_assembly.instances(settings, offer, parts, modules))
        views.add(live.status.conditions, live.status.needs)
        views.pages.addons, start = live.views, live.start
    if settings.discovery.on:
        from hookrunner.discovery.installed_assembly import discover_installed

        start = _with_discovery(views, discover_installed(settings, parts.kube, modules), start)
    return built, webhooks, start


def _with_discovery(views: StatusViews, discovery: DiscoveryPart, start: StartModules | None = None) -> StartModules:
    """What starts the tasks of the modules, if there are any, and then those that list what is installed."""
    views.add(discovery.conditions, discovery.needs)

    def start_both(background: Background, built: Assembly) -> None:
        if start:
            start(background, built)
        discovery.start(background)

    return start_both


async def _assemble_cloud(
    settings: Settings, parts: Parts, views: StatusViews, stack: AsyncExitStack
) -> CloudPart | None:
    """The cloud controller manager, if there is a provider."""
    if not settings.cloud.on:
        return None
    # 0.1 s, which a start without a cloud need not pay.
    from hookrunner.cloud.cloud_assembly import assemble_cloud

    cloud = await stack.enter_async_context(assemble_cloud(settings, parts))
    views.add(cloud.status.conditions, cloud.status.needs)
    views.pages.cloud = cloud.status
    return cloud


def _check_replicas(settings: Settings, parts: Parts, views: StatusViews) -> None:
    """Warn of other replicas, each of which would run all hooks and modules. Hooks that only answer reviews may have
    some, and so may the loops of a cloud, of which one leads."""
    connection, name = parts.kube.connection, settings.hooks.environ.get("HOSTNAME", "")
    pod = OwnPod(connection.namespace, name) if connection.in_pod and name else None
    check = ReplicaCheck(parts.kube.patcher, pod, settings.engine.replicated)
    views.add(check.conditions)
    parts.background.keep("check of replicas", check.run, ends=True)


@asynccontextmanager
async def _tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """All tasks. If the start is refused meanwhile, that alone is raised: its message is for the user."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as raised:
        refused, other = raised.split((StartRefused, BadSetting))
        if refused is None or other is not None:
            raise
        raise refused.exceptions[0] from None


@dataclass(eq=False)
class Signals:
    """SIGTERM and SIGINT as events: the first says to stop, a second one to hurry."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._receive)

    def _receive(self) -> None:
        (self.hurry if self.stop.is_set() else self.stop).set()


async def run_until(signal_came: asyncio.Event, work: Coroutine[None, None, T]) -> T | None:
    """The result of some work, or None if the signal came before; then the work is cancelled."""
    task, waiting = asyncio.create_task(work), asyncio.create_task(signal_came.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return None if task.cancelled() else task.result()


async def _wait_for_end(signals: Signals, webhooks: LazyWebhooks, connection: Connection) -> None:
    """Run until a signal; a pod then answers reviews until the API server has found another."""
    await signals.stop.wait()
    if webhooks.open and connection.in_pod:
        webhooks.leave()
        await run_until(signals.hurry, asyncio.sleep(LEAVING))


@dataclass(frozen=True, slots=True)
class RunningParts:
    """What has to end."""

    built: Assembly
    children: Children
    webhooks: LazyWebhooks
    cloud: CloudPart | None

    async def finish(self, grace: float) -> None:
        """Start nothing more; wait for hooks, reviews and calls of the cloud, at most for the grace."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.built.queues.stop(grace, self.built.executor.running.values()))
            tasks.create_task(self.webhooks.finish(grace))
            if self.cloud:
                tasks.create_task(self.cloud.finish(grace))


async def _stop(settings: Settings, signals: Signals, running: RunningParts) -> int:
    """0 if every hook ended by itself, 1 if one had to be ended."""
    _log.info("stopping")
    await run_until(signals.hurry, running.finish(settings.engine.shutdown_grace))
    ended = await run_until(signals.hurry, running.built.processes.close()) or 0
    ended += len(running.children)
    patience = 0.0 if signals.hurry.is_set() else KILL_AFTER
    await running.children.stop(patience)
    await running.built.queues.wait_for_workers(1.0)
    _log.info("stopped", ended_hooks=ended)
    return 1 if ended else 0
