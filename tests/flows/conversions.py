"""A kind in three versions that hooks convert, in an API group of the test's own.

v1alpha1   spec: {hostPort: "db:5432"}
v1beta1    spec: {host: db, port: "5432"}
v1         spec: {address: {host: db, port: 5432}}
"""

import asyncio
import secrets
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import aiohttp

from tests.controlplane.cluster import DEFINITIONS, Cluster
from tests.controlplane.rest import Reply
from tests.fakes.objects import definition
from tests.flows.scripts import hook

SPECS: dict[str, dict[str, Any]] = {
    "v1alpha1": {"hostPort": "db:5432"},
    "v1beta1": {"host": "db", "port": "5432"},
    "v1": {"address": {"host": "db", "port": 5432}},
}
"""The same in each version."""

STEPS = {
    ("v1alpha1", "v1beta1"): '.hostPort | split(":") | {host: .[0], port: .[1]}',
    ("v1beta1", "v1alpha1"): '{hostPort: "\\(.host):\\(.port)"}',
    ("v1beta1", "v1"): "{address: {host, port: (.port | tonumber)}}",
    ("v1", "v1beta1"): ".address | {host, port: (.port | tostring)}",
}
"""What jq makes of a spec."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Teas of one namespace."""

    cluster: Cluster
    namespace: str
    group: str = field(default_factory=lambda: f"t{secrets.token_hex(4)}.example.com")

    @property
    def crd(self) -> str:
        """The name of its definition."""
        return f"teas.{self.group}"

    def written(self, stored: str = "v1") -> Any:
        """The definition as an author who knows nothing of conversions writes it."""
        anything = {"type": "object", "properties": {"spec": {"type": "object", **OPEN}}, **OPEN}
        versions = sorted(SPECS, key=lambda name: name != stored)
        return definition(self.group, "Tea", *versions, schema=anything)

    def define(self, converted_at: str = "") -> None:
        """Create the definition and wait until it is served. `converted_at`: a conversion by a URL is there already."""
        body = self.written()
        if converted_at:
            webhook = {"clientConfig": {"url": converted_at}, "conversionReviewVersions": ["v1"]}
            body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        self.cluster.create(DEFINITIONS, body)
        self.cluster.wait_for_definition(self.crd)

    def conversion(self) -> dict[str, Any]:
        """How the API server converts, as the definition says."""
        reply = self.cluster.request("GET", f"{DEFINITIONS}/{self.crd}")
        found: dict[str, Any] = reply.body.get("spec", {}).get("conversion", {})
        return found

    def store(self, version: str) -> None:
        """From now on, written objects are stored in another version."""
        for one in (versions := self.written(version)["spec"]["versions"]):
            one["storage"] = one["name"] == version
        self.cluster.request("PATCH", f"{DEFINITIONS}/{self.crd}", {"spec": {"versions": versions}})

    def remove(self) -> None:
        """Take the definition and all objects away. The API server cannot delete objects that it cannot convert."""
        alone = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        self.cluster.request("PATCH", f"{DEFINITIONS}/{self.crd}", alone)
        self.cluster.request("DELETE", f"{DEFINITIONS}/{self.crd}")

    def path(self, version: str, name: str = "") -> str:
        """Of the collection, or of one object."""
        return f"/apis/{self.group}/{version}/namespaces/{self.namespace}/teas{name and '/'}{name}"

    def tea(self, version: str, name: str, **metadata: Any) -> dict[str, Any]:
        """One, to be written."""
        head = {"apiVersion": f"{self.group}/{version}", "kind": "Tea"}
        return {**head, "metadata": {"name": name, "namespace": self.namespace, **metadata}, "spec": SPECS[version]}

    def create(self, version: str, name: str, **metadata: Any) -> Reply:
        """Write one."""
        return self.cluster.request("POST", self.path(version), self.tea(version, name, **metadata))

    def get(self, version: str, name: str) -> dict[str, Any]:
        """Read one, or why that cannot be done."""
        body: dict[str, Any] = self.cluster.request("GET", self.path(version, name)).body
        return body

    async def create_many(self, version: str, names: Iterable[str]) -> None:
        """Write many, some at a time."""
        turns, trust = asyncio.Semaphore(16), ssl.create_default_context(cafile=str(self.cluster.ca))
        headers, url = {"Authorization": f"Bearer {self.cluster.token}"}, self.cluster.url + self.path(version)
        async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=trust)) as session:

            async def create(name: str) -> None:
                async with turns, session.post(url, json=self.tea(version, name)) as reply:
                    assert reply.status == HTTPStatus.CREATED, await reply.text()

            await asyncio.gather(*map(create, names))

    def listed(self, version: str, prefix: str = "n") -> list[Any]:
        """The specs of all whose names begin so."""
        items = self.cluster.request("GET", self.path(version)).body.get("items", [])
        return [item["spec"] for item in items if item["metadata"]["name"].startswith(prefix)]

    def specs(self, name: str) -> dict[str, Any]:
        """One, as each version shows it."""
        return {version: self.get(version, name).get("spec") for version in SPECS}

    def converting(self, *steps: tuple[str, str], before: str = "", then: str = ".", **more: Any) -> str:
        """A hook that converts in these steps. `before` are lines that may answer and exit; `then` is what jq does to
        each converted object; `more` goes to the config."""
        rules = [{"fromVersion": source, "toVersion": target} for source, target in steps]
        binding = {"name": "teas", "crdName": self.crd, "conversions": rules, **more.pop("binding", {})}
        config = {"kubernetesCustomResourceConversion": [binding], **more}
        return hook(config, before + _converted(self.group, then))


OPEN = {"x-kubernetes-preserve-unknown-fields": True}

LOWER, UPPER = (("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")), (("v1beta1", "v1"), ("v1", "v1beta1"))
"""There and back."""


def _converted(group: str, then: str) -> str:
    """Lines that convert the objects of a context in the one step that it asks for."""
    cases = " ".join(
        f'{"el" * bool(number)}if $way == "{source} {target}" then {change}'
        for number, ((source, target), change) in enumerate(STEPS.items())
    )
    change = f'.apiVersion = "{group}/" + $c.toVersion | .spec |= ({cases} else error end) | {then}'
    program = (
        '.[0] as $c | "\\($c.fromVersion) \\($c.toVersion)" as $way | '
        f"{{convertedObjects: [$c.review.request.objects[] | {change}]}}"
    )
    convert = f'jq \'{program}\' "$BINDING_CONTEXT_PATH" > "$CONVERSION_RESPONSE_PATH"\n'
    return f'if grep -q ConversionReview "$BINDING_CONTEXT_PATH"; then\n{convert}fi\n'
