"""A cluster, a cloud and the loop of load balancers between them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_loop import ServiceLoop
from hookrunner.cloud.services.service_reports import ServiceReports
from hookrunner.cloud.services.service_writer import ServiceWriter
from tests.cloud.cloud_world import CloudWorld, running
from tests.cloud.node_samples import node

ENSURE, UPDATE, DELETE, GET = verbs.LB_ENSURE, verbs.LB_UPDATE, verbs.LB_DELETE, verbs.LB_GET


def balancer_actions(
    world: CloudWorld, services: ServiceInformer, looks_first: bool = False
) -> tuple[BalancerActions, ServiceReports]:
    """What is done for Services in this world, and where it is reported."""
    reports = ServiceReports(world, world.metrics)
    return BalancerActions(services, world.cloud, ServiceWriter(world.api.client), reports, looks_first), reports


def service_loop(
    world: CloudWorld, services: ServiceInformer, nodes: NodeInformer, policy: ServicePolicy
) -> ServiceLoop:
    """The loop of load balancers in this world."""
    actions, reports = balancer_actions(world, services, policy.as_upstream)
    return ServiceLoop(services, nodes, actions, reports, policy)


@dataclass
class BalancerWorld(CloudWorld):
    """Begins with the Nodes `a` and `b`. `services` and `nodes` are the views of the loop that runs since `run_loop`; a
    second one takes over what the first has left."""

    policy: ServicePolicy = field(default_factory=ServicePolicy)

    def __post_init__(self) -> None:
        self.api.put(node("a"))
        self.api.put(node("b"))

    def build(self) -> ServiceLoop:
        """A new loop, with views of its own."""
        self.services, self.nodes = ServiceInformer(self.api), NodeInformer(self.api)
        return service_loop(self, self.services, self.nodes, self.policy)

    @asynccontextmanager
    async def run_loop(self) -> AsyncIterator[ServiceLoop]:
        """Let a loop run, until everything that it begins at once is done."""
        loop = self.build()
        async with running(self.services.follow, self.nodes.follow, loop.run):
            await self.rest()
            yield loop

    def reasons(self, name: str = "web") -> list[str]:
        return super().reasons(name)

    def live(self, name: str = "web") -> Any:
        return self.api.live("Service", name, "default")

    def exists(self, name: str = "web") -> bool:
        return self.api.has("Service", name, "default")

    def change(self, patch: Any, name: str = "web") -> None:
        self.api.change("Service", name, patch, "default")

    def annotate(self, name: str = "web", value: str = "b") -> None:
        """Change an annotation: the load balancer is ensured."""
        self.change({"metadata": {"annotations": {"a": value}}}, name)

    def delete(self, name: str = "web") -> None:
        """As a user: finalizers hold it."""
        if self.live(name)["metadata"].get("finalizers"):
            self.change({"metadata": {"deletionTimestamp": "2026-11-23T00:00:00Z"}}, name)
        else:
            self.remove(name)

    def remove(self, name: str = "web") -> None:
        """Delete it at once, whatever it has for finalizers."""
        self.api.delete("Service", name, "default")

    def addresses(self, name: str = "web") -> list[str]:
        ingress = self.live(name)["status"]["loadBalancer"].get("ingress") or []
        return [entry.get("ip") or entry.get("hostname") for entry in ingress]

    def finalizers(self, name: str = "web") -> list[str]:
        finalizers: list[str] = self.live(name)["metadata"].get("finalizers") or []
        return finalizers

    def backends(self, name: str = "web") -> tuple[str, ...]:
        return self.cloud.load_balancers[self.live(name)["metadata"]["uid"]].nodes
