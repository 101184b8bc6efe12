"""What becomes of given objects: the operations of hooks, carried out on a sandbox. Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadInput
from hookrunner.hooks import patches
from hookrunner.model.operations import ObjectOperation, Verb
from hookrunner.testing.bench import Bench
from hookrunner.testing.display import patch_document
from hookrunner.testing.effects import compute_effects
from hookrunner.testing.results import Effects
from tests.fakes.cluster import namespace
from tests.fakes.objects import config_map, definition, with_uid
from tests.tables import each

A, B = with_uid(config_map("a", x="1")), config_map("b", x="2")
MOUSE = {"apiVersion": "zoo.io/v1", "kind": "Mouse", "metadata": {"name": "m", "namespace": "z"}, "spec": {"tail": 1}}


async def done(tools: Bench, objects: list[Any], *documents: dict[str, Any]) -> Effects:
    operations: tuple[ObjectOperation, ...] = patches.parse(b"\n".join(map(orjson.dumps, documents)))
    return await compute_effects(objects, operations, tools.jq)


def names(found: Effects) -> list[str]:
    return [f"{obj['kind']}/{obj['metadata']['name']}" for obj in found.objects]


async def test_each_change_is_reported_with_its_before_and_after(tools: Bench) -> None:
    found = await done(
        tools,
        [A, B],
        {"operation": "Create", "object": config_map("c", x="3")},
        {
            "operation": "MergePatch",
            "kind": "cm",
            "namespace": "default",
            "name": "a",
            "mergePatch": {"data": {"x": "9"}},
        },
        {"operation": "DeleteInBackground", "kind": "ConfigMap", "namespace": "default", "name": "b"},
    )
    states = [[obj and obj["data"]["x"] for obj in change] for change in found.changes]
    assert (states, names(found), found.refusal) == (
        [["1", "9"], ["2", None], [None, "3"]],
        ["ConfigMap/a", "ConfigMap/c"],
        "",
    )


async def test_deletions_mean_given_objects_by_their_uid_and_version(tools: Bench) -> None:
    given = {**A, "metadata": {**A["metadata"], "resourceVersion": "4711"}}
    delete = {"operation": "Delete", "kind": "cm", "namespace": "default", "name": "a"}
    patch = {**delete, "operation": "MergePatch", "mergePatch": {"data": {"x": "9"}}}
    meant = delete | {"uid": A["metadata"]["uid"], "resourceVersion": "4711"}
    assert names(await done(tools, [given], delete | {"uid": "another"})) == ["ConfigMap/a"]
    assert names(await done(tools, [given], meant)) == []
    for stale in ([patch, meant], [delete | {"resourceVersion": "1"}]):
        found = await done(tools, [given], *stale)
        assert names(found) == ["ConfigMap/a"]
        assert "in the precondition" in found.refusal


async def test_no_operations_leave_objects_unchanged(tools: Bench) -> None:
    found = await done(tools, [A])
    metadata = {"name": "a", "namespace": "default"}
    assert found.objects == [{**A, "metadata": metadata}]
    assert found.changes == []


async def test_jq_patch_and_server_side_apply_are_carried_out(tools: Bench) -> None:
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": A["metadata"] | {"labels": {"l": "1"}}}
    del wanted["metadata"]["uid"]
    found = await done(
        tools,
        [A],
        {"operation": "JQPatch", "kind": "ConfigMap", "namespace": "default", "name": "a", "jqFilter": '.data.y = "2"'},
        {"operation": "Apply", "object": wanted},
    )
    (after,) = found.objects
    assert (after["data"], after["metadata"]["labels"]) == ({"x": "1", "y": "2"}, {"l": "1"})


async def test_incomplete_object_can_be_given_and_changed(tools: Bench) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}
    assert names(await done(tools, [pod])) == ["Pod/p"]
    target = {"kind": "Pod", "namespace": "n", "name": "p"}
    patch = {"operation": "MergePatch", **target, "mergePatch": {"metadata": {"labels": {"a": "b"}}}}
    assert (await done(tools, [pod], patch)).refusal == ""
    found = await done(tools, [pod], {"operation": "Delete", **target})
    assert (names(found), found.refusal) == ([], "")


async def test_incomplete_object_excuses_only_its_missing_fields(tools: Bench) -> None:
    metadata = {"name": "d", "namespace": "n"}
    half = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    target = {"operation": "MergePatch", "kind": "Deployment", **metadata}
    refusal = (await done(tools, [half], target | {"mergePatch": {"spec": {"replicas": -1}}})).refusal
    assert "spec.replicas: Invalid value: must be greater than or equal to 0" in refusal
    assert "spec.selector" not in refusal


async def test_refused_operation_is_reported_and_others_are_carried_out(tools: Bench) -> None:
    patch = {"operation": "MergePatch", "kind": "Secret", "namespace": "n", "name": "no", "mergePatch": {"data": {}}}
    found = await done(tools, [A], {"operation": "Create", "object": A}, patch, {"operation": "Create", "object": B})
    assert names(found) == ["ConfigMap/a", "ConfigMap/b"]
    assert 'configmaps "a" already exists' in found.refusal
    assert 'secrets "no" not found' in found.refusal


async def test_an_undefined_custom_kind_takes_any_fields(tools: Bench) -> None:
    status = {"operation": "MergePatch", "kind": "Mouse", "namespace": "z", "name": "m", "subresource": "status"}
    found = await done(
        tools,
        [MOUSE],
        status | {"mergePatch": {"status": {"fed": True}}},
        {"operation": "Create", "object": {**MOUSE, "kind": "Cat", "metadata": {"name": "c"}}},
    )
    assert found.refusal == ""
    assert [(obj["kind"], obj.get("status")) for obj in found.objects] == [("Cat", None), ("Mouse", {"fed": True})]


async def test_given_definition_validates_its_kind(tools: Bench) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"tail": {"type": "integer"}}}}}
    names = {"kind": "Mouse", "plural": "mice", "singular": "mouse", "listKind": "MouseList"}
    mice = definition("zoo.io", "Mouse", "v1", schema=schema, names=names, conversion={"strategy": "None"})
    target = {"operation": "MergePatch", "kind": "mice", "namespace": "z", "name": "m"}
    found = await done(tools, [MOUSE, mice], target | {"mergePatch": {"spec": {"tail": "long"}}})
    assert "spec.tail: Invalid value" in found.refusal


async def test_new_namespace_has_the_label_with_its_name(tools: Bench) -> None:
    label = {
        "operation": "MergePatch",
        "kind": "Namespace",
        "name": "n",
        "mergePatch": {"metadata": {"labels": {"a": "b"}}},
    }
    ((before, after),) = (await done(tools, [namespace("n")], label)).changes
    assert before["metadata"] == {"name": "n", "labels": {}}
    unlabelled = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    ((_, other),) = (await done(tools, [unlabelled], label)).changes
    assert other["metadata"]["labels"] == {"a": "b"}
    assert after["metadata"] == {"name": "n", "labels": {"a": "b"}}
    assert "spec" not in after


async def test_defaults_are_shown_only_where_they_changed(tools: Bench) -> None:
    spec = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n"},
        "spec": spec,
    }
    patch = {"spec": {"replicas": 3, "template": {"spec": {"restartPolicy": "Always"}}}}
    target = {"operation": "MergePatch", "kind": "Deployment", "namespace": "n", "name": "d"}
    selected = {**spec, "selector": {"matchLabels": {"a": "b"}}}
    selected["template"] = {**spec["template"], "metadata": {"labels": {"a": "b"}}}
    found = await done(tools, [deployment | {"spec": selected}], target | {"mergePatch": patch})
    assert found.refusal == ""
    ((before, after),) = found.changes
    assert before["spec"] == selected
    assert after["spec"] == {**selected, "replicas": 3}


async def test_an_object_with_a_field_of_another_type_is_refused(tools: Bench) -> None:
    with pytest.raises(BadInput, match="ConfigMap a: "):
        await done(tools, [A | {"data": ["x"]}])


async def test_object_without_a_kind_is_refused(tools: Bench) -> None:
    with pytest.raises(BadInput, match="x: there is no kind v1 Deployment; is its apiVersion"):
        await done(tools, [{"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "x"}}])


async def test_generated_names_are_reproducible(tools: Bench) -> None:
    metadata = {"generateName": "x-", "namespace": "default"}
    found = await done(tools, [], {"operation": "Create", "object": {**A, "metadata": metadata}})
    assert [obj["metadata"] for obj in found.objects] == [{**metadata, "name": "x-?????"}]
    assert found.changes[0][1] == found.objects[0]


@each("verb", Verb)
def test_operation_that_is_shown_reads_as_the_same_operation(verb: Verb) -> None:
    body = {"object": config_map("a", color="red"), "mergePatch": {"data": {"color": "red"}}, "jqFilter": "."}
    document = {"operation": verb, "kind": "ConfigMap", "name": "a", "uid": "u-1", "resourceVersion": "7", **body}
    step = {"op": "add", "path": "/data", "value": {}}
    (operation,) = patches.parse(orjson.dumps(document | {"jsonPatch": [step]}))
    assert patches.parse(orjson.dumps(patch_document(operation))) == (operation,)
