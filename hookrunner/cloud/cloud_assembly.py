"""Puts the cloud controller manager together: the provider, the watches, the loops, who leads. Nothing runs before
`start`.

    async with assemble_cloud(settings, parts) as cloud:
        cloud.start(background)
        await cloud.finish(grace)      # at the end: calls finish, their answers are written, the lease is given back
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial

from hookrunner.background import Background
from hookrunner.cloud.answers import CloudCapabilities, Interface, ProviderError
from hookrunner.cloud.cloud_policies import (
    address_policy,
    initialization_policy,
    lifecycle_policy,
    route_policy,
    service_policy,
)
from hookrunner.cloud.cloud_status import CloudReports
from hookrunner.cloud.leader_terms import LeaderTerms, MakeLoop, make_elector
from hookrunner.cloud.nodes.address_loop import AddressLoop
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.nodes.loop_parts import NodeLoopParts
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.nodes.node_reports import LIFECYCLE_SOURCE, NODE_SOURCE, NodeReports
from hookrunner.cloud.nodes.node_writer import NodeWriter
from hookrunner.cloud.provider.executable_provider import ExecutableProvider
from hookrunner.cloud.provider.provider_program import ProviderProgram, find_program
from hookrunner.cloud.rights import active_loops
from hookrunner.cloud.routes.route_loop import RouteLoop
from hookrunner.cloud.routes.route_reports import ROUTE_SOURCE, RouteReports
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_loop import ServiceLoop
from hookrunner.cloud.services.service_reports import SERVICE_SOURCE, ServiceReports
from hookrunner.cloud.services.service_writer import ServiceWriter
from hookrunner.controllers.event_recorder import EventRecorder, StateEvent
from hookrunner.controllers.leader_election import LeaderElector
from hookrunner.engine.assembly import Parts
from hookrunner.hooks import writable
from hookrunner.kube.client import Client, FencedClient
from hookrunner.kube.credentials import Credentials
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import ObjectReference
from hookrunner.settings import Settings
from hookrunner.settings.cloud_option_types import LIFECYCLE, NODE, ROUTE, SERVICE
from kubetypes.light_dataclasses import dataclass

LEADER_SOURCE = "cloud-controller-manager"
"""Of Events about the lease."""
_NO_CIDR = (
    "--cluster-cidr: it is missing, and the provider has routes; give the networks of Pods, or "
    "--configure-cloud-routes=false"
)


class Cloud:
    """The parts, put together. `status` shows them."""

    def __init__(self, settings: Settings, parts: Parts, program: ProviderProgram, access: "ClusterAccess") -> None:
        client = access.client
        self._settings = settings
        self._client = client
        self._metrics = parts.metrics
        self._provider = ExecutableProvider(program, parts.children, parts.metrics)
        self._nodes = NodeInformer(parts.kube.watches)
        self._services = ServiceInformer(parts.kube.watches)
        self._mask = program.masked
        self._events = EventRecorder(parts.kube.patcher, mask=program.masked)
        self._node_writer = NodeWriter(client, self._nodes)
        self._service_writer = ServiceWriter(client)
        self._terms = LeaderTerms(self._provider.follow_capabilities, self._loops_for)
        self._elector = access.elector
        self._tasks: list[asyncio.Task[None]] = []
        self.status = CloudReports(
            path=str(program.executable),
            provider=self._provider,
            leadership=self._elector or _SoleLeader(),
            nodes=self._nodes,
            services=self._services,
            terms=self._terms,
            obstacle=self._obstacle,
            watches_services=self._watches_services,
            mask=self._mask,
        )
        self.status.export(parts.metrics)

    def start(self, background: Background) -> None:
        """Follow Nodes and Services, ask the provider, compete for the lease, and work as the leader."""
        lead = partial(self._elector.run, self._terms.lead) if self._elector else self._terms.lead
        self._tasks = [
            background.keep("cloud leader", lead, ends=True),
            background.keep("cloud provider", self._provider.run),
            background.keep("cloud events", self._events.write),
            background.keep("cloud rights", self._report_missing_rights),
            background.keep("cloud nodes", self._nodes.follow),
        ]
        if SERVICE in self._settings.cloud.loops:
            self._tasks.append(background.keep("cloud services", self._follow_services))

    async def finish(self, grace: float) -> None:
        """Begin nothing more, wait for what is under way, at most so many seconds; give the lease back, end the
        provider, write the last Events. To cancel it ends everything at once."""
        self._terms.stop()
        self._provider.stop_asking()
        try:
            if self._tasks and (self._elector is None or self._elector.is_leader):
                await asyncio.wait(self._tasks[:1], timeout=grace)
        finally:
            self._cancel()
        await self.wait_for_end()
        await self._events.write_rest()

    async def wait_for_end(self) -> None:
        """End everything that has not ended, and wait for that: it uses connections that are about to be closed."""
        self._cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _report_missing_rights(self) -> None:
        """Events about the lease, which is the one object that a manager has."""
        election, source = self._settings.leader_election, self._events.source(LEADER_SOURCE)
        about = ObjectReference("coordination.k8s.io/v1", "Lease", election.namespace, election.name)
        async with aclosing(self._client.lacked.changes()) as messages:
            async for message in messages:
                if message:
                    source.record(about, StateEvent("RightsMissing", message))

    async def _follow_services(self) -> None:
        """Once the provider has answered: before that nothing is decided."""
        await self._provider.wait_for_capabilities()
        await self._services.follow()

    def _watches_services(self) -> bool:
        try:
            offers = self._provider.capabilities.offers(Interface.LOAD_BALANCER)
            return SERVICE in self._settings.cloud.loops and offers
        except ProviderError:
            return False

    def _loops_for(self, capabilities: CloudCapabilities) -> dict[str, MakeLoop]:
        settings = self._settings
        makers: dict[str, MakeLoop] = {}
        wanted = active_loops(settings)
        if NODE in wanted and capabilities.offers(Interface.INSTANCES):
            makers[NODE] = lambda: InitializationLoop(self._node_parts(NODE_SOURCE), initialization_policy(settings))
            makers[f"{NODE} addresses"] = lambda: AddressLoop(self._node_parts(NODE_SOURCE), address_policy(settings))
        if LIFECYCLE in wanted and capabilities.offers(Interface.INSTANCES):
            makers[LIFECYCLE] = lambda: LifecycleLoop(self._node_parts(LIFECYCLE_SOURCE), lifecycle_policy(settings))
        if SERVICE in wanted and capabilities.offers(Interface.LOAD_BALANCER):
            makers[SERVICE] = self._service_loop
        if ROUTE in wanted and capabilities.offers(Interface.ROUTES):
            makers[ROUTE] = self._route_loop
        return makers

    def _service_loop(self) -> ServiceLoop:
        reports = ServiceReports(self._events.source(SERVICE_SOURCE), self._metrics, self._mask)
        policy = service_policy(self._settings)
        actions = BalancerActions(self._services, self._provider, self._service_writer, reports, policy.as_upstream)
        return ServiceLoop(self._services, self._nodes, actions, reports, policy)

    def _route_loop(self) -> RouteLoop:
        reports = RouteReports(self._events.source(ROUTE_SOURCE), self._metrics, self._mask)
        policy = route_policy(self._settings)
        return RouteLoop(self._nodes, self._provider, self._client, reports, policy)

    def _node_parts(self, source: str) -> NodeLoopParts:
        reports = NodeReports(self._events.source(source), self._metrics, self._mask)
        return NodeLoopParts(self._nodes, self._provider, self._node_writer, reports)

    def _obstacle(self) -> str:
        """Why the settings do not fit the provider, empty if they do."""
        cloud = self._settings.cloud
        if cloud.cidrs or not cloud.routes or ROUTE not in cloud.loops:
            return ""
        try:
            has_routes = self._provider.capabilities.offers(Interface.ROUTES)
        except ProviderError:
            return ""
        return _NO_CIDR if has_routes else ""


@dataclass(frozen=True, slots=True)
class _SoleLeader:
    """Without an election."""

    is_leader: bool = True
    holder: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How the loops write to the cluster: a client that writes only while this replica leads, and who says so; without
    an election None."""

    client: Client
    elector: LeaderElector | None


@asynccontextmanager
async def assemble_cloud(settings: Settings, parts: Parts) -> AsyncIterator[Cloud]:
    """The cloud controller manager for these settings. Closes its connections when it is left. Raises StartRefused for
    a provider that cannot be started, or that every user may change: it gets the secrets of a cloud."""
    program = find_program(settings)
    await asyncio.to_thread(writable.check, program.executable, settings.hooks)
    async with _open_access(settings, parts) as access:
        cloud = Cloud(settings, parts, program, access)
        try:
            yield cloud
        finally:
            await cloud.wait_for_end()


@asynccontextmanager
async def _open_access(settings: Settings, parts: Parts) -> AsyncIterator[ClusterAccess]:
    if not settings.leader_election.on:
        yield ClusterAccess(parts.kube.patcher, None)
        return
    loud, lacked = settings.kube.log_requests, parts.kube.patcher.lacked
    credentials = Credentials(settings.kube, parts.kube.connection, lacked)
    async with Client(credentials, Requests(parts.metrics, "leader_election"), loud=loud) as leases:
        elector = make_elector(leases, settings.leader_election)
        meter = Requests(parts.metrics, "cloud")
        async with FencedClient(credentials, meter, lambda: elector.is_leader, parts.kube.patcher) as client:
            yield ClusterAccess(client, elector)
