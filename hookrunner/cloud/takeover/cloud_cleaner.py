"""Takes away what the manager has made in the cloud, before it is uninstalled: `hookrunner cloud clean`.

    services = await read_removable(client, settings)      # whose load balancers would go
    async with assemble_cleaner(settings, connection, with_routes=True, reserve=60.0) as cleaner:
        await cleaner.run()                                 # until nothing is left
    cleaner.left                                            # what is still there, and why

It takes the Lease over by writing itself into it: a manager that sees another holder stops at once. One that is cut off
from the API server goes on until its own deadline, so nothing is taken away before the Lease would have run out. The
Lease is reserved for a while afterwards; the manager, which still runs, would make everything anew.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from hookrunner import log
from hookrunner.cloud.answers import Interface, ProviderError
from hookrunner.cloud.cloud_policies import service_policy
from hookrunner.cloud.leader_terms import make_elector
from hookrunner.cloud.provider.executable_provider import ExecutableProvider
from hookrunner.cloud.provider.provider_program import find_program
from hookrunner.cloud.routes.pod_networks import ClusterNetworks
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.cloud_service import CloudService, read_service
from hookrunner.cloud.services.service_informer import SERVICES, ServiceInformer
from hookrunner.cloud.services.service_reports import SERVICE_SOURCE, ServiceReports
from hookrunner.cloud.services.service_writer import ServiceWriter
from hookrunner.cloud.takeover.balancer_removal import BalancerRemoval, is_removable
from hookrunner.cloud.takeover.orphan_search import OrphansUnknown, find_orphans
from hookrunner.controllers.event_recorder import EventRecorder
from hookrunner.controllers.leader_election import LeaderElector
from hookrunner.errors import HookrunnerError
from hookrunner.kube import writes
from hookrunner.kube.back_off import TokenBucket, retry_forever
from hookrunner.kube.client import Client, FencedClient
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.cloud import OrphanDump
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


class RoutesLeft(HookrunnerError):
    """Some routes could not be deleted."""


@dataclass(frozen=True, slots=True)
class CleanerParts:
    """What it works with. `elector` is None if the manager runs without an election: only a person can tell then
    that it does not run."""

    provider: ExecutableProvider
    services: ServiceInformer
    actions: BalancerActions
    events: EventRecorder
    elector: LeaderElector | None


async def read_removable(client: Client, settings: Settings) -> list[CloudService]:
    """The Services whose load balancers would go, by name. Raises KubeError."""
    policy, listed = service_policy(settings), await writes.read_list(client, ObjectRef(SERVICES))
    services = map(read_service, listed["items"])
    return sorted((service for service in services if is_removable(service, policy)), key=lambda service: service.key)


class CloudCleaner:
    """Takes load balancers, and routes if they are wanted to go, away. Nothing else may work on them."""

    def __init__(self, parts: CleanerParts, settings: Settings, with_routes: bool) -> None:
        self._parts = parts
        self._policy = service_policy(settings)
        self._networks = ClusterNetworks(settings.cloud.cidrs)
        self._with_routes = with_routes
        self._balancers: BalancerRemoval | None = None
        self._routes_left = ""
        self.orphans: Sequence[OrphanDump] = ()
        """Load balancers without a Service, which stay; known when `run` has ended, if the provider can tell."""

    @property
    def left(self) -> list[str]:
        """What is still there and why, a line for each; and what it waits for before anything can go."""
        has_answered, problem = self._parts.provider.condition
        if not has_answered:
            return [f"provider: {problem or 'it has not been asked yet'}"]
        balancers = self._balancers.left if self._balancers else {}
        lines = [f"Service {key}: {problem or 'not tried yet'}" for key, problem in sorted(balancers.items())]
        return [*lines, f"routes: {self._routes_left}"] if self._routes_left else lines

    async def run(self) -> None:
        """Take everything away; failures are repeated. Raises KubeError if the Lease cannot be taken over."""
        parts = self._parts
        pause = await parts.elector.take_over() if parts.elector else 0.0
        if pause:
            _log.info("took the lease over, waiting until its holder has stopped for certain", seconds=round(pause, 1))
        helpers = (parts.provider.run, parts.services.follow, parts.events.write)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run()) for run in helpers]
            try:
                clean = partial(self._clean, pause)
                await (parts.elector.run(clean) if parts.elector else clean())
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await parts.events.write_rest()

    async def _clean(self, pause: float) -> None:
        """Take everything away, after a pause."""
        capabilities = await self._parts.provider.wait_for_capabilities()
        await asyncio.sleep(pause)
        if capabilities.offers(Interface.LOAD_BALANCER):
            self._balancers = BalancerRemoval(self._parts.services, self._parts.actions, self._policy)
            await self._balancers.run()
            with suppress(OrphansUnknown):
                self.orphans = await find_orphans(self._parts.provider, self._parts.services, watches_services=True)
        if capabilities.offers(Interface.ROUTES) and self._with_routes:
            await retry_forever(self._remove_routes, (ProviderError, RoutesLeft), self._note_routes)
            self._routes_left = ""

    async def _remove_routes(self) -> None:
        """Delete routes of the cluster; those of others in the same table stay. Raises RoutesLeft, ProviderError."""
        listed = await self._parts.provider.list_routes()
        routes = [route for route in listed if self._networks.cover(route.destination_cidr)]
        if not routes:
            return
        results = await self._parts.provider.apply_routes((), routes)
        outcomes = zip(routes, results.delete, strict=True)
        if failed := [f"{route.destination_cidr}: {error}" for route, error in outcomes if error]:
            raise RoutesLeft("; ".join(failed))
        _log.info("routes deleted", routes=len(routes))

    def _note_routes(self, error: Exception) -> None:
        self._routes_left = str(error)
        _log.warn("routes cannot be deleted, trying again", error=error)


@asynccontextmanager
async def assemble_cleaner(
    settings: Settings, connection: Connection, with_routes: bool, reserve: float
) -> AsyncIterator[CloudCleaner]:
    """A cleaner for these settings, which reserves the Lease for so many seconds. Closes its connections when it is
    left. Raises StartRefused for a provider that cannot be started."""
    program, metrics, credentials = find_program(settings), Metrics(), Credentials(settings.kube, connection)
    meter, children = Requests(metrics), Children(Patience())
    pace = TokenBucket.per_second(settings.kube.patch_qps, settings.kube.patch_burst)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(credentials, meter))
        writer = await stack.enter_async_context(Client(credentials, meter, pace, outage=client.outage))
        stack.push_async_callback(children.stop, 0.0)
        elector = make_elector(client, settings.leader_election, reserve) if settings.leader_election.on else None
        if elector:
            fenced = FencedClient(credentials, meter, lambda: elector.is_leader, writer)
            writer = await stack.enter_async_context(fenced)
        events = EventRecorder(client, mask=program.masked)
        looks_first = service_policy(settings).as_upstream
        provider = ExecutableProvider(program, children, metrics)
        watches = Watches(client, Discovery(client), metrics, settings.kube.watch_idle_timeout)
        services = ServiceInformer(watches)
        reports = ServiceReports(events.source(SERVICE_SOURCE), metrics, program.masked)
        actions = BalancerActions(services, provider, ServiceWriter(writer), reports, looks_first)
        yield CloudCleaner(CleanerParts(provider, services, actions, events, elector), settings, with_routes)
