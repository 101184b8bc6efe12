"""A cluster, a cloud and the loop of routes between them, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.routes.route_loop import RouteLoop
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.routes.route_reports import RouteReports
from tests.cloud.cloud_world import CloudWorld, running
from tests.cloud.routes.route_samples import CLUSTER

LIST, APPLY = verbs.ROUTES_LIST, verbs.ROUTES_APPLY


@dataclass
class RouteWorld(CloudWorld):
    """The loop is built when it runs."""

    policy: RoutePolicy = field(default_factory=lambda: RoutePolicy(CLUSTER))

    def build(self) -> tuple[RouteLoop, NodeInformer]:
        nodes = NodeInformer(self.api)
        return RouteLoop(nodes, self.cloud, self.api.client, RouteReports(self, self.metrics), self.policy), nodes

    @asynccontextmanager
    async def run_loop(self) -> AsyncIterator[RouteLoop]:
        loop, nodes = self.build()
        async with running(nodes.follow, loop.run):
            await self.rest()
            yield loop

    def condition(self, name: str) -> tuple[str, str] | None:
        conditions = self.api.live("Node", name)["status"]["conditions"]
        found = [(one["status"], one["reason"]) for one in conditions if one["type"] == "NetworkUnavailable"]
        return found[0] if found else None

    @property
    def routes(self) -> dict[str, str]:
        return {one.destination_cidr: one.target_node for one in self.cloud.routes}
