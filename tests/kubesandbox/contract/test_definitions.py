"""Definitions over time: names that are taken, schemas that change, what goes with a definition.

Level: control plane."""

import secrets
from typing import Any

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import CustomKind, at, crd


def path(kind: CustomKind) -> str:
    return at("customresourcedefinitions", name=kind.name)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_a_schema_that_becomes_stricter_holds_for_the_next_write(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats", schema=schema(color={"type": "string"}))
    api.post(kind.path(ns), kind.object(name, spec={"color": "green"}))
    stricter = [
        {
            "op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/enum",
            "value": ["red"],
        }
    ]
    api.patch(path(kind), stricter, "json-patch")
    until(
        lambda: (
            api.request("POST", kind.path(ns) + "?dryRun=All", kind.object("x", spec={"color": "blue"})).status == 422
        )
    )
    assert api.get(kind.path(ns, name))["spec"] == {"color": "green"}


def test_a_field_that_is_new_in_the_schema_is_kept_from_then_on(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats", schema=schema(color={"type": "string"}))
    created = api.post(kind.path(ns), kind.object(name, spec={"color": "red", "size": 3}))
    assert created["spec"] == {"color": "red"}
    wider = [
        {
            "op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size",
            "value": {"type": "integer"},
        }
    ]
    api.patch(path(kind), wider, "json-patch")
    kept = {"color": "red", "size": 3}
    until(lambda: api.patch(kind.path(ns, name), {"spec": {"size": 3}})["spec"] == kept)


def test_a_version_that_is_served_no_more_is_not_found(api: Api, ns: str) -> None:
    free = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": each, "served": True, "storage": each == "v1", "schema": free} for each in ("v1", "v2")]
    kind = api.crd("cats", versions=versions)
    api.patch(path(kind), [{"op": "replace", "path": "/spec/versions/1/served", "value": False}], "json-patch")
    until(lambda: api.request("GET", kind.path(ns, version="v2")).status == 404)
    until(lambda: api.request("GET", kind.path(ns)).status == 200)


def test_a_version_that_is_new_is_served(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats")
    api.post(kind.path(ns), kind.object(name, spec={"a": 1}))
    free = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v2", "served": True, "storage": False, "schema": free}
    api.patch(path(kind), [{"op": "add", "path": "/spec/versions/-", "value": version}], "json-patch")
    until(lambda: api.request("GET", kind.path(ns, name, version="v2")).status == 200)
    assert api.get(kind.path(ns, name, version="v2"))["apiVersion"] == f"{kind.group}/v2"


def test_a_deleted_definition_is_terminating_first(api: Api) -> None:
    kind = api.crd("cats")
    answer = api.delete(path(kind))
    assert answer["metadata"]["deletionTimestamp"]
    assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]


def test_custom_objects_go_with_their_definition(api: Api, ns: str, name: str) -> None:
    group, plural = f"g{secrets.token_hex(4)}.example.com", "cats"
    kind = CustomKind(group, plural, "Cat")
    api.post(at("customresourcedefinitions"), crd(group, plural))
    until(lambda: api.request("GET", kind.path(ns)).status == 200)
    api.post(kind.path(ns), kind.object(name))
    api.delete(path(kind))
    until(lambda: api.request("GET", path(kind)).status == 404)
    api.post(at("customresourcedefinitions"), crd(group, plural))
    until(lambda: api.request("GET", kind.path(ns)).status == 200)
    assert api.get(kind.path(ns))["items"] == []
    api.delete(path(kind))


def test_a_watch_sees_a_definition_become_established(api: Api) -> None:
    start = api.get(at("customresourcedefinitions") + "?limit=1")["metadata"]["resourceVersion"]
    group = f"g{secrets.token_hex(4)}.example.com"
    name = f"cats.{group}"
    asked = f"?watch=1&resourceVersion={start}&fieldSelector=metadata.name={name}"
    with api.watch(at("customresourcedefinitions") + asked) as events:
        api.post(at("customresourcedefinitions"), crd(group, "cats"))
        conditions = (event["object"].get("status", {}).get("conditions") or [] for event in events)
        assert any(each["type"] == "Established" and each["status"] == "True" for told in conditions for each in told)
    api.delete(at("customresourcedefinitions", name=name))
