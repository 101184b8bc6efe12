"""The forms in which objects are shown: YAML, tables, metadata alone, pretty. Level: control plane."""

import json
from typing import Any

import pytest
import yaml

from tests.kubesandbox.contract.api import Api, Reply
from tests.kubesandbox.contract.objects import at, config_map, pod
from tests.tables import each

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def table(api: Api, path: str, query: str = "") -> dict[str, Any]:
    reply = api.request("GET", path + query, headers=TABLE)
    assert (reply.status, reply.body["kind"], reply.body["apiVersion"]) == (200, "Table", "meta.k8s.io/v1")
    body: dict[str, Any] = reply.body
    return body


@pytest.fixture
def maps(api: Api, ns: str, name: str) -> str:
    """The path of a ConfigMap."""
    api.post(at("configmaps", ns), config_map(name, {"a": "b", "c": "d"}))
    return at("configmaps", ns, name)


def test_yaml_is_the_same_object(api: Api, maps: str) -> None:
    reply = api.request("GET", maps, headers={"Accept": "application/yaml"})
    assert reply.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(reply.body) == api.get(maps) | {
        "metadata": yaml.safe_load(json.dumps(api.get(maps)["metadata"]))
    }


def test_a_refusal_is_sent_as_yaml_too(api: Api, maps: str) -> None:
    reply = api.request("GET", maps + "-none", headers={"Accept": "application/yaml"})
    assert (reply.status, yaml.safe_load(reply.body)["reason"]) == (404, "NotFound")


def test_json_says_so(api: Api, maps: str) -> None:
    assert api.request("GET", maps).headers["Content-Type"] == "application/json"


@each(("query", "pretty"), [("", False), ("?pretty=true", True), ("?pretty=false", False)])
def test_pretty_is_for_who_asks(api: Api, maps: str, query: str, pretty: bool) -> None:
    reply = api.request("GET", maps + query, headers={"Accept": "application/json"})
    assert (int(reply.headers["Content-Length"]) > len(json.dumps(reply.body))) is pretty


def test_a_table_has_columns_and_a_row_for_each_object(api: Api, ns: str, maps: str, name: str) -> None:
    shown = table(api, at("configmaps", ns), f"?fieldSelector=metadata.name={name}")
    assert [(column["name"], column["type"], column["format"]) for column in shown["columnDefinitions"]] == [
        ("Name", "string", "name"),
        ("Data", "string", ""),
        ("Age", "string", ""),
    ]
    assert [row["cells"][:2] for row in shown["rows"]] == [[name, 2]]


def test_a_rows_object_is_its_metadata(api: Api, maps: str) -> None:
    (row,) = table(api, maps)["rows"]
    assert (row["object"]["kind"], row["object"]["metadata"]) == (
        "PartialObjectMetadata",
        api.get(maps)["metadata"],
    )


@each(("value", "kind"), [("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")])
def test_a_rows_object_is_as_asked_for(api: Api, maps: str, value: str, kind: str) -> None:
    (row,) = table(api, maps, f"?includeObject={value}")["rows"]
    assert row["object"]["kind"] == kind


def test_a_rows_object_may_be_left_out(api: Api, maps: str) -> None:
    (row,) = table(api, maps, "?includeObject=None")["rows"]
    assert row.get("object") is None


def test_an_unknown_choice_of_a_rows_object_is_refused(api: Api, maps: str) -> None:
    assert api.request("GET", maps + "?includeObject=Everything", headers=TABLE).status == 400


def test_a_table_comes_in_pages(api: Api) -> None:
    path = at("configmaps", api.namespace())
    for name in "abc":
        api.post(path, config_map(name))
    first = table(api, path, "?limit=2")
    assert first["metadata"]["remainingItemCount"] == 1
    rest = table(api, path, f"?limit=2&continue={first['metadata']['continue']}")
    assert [row["cells"][0] for row in rest["rows"]] == ["c"]


def test_a_deletion_in_a_table(api: Api, ns: str, name: str) -> None:
    api.post(at("pods", ns), pod(name))
    reply: Reply = api.request("DELETE", at("pods", ns, name), headers=TABLE)
    assert (reply.status, reply.body["kind"]) == (200, "Table")


def test_a_creation_in_a_table(api: Api, ns: str, name: str) -> None:
    reply = api.request("POST", at("configmaps", ns), config_map(name), headers=TABLE)
    assert (reply.status, reply.body["rows"][0]["cells"][0]) == (201, name)


AS = "as={};g=meta.k8s.io;v={}"
EMPTY = {
    "application/json": "[]",
    "application/yaml": "[]",
    f"application/json;{AS.format('Table', 'v1')}": "[]",
    f"application/json;{AS.format('PartialObjectMetadataList', 'v1')}": "null",
    f"application/json;{AS.format('PartialObjectMetadataList', 'v1beta1')}": "null",
    f"application/yaml;{AS.format('PartialObjectMetadataList', 'v1')}": "null",
}


@each("query", ["", "?limit=1", "?resourceVersion=0", "?labelSelector=a=b"])
def test_a_list_of_the_metadata_of_no_objects_is_null(api: Api, ns: str, query: str) -> None:
    """And all others are empty. Clients trip over it."""
    for path in (at("persistentvolumeclaims", ns), api.kind().path(ns)):
        shown = {}
        for accept in EMPTY:
            reply = api.request("GET", path + query, headers={"Accept": accept})
            body = yaml.safe_load(reply.body) if "yaml" in accept else reply.body
            shown[accept] = json.dumps(body["rows" if "Table" in accept else "items"])
        assert shown == EMPTY


FORMS = {
    "application/json": "PersistentVolumeClaim",
    f"application/json;{AS.format('PartialObjectMetadata', 'v1')}": "PartialObjectMetadata",
    f"application/json;{AS.format('Table', 'v1')}": "Table",
}


@pytest.mark.parametrize("accept", FORMS)
def test_a_streamed_list_of_nothing_is_its_end(api: Api, ns: str, accept: str) -> None:
    query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(at("persistentvolumeclaims", ns) + query, accept) as events:
        first = next(events)
    assert (first["type"], first["object"]["kind"]) == ("BOOKMARK", FORMS[accept])
    assert "items" not in first["object"]
