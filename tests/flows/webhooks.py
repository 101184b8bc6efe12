"""Hooks that the real API server asks: their registrations are the test's own and count in its namespace only."""

import json
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.flows.conftest import Start
from tests.flows.operator import Operator
from tests.flows.scripts import hook
from tests.flows.waiting import until


@dataclass(frozen=True, slots=True)
class Site:
    """Where the webhooks of a test are registered, and who may be asked about them."""

    cluster: Cluster
    namespace: str
    port: int = field(default_factory=free_port)
    name: str = field(default_factory=lambda: f"t{secrets.token_hex(4)}")

    @property
    def flags(self) -> tuple[str, ...]:
        """Of an operator outside the cluster."""
        return (
            f"--namespace={self.namespace}",
            f"--webhook-port={self.port}",
            f"--webhook-url=https://127.0.0.1:{self.port}",
            f"--validating-webhook-configuration-name={self.name}",
        )

    def binding(self, *operations: str, resources: str = "configmaps", **more: Any) -> dict[str, Any]:
        """A webhook for objects of the namespace."""
        # The selector for namespaces lets every cluster-scoped object through.
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": [resources], "scope": "Namespaced"}
        mine = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        return {
            "name": f"{self.name}.example.com",
            "rules": [rule | {"operations": list(operations)}],
            "namespace": {"labelSelector": mine},
            **more,
        }

    def kubectl(self, *words: str, text: str = "") -> tuple[int, str]:
        """Exit code, and what a person sees."""
        environ = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)}
        command = [str(find_tool("kubectl")), "--namespace", self.namespace, *words]
        done = subprocess.run(
            command, input=text, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return done.returncode, done.stdout

    def refusal(self, name: str, **labels: str) -> str:
        """What the API server says against a ConfigMap of that name, which is not kept; empty if nothing. To be asked
        again and again: a kubectl would cost twenty times as much as this request."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps?dryRun=All"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
        reply = self.cluster.request("POST", path, body)
        return "" if reply.status == HTTPStatus.CREATED else str(reply.body["message"])

    def remove(self) -> None:
        """No webhook may outlive its server."""
        for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            path = f"/apis/admissionregistration.k8s.io/v1/{resource}/{self.name}"
            assert self.cluster.request("DELETE", path).status in (HTTPStatus.OK, HTTPStatus.NOT_FOUND)


def validating(site: Site, body: str, *operations: str, **more: Any) -> str:
    """A hook that is asked about operations in the namespace."""
    return hook({"kubernetesValidating": [site.binding(*(operations or ("*",)), **more)]}, body)


def answer(**response: Any) -> str:
    """Lines that answer this."""
    return f"cat > $VALIDATING_RESPONSE_PATH <<'EOF'\n{json.dumps(response)}\nEOF\n"


@asynccontextmanager
async def asked(site: Site, start: Start, script: str, *flags: str) -> AsyncIterator[Operator]:
    """An operator whose hook the API server has begun to ask. It ends before its registrations are taken away, since
    it would put them back."""
    program = await start({"h.sh": script}, *site.flags, *flags)
    try:
        await is_asked(site, program)
        yield program
        await program.stop()
    finally:
        program.kill()
        site.remove()


async def is_asked(site: Site, program: Operator) -> None:
    """Wait until the API server asks this operator about operations in the namespace."""
    await until(lambda: _asks(site, program), lambda: f"the API server asks\n{program.story()}")


def _asks(site: Site, program: Operator) -> bool:
    """API servers hear of a registration a little later."""
    site.refusal(f"probe-{secrets.token_hex(4)}")
    return program.metric("webhook_reviews_total") > 0


@pytest.fixture
def site(cluster: Cluster, namespace: str) -> Iterator[Site]:
    """Set up before the operator is, and so taken down after it."""
    site = Site(cluster, namespace)
    yield site
    site.remove()


@pytest.fixture
def start(site: Site, operator: Start) -> Start:
    """Its operators end before the registrations of `site` are removed, since they would put them back."""
    return operator
