"""Keeps a route in the cloud to the Pod network of each Node, in passes: list, compare, change, write conditions.

    loop = RouteLoop(nodes, provider, client, reports, policy)
    await loop.run()          # while this process is the leader
    loop.stop()               # the pass that is under way is finished, then `run` returns

A pass begins after each period, and soon after a Node comes, goes or changes its networks. A pass that fails is
repeated by the next one; there is no back-off. Everything that a pass changes goes in one call of the provider.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from hookrunner import log
from hookrunner.cloud.answers import CloudCapabilities, CloudRoute, ErrorCode, Interface, ProviderError, RouteResults
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NodeInformer, NodeSubscription
from hookrunner.cloud.routes.network_condition import decide_condition, write_condition
from hookrunner.cloud.routes.route_plan import (
    DuplicateNetwork,
    RoutePlan,
    RoutePolicy,
    RouteView,
    changes_routes,
    decide_routed,
    find_routed,
    plan_routes,
)
from hookrunner.cloud.routes.route_reports import RouteReports
from hookrunner.controllers.pass_clock import wait_until_set
from hookrunner.errors import KubeError
from hookrunner.kube.client import Client

_WRITES_AT_ONCE = 16
_log = log.get(__name__)


class RouteProvider(Protocol):
    """The interface `routes`; how it is asked is the matter of `cloud/provider/`. Both questions may wait, and raise
    ProviderError."""

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the provider can do, by its last answer."""
        ...

    async def list_routes(self) -> tuple[CloudRoute, ...]:
        """All routes of the cluster."""
        ...

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        """Delete some, then create others, in one call."""
        ...


class RouteLoop:
    """Keeps routes. `problem` is why the last pass could not do its work, empty if it could."""

    def __init__(
        self, nodes: NodeInformer, provider: RouteProvider, client: Client, reports: RouteReports, policy: RoutePolicy
    ) -> None:
        self.problem = ""
        self._nodes = nodes
        self._provider = provider
        self._client = client
        self._reports = reports
        self._policy = policy
        self._refused = frozenset[CloudRoute]()
        self._duplicates = frozenset[DuplicateNetwork]()
        """Those that were reported."""
        self._planned: dict[str, CloudNode] = {}
        """The Nodes that the last pass has looked at."""
        self._has_planned = False
        """Nodes that are there before the first pass cause no other."""
        self._wanted = asyncio.Event()
        """Nodes have changed since then."""
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Make passes until `stop`."""
        now = asyncio.get_running_loop().time
        with self._nodes.subscribe() as changes:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._watch_nodes(changes))
                while await self._nodes.wait_for_view(self._stopped):
                    began = now()
                    await self._rest(began, await self._pass())
                watching.cancel()

    def stop(self) -> None:
        """Begin no other pass."""
        self._stopped.set()
        self._wanted.set()

    async def _rest(self, began: float, pause: float) -> None:
        """Wait for the time of the next pass, a change of Nodes, or `stop`."""
        if not self._stopped.is_set() and await wait_until_set(self._wanted, began + pause):
            await wait_until_set(self._stopped, began + self._policy.shortest_gap)

    async def _watch_nodes(self, changes: NodeSubscription) -> None:
        while True:
            batch = await changes.next_batch()
            with_addresses = self._provider.capabilities.route_node_addresses
            matters = any(changes_routes(self._planned.get(one.name), one.after, with_addresses) for one in batch)
            if matters and self._has_planned and not self._policy.as_upstream:
                self._wanted.set()

    async def _pass(self) -> float:
        """Bring the routes to what the Nodes want; seconds until the next pass."""
        if not self._provider.capabilities.offers(Interface.ROUTES):
            return self._policy.period
        self._reports.metrics.route_sync.inc()
        try:
            routes = await self._provider.list_routes()
        except ProviderError as error:
            if error.code is ErrorCode.UNAUTHENTICATED and not self._policy.as_upstream:
                self._reports.report_refusal(self._nodes, error)
            return self._fail(error)
        if not await self._nodes.wait_for_view(self._stopped):
            return self._policy.period
        nodes, plan = self._plan(routes)
        results = await self._apply(plan)
        failures = [(route, error) for route, error in zip(plan.create, results.create, strict=True) if error]
        invalid = {route for route, error in failures if error.code is ErrorCode.INVALID}
        self._refused = plan.refused | (set() if self._policy.as_upstream else invalid)
        await self._write_conditions(nodes, plan, [route for route, _ in failures])
        pauses = (error.pause for _, error in failures if error.pause is not None)
        return min([self._policy.period, *pauses])

    def _plan(self, routes: tuple[CloudRoute, ...]) -> tuple[list[CloudNode], RoutePlan]:
        nodes = sorted(self._nodes, key=lambda node: node.name)
        self._planned = {node.name: node for node in nodes}
        self._has_planned = True
        self._wanted.clear()
        with_addresses = self._provider.capabilities.route_node_addresses
        plan = plan_routes(RouteView(nodes, routes, with_addresses, self._refused), self._policy)
        for duplicate in plan.duplicates:
            if duplicate not in self._duplicates:
                self._reports.report_duplicate(duplicate)
        self._duplicates = frozenset(plan.duplicates)
        return nodes, plan

    async def _apply(self, plan: RoutePlan) -> RouteResults:
        """Delete, then create, in one call; if the call fails, nothing is known to be done. What the provider then
        calls invalid is the call, and none of the routes."""
        self.problem = ""
        if not (plan.create or plan.delete):
            return RouteResults()
        try:
            results = await self._provider.apply_routes(plan.create, plan.delete)
        except ProviderError as error:
            self._fail(error)
            if error.code is ErrorCode.INVALID:
                error = ProviderError(ErrorCode.UNAVAILABLE, str(error))
            results = RouteResults((error,) * len(plan.create), (error,) * len(plan.delete))
        for route, problem in zip(plan.create, results.create, strict=True):
            self._reports.report_creation(route, problem)
        for route, problem in zip(plan.delete, results.delete, strict=True):
            self._reports.report_deletion(route, problem)
        return results

    def _fail(self, error: ProviderError) -> float:
        """A call has failed; seconds until the next pass."""
        self.problem = str(error)
        _log.warn("routes cannot be compared or changed", error=error)
        return self._policy.period if error.pause is None else error.pause

    async def _write_conditions(
        self, nodes: Iterable[CloudNode], plan: RoutePlan, failed: Sequence[CloudRoute]
    ) -> None:
        """Say of each Node whether it has its routes. One Node that cannot be written does not hold up the others."""
        limit, routed = asyncio.Semaphore(_WRITES_AT_ONCE), find_routed(plan, failed)
        wanted = [(node, decide_routed(node, plan, routed)) for node in nodes]
        writes = [self._write_condition(node, is_routed, limit) for node, is_routed in wanted if is_routed is not None]
        if problems := [problem for problem in await asyncio.gather(*writes) if problem]:
            self.problem = problems[0]
            _log.warn("conditions of Nodes cannot be written", nodes=len(problems), reason=problems[0])

    async def _write_condition(self, node: CloudNode, is_routed: bool, limit: asyncio.Semaphore) -> str:
        """Write the condition of a Node if it differs; why it could not be written, empty if it could."""
        latest = self._nodes.get(node.name)
        if latest is None or latest.uid != node.uid:
            return ""
        condition = decide_condition(latest.network_unavailable, is_routed, self._policy.keeps_foreign_condition)
        if condition is None:
            return ""
        try:
            async with limit:
                await write_condition(self._client, latest, condition)
        except KubeError as error:
            return f"Node {node.name}: {error}"
        return ""
