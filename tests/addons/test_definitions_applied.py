"""Generated definitions in a cluster: the sandbox and the real API server take them, over upstream's too, and refuse
the same specs.

Level: control plane."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
import yaml

from hookrunner.addons.addon_crd import make_definition, read_spec_schema
from hookrunner.addons.addon_discovery import find_addons
from hookrunner.errors import ApiError, NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.settings import KubeSettings
from kubesandbox.sandbox import Options, serving
from kubetypes.json_values import JSON
from tests.addons.conftest import addon
from tests.controlplane.cluster import Cluster
from tests.fakes.transports import all_closed
from tests.flows.waiting import until_is
from tests.kube.real import client_of

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SHIPPED = Path(__file__).parents[2] / "addons"
OWN: JSON = {
    "type": "object",
    "properties": {
        "dnsDomain": {"type": "string", "default": "cluster.local"},
        "replicas": {"type": "integer", "minimum": 1},
    },
}
PATCH = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 2}}
TARGET = {"apiVersion": "v1", "kind": "Service", "name": "a"}
JSON_PATCH = [{"op": "remove", "path": "/spec"}]


class Kinds(NamedTuple):
    """An API server, and a group that no other test uses."""

    client: Client
    group: str

    @property
    def path(self) -> str:
        """The definition."""
        return f"{CRDS}/coredns.{self.group}"

    @property
    def objects(self) -> str:
        """Instances in the namespace `default`."""
        return f"/apis/{self.group}/v1alpha1/namespaces/default/coredns"

    def definition(self, **keys: Any) -> JSON:
        """That of the addon coredns."""
        return make_definition(addon(of={"group": self.group, "shortNames": ["cdns"]}, **keys), OWN)

    async def ensure(self, definition: JSON) -> None:
        """Apply it as those of modules are applied."""
        await Crds(self.client, KindResolver(Discovery(self.client))).ensure([definition], {})

    async def create(self, spec: JSON, name: str = "default") -> JSON:
        """Create an instance."""
        document = {"apiVersion": f"{self.group}/v1alpha1", "kind": "CoreDNS", "metadata": {"name": name}, "spec": spec}
        return orjson.loads(await self.client.send(ApiCall("POST", self.objects, body=document)))


async def _kinds(client: Client) -> AsyncIterator[Kinds]:
    kinds = Kinds(client, f"t{secrets.token_hex(4)}.example.com")
    yield kinds
    try:
        await client.send(ApiCall("DELETE", kinds.path))
    except NotFound:
        pass


@pytest.fixture
async def in_sandbox() -> AsyncIterator[Kinds]:
    async with (
        serving(Options()) as sandbox,
        Client(Credentials(KubeSettings(), Connection(sandbox.url)), Requests(Metrics(""))) as client,
    ):
        async for kinds in _kinds(client):
            yield kinds
    await all_closed()


@pytest.fixture
async def in_cluster(cluster: Cluster) -> AsyncIterator[Kinds]:
    async with client_of(cluster.kubeconfig, Metrics("")) as client:
        async for kinds in _kinds(client):
            yield kinds
    await all_closed()


@pytest.fixture(params=["in_sandbox", pytest.param("in_cluster", marks=pytest.mark.cluster)])
def kinds(request: pytest.FixtureRequest) -> Kinds:
    made: Kinds = request.getfixturevalue(request.param)
    return made


async def test_definition_is_taken_and_then_in_sync(kinds: Kinds) -> None:
    await kinds.ensure(kinds.definition())
    first = await kinds.client.get(kinds.path)
    await kinds.ensure(kinds.definition())
    assert (await kinds.client.get(kinds.path))["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    resources = (await kinds.client.get(f"/apis/{kinds.group}/v1alpha1"))["resources"]
    listed = {entry["name"]: entry for entry in resources}
    assert (listed["coredns"]["categories"], listed["coredns"]["shortNames"]) == (["cluster-addons"], ["cdns"])
    assert "coredns/status" in listed


@pytest.mark.slow
async def test_definitions_of_the_addons_that_ship_are_taken_with_their_examples(kinds: Kinds) -> None:
    """In a group of their own, since others use the cluster too."""
    for shipped in find_addons([SHIPPED]).addons:
        of = replace(shipped, object=replace(shipped.object, group=kinds.group))
        definition = make_definition(of, read_spec_schema(of))
        try:
            await kinds.ensure(definition)
            (example,) = yaml.safe_load_all((shipped.directory / "example.yaml").read_text())
            path = f"/apis/{kinds.group}/v1alpha1/namespaces/default/{of.object.plural}"
            body = example | {"apiVersion": of.object.api_version, "metadata": {"name": "example"}}
            stored = orjson.loads(await kinds.client.send(ApiCall("POST", path, body=body)))
            assert (example.get("spec") or {}).items() <= (stored.get("spec") or {}).items()
        finally:
            await kinds.client.send(ApiCall("DELETE", f"{CRDS}/{of.object.crd_name}"))


async def test_specs_are_checked_at_once(kinds: Kinds) -> None:
    await kinds.ensure(kinds.definition())
    patches = [PATCH, {"target": TARGET, "jsonPatch": JSON_PATCH}]
    stored = await kinds.create(
        {"version": "1.14.6-rc.1+x", "channel": "", "patches": patches, "timeout": "1h30m", "updatePolicy": "notify"}
    )
    assert stored["spec"]["patches"] == patches
    assert stored["spec"]["dnsDomain"] == "cluster.local"
    refused: list[tuple[JSON, str]] = [
        ({"version": "../x"}, "spec.version"),
        ({"version": "1..2"}, "spec.version"),
        ({"version": "1" * 64}, "spec.version"),
        ({"channel": "Stable"}, "spec.channel"),
        ({"timeout": "ten"}, "spec.timeout"),
        ({"updatePolicy": "never"}, "spec.updatePolicy"),
        ({"adopt": "yes"}, "spec.adopt"),
        ({"replicas": 0}, "spec.replicas"),
        ({"patches": [PATCH | {"metadata": {}}]}, "a patch names its object"),
        ({"patches": [{key: value for key, value in PATCH.items() if key != "kind"}]}, "a patch names its object"),
        ({"patches": [{"jsonPatch": JSON_PATCH}]}, "a jsonPatch names its object"),
        ({"patches": [{"jsonPatch": JSON_PATCH, "target": {"kind": "A"}}]}, "a jsonPatch names its object"),
    ]
    for spec, part in refused:
        with pytest.raises(ApiError) as error:
            await kinds.create(spec, "other")
        assert error.value.status == 422, spec
        assert part in error.value.raw


async def test_status_is_shown_and_selected(kinds: Kinds) -> None:
    await kinds.ensure(kinds.definition())
    await kinds.create({})
    await kinds.create({}, "other")
    condition = {"type": "Ready", "status": "True", "reason": "Current", "message": "in sync"}
    status = {
        "healthy": True,
        "errors": [],
        "phase": "Current",
        "observedGeneration": 1,
        "version": "1.14.6",
        "objects": {"total": 6, "current": 5, "ready": "5/6"},
        "lastHealthy": {"version": "1.14.6", "revision": 1, "time": "2026-01-01T00:00:00Z"},
        "conditions": [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    live = await kinds.client.get(f"{kinds.objects}/default")
    await kinds.client.send(ApiCall("PUT", f"{kinds.objects}/default/status", body=live | {"status": status}))
    assert (await kinds.client.get(f"{kinds.objects}/default"))["status"] == status
    for field in ("phase%3DCurrent", "version%3D1.14.6"):
        selected = await kinds.client.get(f"{kinds.objects}?fieldSelector=status.{field}")
        assert [item["metadata"]["name"] for item in selected["items"]] == ["default"]


async def test_definition_replaces_that_of_upstream_and_keeps_its_objects(kinds: Kinds) -> None:
    opened = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": opened, "status": opened}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    upstream = kinds.definition()
    upstream["spec"] |= {"versions": [version], "names": {"kind": "CoreDNS", "listKind": "CoreDNSList"}}
    upstream["spec"]["names"] |= {"plural": "coredns", "singular": "coredns"}
    upstream["metadata"]["annotations"] = {"controller-gen.kubebuilder.io/version": "v0.2.5"}
    await kinds.ensure(upstream)
    await kinds.create({"corefile": ".:53 {}", "patches": [PATCH], "channel": "stable"})
    await kinds.ensure(kinds.definition())
    definition = await kinds.client.get(kinds.path)
    assert definition["metadata"]["annotations"] == upstream["metadata"]["annotations"]
    assert definition["spec"]["versions"][0]["subresources"] == {"status": {}}
    expected = {"patches": [PATCH], "channel": "stable", "dnsDomain": "cluster.local"}
    # an API server uses a changed definition a moment after it has accepted it, and says nowhere when
    await until_is(lambda: read_spec(kinds), expected, "the spec")


async def read_spec(kinds: Kinds) -> JSON:
    return (await kinds.client.get(f"{kinds.objects}/default"))["spec"]


async def test_kubectl_shows_the_columns(in_cluster: Kinds, cluster: Cluster) -> None:
    await in_cluster.ensure(in_cluster.definition())
    await in_cluster.create({})
    get = ("get", f"coredns.{in_cluster.group}", "-n", "default")
    header, *_ = (await asyncio.to_thread(cluster.kubectl, *get)).splitlines()
    assert header.split() == ["NAME", "VERSION", "PHASE", "HEALTHY", "OBJECTS", "UPDATE", "UNMANAGED", "AGE"]
    header, *_ = (await asyncio.to_thread(cluster.kubectl, *get, "-o", "wide")).splitlines()
    assert header.split()[-2:] == ["CHANNEL", "MESSAGE"]


async def test_unmanaged_instance_is_shown_as_such(in_cluster: Kinds, cluster: Cluster) -> None:
    await in_cluster.ensure(in_cluster.definition())
    await in_cluster.create({})
    name = f"coredns.{in_cluster.group}/default"
    await asyncio.to_thread(cluster.kubectl, "annotate", name, "-n", "default", "hookrunner.io/unmanaged=true")
    _, row = (await asyncio.to_thread(cluster.kubectl, "get", name, "-n", "default")).splitlines()
    assert row.split()[1] == "true"
