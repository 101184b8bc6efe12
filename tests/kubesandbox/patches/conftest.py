"""The real API server as the judge of patches, and a kind there that takes any JSON."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.kubesandbox.oracle import Oracle, oracle_of

ANYTHING = {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}


@pytest.fixture(scope="module")
def oracle(cluster: Cluster) -> Iterator[Oracle]:
    """The server behind the cluster."""
    with oracle_of(cluster) as oracle:
        yield oracle


@dataclass(frozen=True, slots=True)
class Anything:
    """An object of a custom kind whose `spec` is any JSON, and what the server makes of it."""

    oracle: Oracle
    path: str
    template: Any

    def holding(self, document: object) -> Any:
        """The object with the document as its spec, stored."""
        whole = [{"op": "add", "path": "/spec", "value": document}]
        code, body = self.oracle.ask("PATCH", self.path, whole, content_type="application/json-patch+json")
        assert code == 200, body
        return body

    def patched(self, kind: str, patch: object) -> Any:
        """The code, and the spec or the refusal."""
        code, body = self.oracle.patch(self.path, kind, patch)
        return code, body.get("spec") if code == 200 else body["message"]


@pytest.fixture(scope="module")
def anything(cluster: Cluster, oracle: Oracle) -> Iterator[Anything]:
    """Made once; its definition goes at the end."""
    group = f"patches-{secrets.token_hex(4)}.hookrunner.io"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cluster.create(definitions, definition(group))
    cluster.kubectl("wait", "--for=condition=Established", f"crd/anythings.{group}", "--timeout=60s")
    path = f"/apis/{group}/v1/{{ns}}/anythings"
    made = oracle.made(path, {"apiVersion": f"{group}/v1", "kind": "Anything", "metadata": {"name": "one"}})
    yield Anything(oracle, f"{path}/one", made)
    cluster.request("DELETE", f"{definitions}/anythings.{group}")


def definition(group: str) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}}
    names = {"kind": "Anything", "plural": "anythings"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"anythings.{group}"},
        "spec": spec,
    }
