"""A cluster, a cloud and the loop of load balancers between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_loop import ServiceLoop
from hookrunner.cloud.services.service_reports import ServiceReports
from hookrunner.cloud.services.service_writer import ServiceWriter
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.node_samples import node
from tests.fakes.cluster import running, settle
from tests.fakes.fake_api import FakeApi

ENSURE, UPDATE, DELETE, GET = verbs.LB_ENSURE, verbs.LB_UPDATE, verbs.LB_DELETE, verbs.LB_GET


@dataclass
class EventList:
    """Events as they are recorded: reason and name of the Service."""

    events: list[tuple[str, str]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.events.append((event.reason, about.name))
        self.messages.append(event.message)

    def reasons(self, name: str = "web") -> list[str]:
        return [reason for reason, about in self.events if about == name]


@dataclass
class BalancerWorld:
    """`loop` runs from `run_loop` on; a second one takes over what the first has left."""

    policy: ServicePolicy = field(default_factory=ServicePolicy)
    api: FakeApi = field(default_factory=FakeApi)
    cloud: FakeCloud = field(default_factory=FakeCloud)

    def __post_init__(self) -> None:
        self.said, self.metrics = EventList(), Metrics("")
        self.reports = ServiceReports(self.said, self.metrics)
        self.api.put(node("a"))
        self.api.put(node("b"))

    def build(self) -> tuple[ServiceLoop, ServiceInformer, NodeInformer]:
        """A loop and what it reads."""
        services, nodes = ServiceInformer(self.api), NodeInformer(self.api)
        writer = ServiceWriter(self.api.client)
        actions = BalancerActions(services, self.cloud, writer, self.reports, self.policy.as_upstream)
        return ServiceLoop(services, nodes, actions, self.reports, self.policy), services, nodes

    @asynccontextmanager
    async def run_loop(self) -> AsyncIterator[ServiceLoop]:
        """Let a loop run, until everything that it begins at once is done."""
        loop, services, nodes = self.build()
        async with running(services.follow(), nodes.follow(), loop.run()):
            await self.rest()
            yield loop

    async def rest(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
        await settle()

    def live(self, name: str = "web") -> Any:
        return self.api.live("Service", name, "default")

    def exists(self, name: str = "web") -> bool:
        return self.api.has("Service", name, "default")

    def change(self, patch: Any, name: str = "web") -> None:
        self.api.change("Service", name, patch, "default")

    def delete(self, name: str = "web") -> None:
        """As a user: finalizers hold it."""
        if self.live(name)["metadata"].get("finalizers"):
            self.change({"metadata": {"deletionTimestamp": "2026-11-23T00:00:00Z"}}, name)
        else:
            self.api.delete("Service", name, "default")

    def addresses(self, name: str = "web") -> list[str]:
        ingress = self.live(name)["status"]["loadBalancer"].get("ingress") or []
        return [entry.get("ip") or entry.get("hostname") for entry in ingress]

    def finalizers(self, name: str = "web") -> list[str]:
        finalizers: list[str] = self.live(name)["metadata"].get("finalizers") or []
        return finalizers

    def asked(self, verb: AnyVerb) -> int:
        return len(self.cloud.asked(verb))

    def times(self, verb: AnyVerb) -> list[int]:
        """When each call of a verb began, in seconds."""
        return [round(call.at) for call in self.cloud.calls if call.verb is verb]

    def backends(self, name: str = "web") -> tuple[str, ...]:
        return self.cloud.load_balancers[self.live(name)["metadata"]["uid"]].nodes
