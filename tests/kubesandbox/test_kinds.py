"""Built-in kinds: what the data says, that a real API server says the same, and that unused data costs nothing.

Level: control plane."""

import gzip
import re
from pathlib import Path

import pytest

from kubesandbox.kinds import Kind, Kinds, builtin
from kubetypes.openapi.schemas import Schema
from tests.controlplane.cluster import Cluster
from tests.controlplane.kinds_data import BUILTIN, CUSTOM, generate
from tests.tables import each


def pods() -> Kind:
    found = Kinds(builtin()).get("", "v1", "pods")
    assert found is not None
    return found


def test_data_is_what_the_real_api_server_says(cluster: Cluster) -> None:
    found = generate(cluster.access)
    kept = {
        file.name.removesuffix(".gz"): gzip.decompress(file.read_bytes())
        for folder in (BUILTIN, CUSTOM)
        for file in (*folder.glob("*_*.json.gz"), *folder.glob("kinds.json.gz"))
    }
    different = [name for name in found.keys() | kept.keys() if found.get(name) != kept.get(name)]
    assert different == [], "run python -m tests.controlplane.kinds_data"


def test_a_built_in_kind_has_its_names_scope_and_columns() -> None:
    kind = pods()
    assert (kind.kind, kind.singular, kind.short_names, kind.categories) == ("Pod", "pod", ("po",), ("all",))
    assert (kind.api_version, kind.stored, kind.namespaced, kind.custom) == ("v1", "pods", True, False)
    assert [column["name"] for column in kind.columns][:5] == ["Name", "Ready", "Status", "Restarts", "Age"]


@each(
    ("api_version", "kind", "stored"),
    [
        ("v1", "Namespace", "namespaces"),
        ("apps/v1", "Deployment", "deployments.apps"),
        ("batch/v1", "CronJob", "cronjobs.batch"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles.rbac.authorization.k8s.io"),
        ("networking.k8s.io/v1", "Ingress", "ingresses.networking.k8s.io"),
        ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets.policy"),
        ("storage.k8s.io/v1", "StorageClass", "storageclasses.storage.k8s.io"),
        ("coordination.k8s.io/v1", "Lease", "leases.coordination.k8s.io"),
        ("events.k8s.io/v1", "Event", "events.events.k8s.io"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers.autoscaling"),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "customresourcedefinitions.apiextensions.k8s.io",
        ),
    ],
)
def test_a_manifest_finds_its_kind(api_version: str, kind: str, stored: str) -> None:
    kinds = Kinds(builtin())
    found = kinds.of_kind(api_version, kind)
    assert found is not None
    assert found.stored == stored
    assert kinds.of_stored(stored) is found


def test_what_the_sandbox_cannot_do_has_no_verbs() -> None:
    below = pods().subresources
    assert {name for name, one in below.items() if one.served} == {"status", "eviction", "binding"}
    assert {"exec", "log", "attach", "portforward", "proxy"} < below.keys()
    bindings = Kinds(builtin()).get("", "v1", "bindings")
    assert bindings is not None
    assert not bindings.served


def test_the_page_names_all_that_is_refused() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
    listed = re.search(r"\*\*Refused\*\*: (.*?)\n\n", page, re.DOTALL)
    assert listed is not None
    below = {name for kind in builtin() for name, one in kind.subresources.items() if not one.served}
    refused = below | {kind.plural for kind in builtin() if not kind.served}
    assert {name for name in refused if f"`{name}`" not in listed[1]} == set()


def test_a_scale_has_the_schema_of_scales() -> None:
    deployments = Kinds(builtin()).get("apps", "v1", "deployments")
    assert deployments is not None
    scale = deployments.subresources["scale"]
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")
    assert set(scale.schema.properties["spec"].properties) == {"replicas"}


def test_a_schema_is_followed_through_references() -> None:
    containers = pods().schema.properties["spec"].properties["containers"]
    assert (containers.list_map_keys, containers.patch_merge_key) == (("name",), "name")
    assert containers.items is not None
    assert containers.items.properties["ports"].list_map_keys == ("containerPort", "protocol")


def test_every_served_kind_has_a_schema_with_metadata() -> None:
    assert [kind.stored for kind in builtin() if "metadata" not in kind.schema.properties] == []


def test_an_unused_reference_is_not_resolved() -> None:
    schema = Schema({"properties": {"broken": {"$ref": "#/components/schemas/missing"}}}, {})
    assert schema.properties["broken"].name == "missing"
    with pytest.raises(KeyError):
        assert schema.properties["broken"].raw


def test_a_definition_adds_replaces_and_removes_kinds() -> None:
    kinds = Kinds(builtin())
    first = Kind("example.com", "v1", "Thing", "things", True)
    second = Kind("example.com", "v2", "Thing", "things", True)
    kinds.replace("example.com", "things", [first])
    kinds.replace("example.com", "things", [second])
    assert kinds.get("example.com", "v1", "things") is None
    assert kinds.of_kind("example.com/v2", "Thing") is second
    kinds.replace("example.com", "things", [])
    assert kinds.of_stored("things.example.com") is None
    assert pods() in list(kinds)
