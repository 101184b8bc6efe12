"""Who owns a field, by managed fields, and whether it differs, as tables. Level: pure."""

import asyncio
from typing import Any

import pytest

from hookrunner.errors import Denied
from hookrunner.releases.drift_checks import RecheckQueue, changed_fields
from hookrunner.releases.manifest_objects import ObjectId
from tests.tables import each

JSON = Any


def entry(fields: JSON, manager: str = "helm", operation: str = "Apply", subresource: str = "") -> JSON:
    found = {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return found | ({"subresource": subresource} if subresource else {})


@pytest.mark.looptime
async def test_an_object_that_may_not_be_read_is_tried_less_and_less_often_until_it_is_read() -> None:
    queue, key = RecheckQueue(), ObjectId("v1", "Pod", "", "a")
    pauses = list[float]()
    for _ in range(7):
        before = asyncio.get_running_loop().time()
        queue.retry(key, Denied(403, "Forbidden", "no right to do this"))
        await queue.take()
        pauses.append(asyncio.get_running_loop().time() - before)
        if len(pauses) == 5:
            queue.forget(key)
    assert pauses == [5, 10, 20, 40, 60, 5, 10]


def obj(spec: JSON, kind: str = "Deployment", **more: JSON) -> JSON:
    return {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec} | more


def found(applied: JSON, live: JSON, *entries: JSON, generation: int = 1) -> tuple[str, ...]:
    """With the whole object, which is read only if metadata alone tells something."""
    metadata = {"name": "x", "generation": generation, "managedFields": list(entries)}
    changed = changed_fields(applied, metadata, live | {"metadata": live["metadata"] | metadata})
    assert changed_fields(applied, metadata) or not changed
    return changed


REPLICAS = entry({"f:spec": {"f:replicas": {}}})
NONE = entry({})
BY_HPA = entry({"f:spec": {"f:replicas": {}}}, "kube-controller-manager", "Update", "scale")
BY_KUBECTL = entry({"f:spec": {"f:replicas": {}}}, "kubectl", "Update", "scale")
IN_STATUS = entry({"f:spec": {"f:replicas": {}}}, "helm", "Update", "status")


@each(
    ("entries", "changed"),
    [
        ([REPLICAS], ()),
        ([entry({"f:spec": {"f:replicas": {}}}, operation="Update")], ()),
        ([entry({"f:spec": {}})], ()),
        ([BY_HPA], ()),
        ([BY_KUBECTL], ("/spec/replicas",)),
        ([IN_STATUS], ("/spec/replicas",)),
        ([entry({"f:spec": {"f:replicas": {}}}, "kubectl-edit", "Update")], ("/spec/replicas",)),
        ([], ("/spec/replicas",)),
    ],
)
def test_a_field_with_another_value_was_changed_unless_we_or_an_autoscaler_set_it(
    entries: list[JSON], changed: tuple[str, ...]
) -> None:
    assert found(obj({"replicas": 2}), obj({"replicas": 5}), *entries) == changed


@each(
    ("applied", "live", "changed"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, ()),
        ({"a": 1}, {}, ("/spec/a",)),
        ({"a": 1}, {"a": True}, ("/spec/a",)),
        ({"a": 1}, {"a": 1.0}, ()),
        ({"a": None, "b": "", "c": {}, "d": [], "e": 0, "f": {"g": None}}, {}, ()),
        ({"e": 0}, {"e": 3}, ("/spec/e",)),
        ({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, ("/spec/a~1b/c~0d",)),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}}, ()),
        ({"limits": {"cpu": 1}}, {"limits": {"cpu": "1"}}, ()),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, ("/spec/limits/cpu",)),
        ({"limits": {"cpu": "one"}}, {"limits": {"cpu": "two"}}, ("/spec/limits/cpu",)),
        ({"text": "1000m"}, {"text": "1"}, ("/spec/text",)),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}, ("/spec/args",)),
        ({"args": ["a"]}, {"args": ["a", "b"]}, ("/spec/args",)),
        ({"c": [{"name": "a", "x": 1}]}, {"c": [{"name": "sidecar"}, {"name": "a", "x": 1, "y": 2}]}, ()),
        ({"c": [{"name": "a", "x": 1}]}, {"c": [{"name": "a", "x": 2}]}, ("/spec/c",)),
        ({"c": [{"name": {"x": 1}}]}, {"c": [{"name": {"x": 1}}]}, ()),
        ({"c": [{"name": "a"}]}, {"c": 7}, ("/spec/c",)),
        ({"c": {"name": "a"}}, {"c": "text"}, ("/spec/c/name",)),
        ({"webhook": {"caBundle": "Cg=="}}, {"webhook": {"caBundle": "LS0t"}}, ()),
    ],
)
def test_fields_of_others_count_as_changed_only_if_their_meaning_differs(
    applied: JSON, live: JSON, changed: tuple[str, ...]
) -> None:
    assert found(obj(applied), obj(live)) == changed


CONTAINER = {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}], "args": ["a"]}
OF_PORT: JSON = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
OF_CONTAINER: JSON = {".": {}, "f:name": {}, "f:image": {}, "f:ports": OF_PORT, "f:args": {}}
LIST = {"f:spec": {"f:containers": {'k:{"name":"web"}': OF_CONTAINER}}}
SIDECAR = {"name": "sidecar", "image": "x"}


def containers(*all_of_them: JSON) -> JSON:
    return obj({"containers": list(all_of_them)})


def without(*keys: str) -> JSON:
    kept = {key: below for key, below in OF_CONTAINER.items() if key not in keys}
    return entry({"f:spec": {"f:containers": {'k:{"name":"web"}': kept}}})


@each(
    ("live", "ours", "changed"),
    [
        ([SIDECAR, CONTAINER], entry(LIST), ()),
        ([SIDECAR, CONTAINER | {"image": "mirror/web:1"}], entry(LIST), ()),
        ([SIDECAR, CONTAINER | {"image": "web:2"}], without("f:image"), ("/spec/containers/0/image",)),
        ([SIDECAR, CONTAINER | {"args": []}], without("f:args"), ("/spec/containers/0/args",)),
        ([SIDECAR, CONTAINER], without("f:image"), ()),
        ([CONTAINER | {"ports": []}], without("f:ports"), ("/spec/containers/0/ports",)),
        ([SIDECAR], entry({"f:spec": {"f:containers": {'k:{"name":"x"}': {}}}}), ("/spec/containers/0",)),
        (None, NONE, ("/spec/containers",)),
        (7, entry(LIST), ("/spec/containers/0",)),
    ],
)
def test_items_of_lists_are_found_by_their_keys(live: JSON, ours: JSON, changed: tuple[str, ...]) -> None:
    there = obj({"containers": live}) if live else obj({})
    assert found(containers(CONTAINER), there, ours) == changed


@each(
    ("operation", "generation", "live", "changed"),
    [
        ("Apply", 2, {"args": ["mutated"]}, ()),
        ("Update", 1, {"args": ["mutated"]}, ()),
        ("Update", 2, {"args": ["a"]}, ()),
        ("Update", 2, {"args": ["b"]}, ("/spec/args",)),
        ("Update", 2, {}, ("/spec/args",)),
    ],
)
def test_a_list_that_was_applied_is_ours_and_one_that_was_created_is_compared_once_it_has_changed(
    operation: str, generation: int, live: JSON, changed: tuple[str, ...]
) -> None:
    ours = entry({"f:spec": {"f:args": {}}}, operation=operation)
    assert found(obj({"args": ["a"]}), obj(live), ours, generation=generation) == changed


def test_an_object_that_another_client_has_written_is_compared_whatever_its_generation() -> None:
    """Kinds such as Role have none."""
    ours, others = (
        entry({"f:spec": {"f:args": {}}}, operation="Update"),
        entry({"f:spec": {}}, "kubectl-edit", "Update"),
    )
    status = entry({"f:status": {}}, "kube-controller-manager", "Update", "status")
    assert found(obj({"args": ["a"]}), obj({"args": ["b"]}), ours, others) == ("/spec/args",)
    assert found(obj({"args": ["a"]}), obj({"args": ["b"]}), ours, status) == ()


def test_created_map_may_have_no_field_of_ours() -> None:
    """As the API server writes it once others have set all that is in the map."""
    others = entry({"f:spec": {"f:data": {"f:a": {}, "f:b": {}}}}, "kubectl-edit", "Update")
    ours = entry({"f:spec": {"f:data": {}}}, operation="Update")
    changed = found(obj({"data": {"a": 1, "b": 1}}), obj({"data": {"a": 2, "b": 1}}), ours, others)
    assert changed == ("/spec/data/a",)


def test_fields_set_by_the_server_are_not_compared() -> None:
    applied = obj({}, status={"a": 1})
    applied["metadata"] |= {"creationTimestamp": None, "uid": "1", "labels": {"a": "b"}, "finalizers": ["x"]}
    there = obj({}) | {"metadata": {"labels": {"a": "b"}, "finalizers": ["x", "y"]}}
    ours = entry({"f:metadata": {"f:finalizers": {'v:"x"': {}}}})
    assert found(applied, there, ours) == ()
    there["metadata"]["labels"] = {}
    assert found(applied, there, ours) == ("/metadata/labels/a",)


@each(("data", "changed"), [("c2VjcmV0", ()), ("b3RoZXI=", ("/data/a",))])
def test_texts_of_a_secret_are_compared_with_its_data(data: str, changed: tuple[str, ...]) -> None:
    applied = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "secret"}}
    live = {"metadata": {}, "data": {"a": data}}
    assert found(applied, live, NONE) == changed


OWNER = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "DNS", "name": "x", "uid": "u-1", "controller": True}
OWNED: JSON = {"f:metadata": {"f:ownerReferences": {".": {}, 'k:{"uid":"u-1"}': {}}}}


@each(
    ("entries", "changed"),
    [
        ([entry(OWNED)], ()),
        ([entry(OWNED, operation="Update")], ()),
        ([entry(OWNED, "kubectl-edit", "Update")], ("/metadata/ownerReferences",)),
        ([], ("/metadata/ownerReferences",)),
    ],
)
def test_owner_reference_is_ours_as_a_whole_and_read_only_if_another_client_has_set_it(
    entries: list[JSON], changed: tuple[str, ...]
) -> None:
    applied = {"metadata": {"name": "x", "ownerReferences": [OWNER]}}
    live = {"metadata": {"name": "x", "ownerReferences": [OWNER | {"controller": False}], "managedFields": entries}}
    assert changed_fields(applied, live["metadata"], live) == changed
    assert bool(changed_fields(applied, live["metadata"])) == bool(changed)
