"""What happens to Nodes and Services in the life of each shipped provider."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hookrunner import settings
from hookrunner.cloud.rights import rights_of
from hookrunner.model.rights import Right
from tests.cloud.scenarios.documents import node
from tests.cloud.scenarios.managers import OLD_ENOUGH, QUICK
from tests.cloud.scenarios.scenes import service
from tests.cloud.scenarios.test_provider_lives import ELECT, LEASE, LIVES
from tests.cloud.scenarios.test_provider_lives import Life as ProviderFacts
from tests.cloud.scenarios.world import World
from tests.controlplane.cluster import OwnCluster
from tests.flows.operator import Operator
from tests.flows.taken.life import Step, start
from tests.flows.taken.release_lives import read
from tests.providers.provider_calls import PROVIDERS

FACTS = {life.provider: life for life in LIVES}
NODE, SERVICE = "/api/v1/nodes/first", "/api/v1/namespaces/default/services/web"
TAINT = "node.cloudprovider.kubernetes.io/uninitialized"
TWICE = ("--node-delete-confirmations=2", OLD_ENOUGH)
"""A machine that is added or removed while a provider lists them in pages may be on none of these."""
OTHER = {"other": "10.0.0.2"}
"""A Node that stays: of too large a part of the Nodes no deletion is trusted."""
Put = Callable[[Mapping[str, str]], None]


def provider_flags(facts: ProviderFacts, world: World) -> tuple[str, ...]:
    """Of a program that is the manager alone."""
    program = f"--cloud-provider={PROVIDERS / facts.provider}"
    return (program, f"--cloud-config={world.state}", "--modules-dir=:", *QUICK, *ELECT, *TWICE, *facts.flags)


def provider_rights(facts: ProviderFacts, world: World) -> tuple[Right, ...]:
    """What `hookrunner cloud rbac` prints with these flags."""
    flags = dict(flag[2:].split("=", 1) for flag in provider_flags(facts, world))
    return rights_of(settings.load({"hooks-dir": ":", **flags}, "hookrunner", {}))


class ProviderWorld:
    """A cluster, and a cloud in which `put` sets the machines."""

    def __init__(self, cluster: OwnCluster, operator: Operator, facts: ProviderFacts, put: Put) -> None:
        self.cluster, self.operator, self.facts, self.put = cluster, operator, facts, put

    def steps(self) -> Iterator[Step]:
        """A whole life: a Node and a Service come, change and go."""
        started = start(self.operator)
        yield started._replace(ask=self._start)
        yield Step("a Node", self._add_node, lambda: self._has("10.0.0.1"))
        moved = {"first": "10.0.0.7", **OTHER}
        yield Step("another address", lambda: self.put(moved), lambda: self._has("10.0.0.7"))
        if self.facts.balances:
            created = {**service("web"), "apiVersion": "v1", "kind": "Service"}
            create = lambda: self.cluster.create(SERVICE.rpartition("/")[0], created)  # noqa: E731
            yield Step("a Service", create, lambda: bool(self._status(SERVICE).get("loadBalancer")))
            yield Step("its end", lambda: self.cluster.request("DELETE", SERVICE), lambda: not self._read(SERVICE))
        yield Step("the end of the Node", lambda: self.put(OTHER), lambda: not self._read(NODE))

    def _start(self) -> None:
        self.cluster.request("DELETE", LEASE)
        self.cluster.request("DELETE", "/api/v1/nodes")
        self.put({"first": "10.0.0.1", **OTHER})
        self.operator.start()

    def _add_node(self) -> None:
        for name in ("first", *OTHER):
            created = {"apiVersion": "v1", "kind": "Node", **node(name, ready="False")}
            self.cluster.create("/api/v1/nodes", created)

    def _has(self, address: str) -> bool:
        found = self._read(NODE)
        shown = [entry["address"] for entry in self._status(NODE).get("addresses", ())]
        is_shown = shown == [address] or not self.facts.addresses
        taints = [taint["key"] for taint in found["spec"].get("taints", ())]
        return bool(found["spec"].get("providerID") and TAINT not in taints and is_shown)

    def _read(self, path: str) -> Any:
        return read(self.cluster, path)

    def _status(self, path: str) -> Any:
        return self._read(path).get("status") or {}
