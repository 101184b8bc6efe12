"""What an installation of hookrunner has registered in a real cluster, without the program itself.

Nothing answers where it leads, and it is about kinds of its own only, so no other client's requests are in its way.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookrunner.certificates.material import Material
from hookrunner.certificates.own import DesiredCertificate, own
from hookrunner.certificates.provided import LatestMaterial
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Admission, ConversionBinding, Hook, HookConfig
from hookrunner.registration.desired import Target, desired_registrations
from hookrunner.registration.reconcile import claim
from hookrunner.registration.registrar import Registrar
from tests.controlplane.cluster import DEFINITIONS, Cluster
from tests.fakes.cluster import running
from tests.fakes.objects import definition
from tests.kube.real import client_of

CONFIGURATIONS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"


@dataclass(frozen=True)
class Installation:
    """`name` is that of its webhook configurations, `service` of their Service, if there is no `url`."""

    cluster: Cluster
    namespace: str
    name: str
    service: str = "hooks"
    url: str = ""

    @property
    def definition_name(self) -> str:
        return f"things.{self.name}.example.com"

    @property
    def flags(self) -> tuple[str, ...]:
        """By which the program finds what is its own."""
        return (
            f"--kube-config={self.cluster.kubeconfig}",
            f"--namespace={self.namespace}",
            f"--validating-webhook-configuration-name={self.name}",
            f"--validating-webhook-service-name={self.service}",
            f"--conversion-webhook-service-name={self.service}",
        )

    def hooks(self) -> list[Hook]:
        group = self.definition_name.partition(".")[2]
        rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
        config = HookConfig(
            "v1",
            validating=(Admission("one.example.com", (rule,)),),
            mutating=(Admission("two.example.com", (rule,)),),
            conversions=(ConversionBinding("c", self.definition_name, (("v1", "v2"),)),),
        )
        return [Hook("hook.sh", Path("/hooks/hook.sh"), config)]

    def register(self, kubeconfig: Path | None = None) -> tuple[bool, str]:
        """As the program does, as admin or as another kubeconfig's user; what became of it."""

        async def register() -> tuple[bool, str]:
            async with self._registrar(kubeconfig or self.cluster.kubeconfig) as (registrar, _):
                return registrar.condition()

        return asyncio.run(register())

    @asynccontextmanager
    async def running(self, kubeconfig: Path | None = None) -> AsyncIterator[None]:
        """As long as the program runs: changes of other clients are repaired."""
        async with self._registrar(kubeconfig or self.cluster.kubeconfig) as (registrar, client):
            watches = Watches(client, Discovery(client), Metrics(""), 75)
            async with running(registrar.keep(watches)):
                yield

    @asynccontextmanager
    async def _registrar(self, kubeconfig: Path) -> AsyncIterator[tuple[Registrar, Client]]:
        metrics = Metrics("")
        target = Target(self.url, self.namespace, self.service)
        async with client_of(kubeconfig, metrics) as client:
            desired = desired_registrations(self.hooks(), self.name, target, target)
            registrar = Registrar(client, metrics, desired, claim(1.0))
            await registrar.publish(b"")
            yield registrar, client

    async def certify(self, kubeconfig: Path, secret: str) -> Material:
        """The first certificate that the program makes for itself, as this kubeconfig's user."""
        async with self._registrar(kubeconfig) as (_, client):
            watches = Watches(client, Discovery(client), Metrics(""), 75)
            wanted = DesiredCertificate(self.namespace, secret, (self.service,))
            async with aclosing(own(LatestMaterial(secret), client, watches, wanted)) as materials:
                return await anext(materials)

    def define(self) -> None:
        group = self.definition_name.partition(".")[2]
        self.cluster.create(DEFINITIONS, definition(group, "Thing", "v1", "v2"))

    def configurations(self) -> list[str]:
        """Those that are there."""
        found = self.cluster.kubectl("get", CONFIGURATIONS, "--output", "name")
        return [line for line in found.splitlines() if line.endswith(f"/{self.name}")]

    def conversion(self) -> Any:
        return self.cluster.request("GET", f"{DEFINITIONS}/{self.definition_name}").body["spec"]["conversion"]

    def clean(self) -> None:
        self.cluster.kubectl("delete", CONFIGURATIONS, self.name, "--ignore-not-found")
        self.cluster.kubectl("delete", "crd", self.definition_name, "--wait=false")


@pytest.fixture
def installation(cluster: Cluster, namespace: str) -> Iterator[Installation]:
    found = Installation(cluster, namespace, namespace)
    found.define()
    yield found
    found.clean()
