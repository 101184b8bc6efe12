"""A kind on the real API server that takes any JSON: the judge of patches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.objects import definition
from tests.kubesandbox.oracle import Oracle

ANYTHING = {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


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
def anything(oracle: Oracle) -> Iterator[Anything]:
    """Made once; its definition goes at the end."""
    group = f"{oracle.unique('anything')}.hookrunner.io"
    oracle.made(DEFINITIONS, definition(group, "Anything", "v1", schema=ANYTHING))
    path = f"/apis/{group}/v1/{{ns}}/anythings"
    oracle.until(lambda: oracle.ask("GET", path)[0] == 200)
    made = oracle.made(path, {"apiVersion": f"{group}/v1", "kind": "Anything", "metadata": {"name": "one"}})
    yield Anything(oracle, f"{path}/one", made)
    oracle.remove(f"{DEFINITIONS}/anythings.{group}")
