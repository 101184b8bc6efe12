"""A cluster, a cloud and the loop of routes between them, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.routes.route_loop import RouteLoop
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.routes.route_reports import RouteReports
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.routes.route_samples import CLUSTER
from tests.fakes.cluster import running, settle
from tests.fakes.fake_api import FakeApi

LIST, APPLY = verbs.ROUTES_LIST, verbs.ROUTES_APPLY


@dataclass
class RouteWorld:
    """`events` are the Events as (reason, Node, message)."""

    policy: RoutePolicy = field(default_factory=lambda: RoutePolicy(CLUSTER))
    api: FakeApi = field(default_factory=FakeApi)
    cloud: FakeCloud = field(default_factory=FakeCloud)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics(""))

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.events.append((event.reason, about.name, event.message))

    def build(self) -> tuple[RouteLoop, NodeInformer]:
        nodes = NodeInformer(self.api)
        return RouteLoop(nodes, self.cloud, self.api.client, RouteReports(self, self.metrics), self.policy), nodes

    @asynccontextmanager
    async def run_loop(self) -> AsyncIterator[RouteLoop]:
        loop, nodes = self.build()
        async with running(nodes.follow(), loop.run()):
            await settle()
            yield loop

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await settle()

    def condition(self, name: str) -> tuple[str, str] | None:
        conditions = self.api.live("Node", name)["status"]["conditions"]
        found = [(one["status"], one["reason"]) for one in conditions if one["type"] == "NetworkUnavailable"]
        return found[0] if found else None

    def times(self, verb: AnyVerb) -> list[int]:
        return [round(call.at) for call in self.cloud.calls if call.verb is verb]

    @property
    def routes(self) -> dict[str, str]:
        return {one.destination_cidr: one.target_node for one in self.cloud.routes}
