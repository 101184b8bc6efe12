"""Discovery: which groups, versions and kinds there are, told in three ways; and OpenAPI, which tells their fields.

Level: control plane."""

import json
from typing import Any

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import GROUPS
from tests.tables import each

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
WANTED = [
    "v1",
    "apps/v1",
    "batch/v1",
    "rbac.authorization.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "storage.k8s.io/v1",
    "coordination.k8s.io/v1",
    "events.k8s.io/v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
]


def root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def aggregated(api: Api, path: str) -> list[dict[str, Any]]:
    reply = api.request("GET", path, headers={"Accept": AGGREGATED})
    assert (reply.status, reply.body["kind"]) == (200, "APIGroupDiscoveryList")
    items: list[dict[str, Any]] = reply.body["items"]
    return items


def resources(api: Api, version: str) -> dict[str, dict[str, Any]]:
    """Those of a group by name, without what is a hash of the server's own."""
    listed = api.get(root(version))["resources"]
    return {one["name"]: {key: one[key] for key in one if key != "storageVersionHash"} for one in listed}


def test_the_core_versions(api: Api) -> None:
    versions = api.get("/api")
    assert (versions["kind"], versions["versions"]) == ("APIVersions", ["v1"])


def test_the_list_of_groups(api: Api) -> None:
    groups = api.get("/apis")
    assert groups["kind"] == "APIGroupList"
    listed = {version["groupVersion"] for group in groups["groups"] for version in group["versions"]}
    assert set(WANTED[1:]) <= listed


@each("version", WANTED[1:])
def test_a_group_lists_its_versions(api: Api, version: str) -> None:
    group = version.partition("/")[0]
    told = api.get(f"/apis/{group}")
    preferred = {"groupVersion": version, "version": "v1"}
    assert (told["kind"], told["name"], told["preferredVersion"]) == ("APIGroup", group, preferred)
    assert preferred in told["versions"]


def test_a_group_version_is_a_list_of_resources(api: Api) -> None:
    told = api.get("/apis/apps/v1")
    assert (told["kind"], told["apiVersion"], told["groupVersion"]) == ("APIResourceList", "v1", "apps/v1")


def test_the_older_aggregated_form_is_served_to_who_asks_for_plain_too(api: Api) -> None:
    """As kubectl asks: aggregated if possible, else plain."""
    reply = api.request("GET", "/apis", headers={"Accept": f"{AGGREGATED},application/json"})
    assert reply.body["kind"] == "APIGroupDiscoveryList"
    assert reply.headers["Content-Type"] == AGGREGATED


def test_the_version_of_the_server(api: Api) -> None:
    assert {"major", "minor", "gitVersion", "platform"} <= set(api.get("/version"))


@each("path", ["/healthz", "/livez", "/readyz"])
def test_it_is_healthy(api: Api, path: str) -> None:
    reply = api.request("GET", path)
    assert (reply.status, reply.body) == (200, "ok")


def test_the_kinds_of_this_suite_are_where_it_takes_them_for(api: Api) -> None:
    for version, plurals in GROUPS.items():
        assert set(plurals.split()) <= set(resources(api, version)), version


def test_a_custom_kind_appears_with_all_its_names(api: Api) -> None:
    names = {"plural": "cats", "singular": "cat", "kind": "Cat", "shortNames": ["ct"], "categories": ["all", "pets"]}
    kind = api.crd("cats", names=names)
    (found,) = resources(api, f"{kind.group}/v1").values()
    assert found | {"verbs": sorted(found["verbs"])} == {
        "name": "cats",
        "singularName": "cat",
        "namespaced": True,
        "kind": "Cat",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["ct"],
        "categories": ["all", "pets"],
    }


def test_a_custom_kinds_subresources_appear(api: Api) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": paths},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    kind = api.crd("dogs", versions=[version], scope="Cluster")
    found = resources(api, f"{kind.group}/v1")
    assert (found["dogs"]["namespaced"], found["dogs/status"]["kind"]) == (False, "Dog")
    assert found["dogs/scale"] | {"verbs": sorted(found["dogs/scale"]["verbs"])} == {
        "name": "dogs/scale",
        "singularName": "",
        "namespaced": False,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }


def test_a_custom_kind_goes_with_its_definition(api: Api) -> None:
    kind = api.crd("fishes")
    api.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind.name}")
    until(lambda: api.request("GET", f"/apis/{kind.group}/v1").status == 404)
    until(lambda: kind.group not in json.dumps(api.get("/apis")))


def test_openapi_has_a_document_for_each_version(api: Api) -> None:
    paths = api.get("/openapi/v3")["paths"]
    assert {root(version).lstrip("/") for version in WANTED} <= set(paths)
    assert all(each["serverRelativeURL"].startswith("/openapi/v3/") for each in paths.values())


def is_of(schema: dict[str, Any], version: str, kind: str) -> bool:
    group, _, name = version.rpartition("/")
    return {"group": group, "kind": kind, "version": name} in schema.get("x-kubernetes-group-version-kind", [])


def test_openapi_describes_a_custom_kind(api: Api) -> None:
    spec = {"type": "object", "properties": {"color": {"type": "string", "description": "of the fur"}}}
    kind = api.crd("sheeps", schema={"type": "object", "properties": {"spec": spec}})
    path = f"apis/{kind.group}/v1"
    found = until(lambda: api.get("/openapi/v3")["paths"].get(path))
    schemas = api.get(found["serverRelativeURL"])["components"]["schemas"]
    (schema,) = [each for each in schemas.values() if is_of(each, f"{kind.group}/v1", "Sheep")]
    assert schema["properties"]["spec"] == spec
    assert {"apiVersion", "kind", "metadata"} <= set(schema["properties"])
