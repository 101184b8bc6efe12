"""Patch files as operations, or as the error that names the document. Whole files: tests/contract. Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.patches import parse
from hookrunner.model.operations import ObjectOperation, Verb
from tests.tables import each


def parse_one(**document: Any) -> ObjectOperation:
    (operation,) = parse(orjson.dumps(document))
    return operation


def refusal(text: str | bytes) -> str:
    with pytest.raises(BadOutput) as error:
        parse(text if isinstance(text, bytes) else text.encode())
    return str(error.value)


def error_of(**document: Any) -> str:
    return refusal(orjson.dumps(document))


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}
TARGET = {"kind": "Pod", "name": "a", "namespace": "ns"}


@each("verb", ["Create", "CreateOrUpdate", "CreateIfNotExists", "Apply"])
def test_create_operations_take_their_coordinates_from_the_object(verb: str) -> None:
    operation = parse_one(operation=verb, object=CONFIG_MAP, namespace="ignored", name="ignored")
    assert operation == ObjectOperation(Verb(verb), "ConfigMap", "a", "v1", "ns", body=CONFIG_MAP)


@each("verb", ["Delete", "DeleteInBackground", "DeleteNonCascading"])
def test_delete_operations_name_their_object(verb: str) -> None:
    assert parse_one(operation=verb, apiVersion="v1", **TARGET) == ObjectOperation(Verb(verb), "Pod", "a", "v1", "ns")


def test_delete_operations_may_name_the_one_object_that_is_meant() -> None:
    operation = parse_one(operation="Delete", **TARGET, uid="u-1", resourceVersion="7")
    assert (operation.uid, operation.version) == ("u-1", "7")
    patch = parse_one(operation="MergePatch", **TARGET, mergePatch={"a": 1}, uid="u-1")
    assert patch.uid == ""  # as any other unknown key


@each("value", [None, "", 7])
def test_precondition_that_says_nothing_is_refused(value: Any) -> None:
    """`jq` makes null of the uid of an object that has none: that must not delete any object of this name."""
    for key in ("uid", "resourceVersion"):
        assert f"{key} must be a text that is not empty" in error_of(operation="Delete", **TARGET, **{key: value})


@each(
    ("verb", "key", "body"),
    [
        ("MergePatch", "mergePatch", {"spec": {"a": None}}),
        ("JSONPatch", "jsonPatch", [{"op": "remove", "path": "/spec/a"}]),
    ],
)
def test_a_body_may_be_given_as_it_is_or_as_text(verb: str, key: str, body: Any) -> None:
    expected = ObjectOperation(Verb(verb), "Pod", "a", namespace="ns", body=body)
    assert parse_one(operation=verb, **TARGET, **{key: body}) == expected
    assert parse_one(operation=verb, **TARGET, **{key: orjson.dumps(body).decode()}) == expected


def test_a_text_body_may_be_yaml() -> None:
    operation = parse_one(operation="MergePatch", **TARGET, mergePatch="data:\n  y: on\n  n: 007\n")
    assert operation.body == {"data": {"y": "on", "n": 7}}
    assert parse_one(operation="Create", object="kind: Pod\nmetadata: {generateName: a-}").name == ""
    assert (
        parse_one(operation="JSONPatch", **TARGET, jsonPatch="- {op: test, path: /a, value: 1}").body[0]["op"] == "test"
    )


def test_a_jq_patch_carries_its_program() -> None:
    operation = parse_one(operation="JQPatch", **TARGET, jqFilter=".spec.a = 1", subresource="/status")
    assert (operation.jq_filter, operation.subresource, operation.body) == (".spec.a = 1", "status", None)


def test_flags_belong_to_patches() -> None:
    flags = {"ignoreMissingObject": True, "ignoreHookError": True}
    patch = parse_one(operation="JQPatch", **TARGET, jqFilter=".", **flags)
    deletion = parse_one(operation="Delete", **TARGET, **flags)
    assert (patch.ignore_missing, patch.ignore_hook_error) == (True, True)
    assert (deletion.ignore_missing, deletion.ignore_hook_error) == (False, False)


def test_the_subresource_is_kept_for_every_operation() -> None:
    assert parse_one(operation="CreateOrUpdate", object=CONFIG_MAP, subresource="status").subresource == "status"
    assert parse_one(operation="Delete", **TARGET, subresource="/scale").subresource == "scale"


def test_integers_are_exact_in_json_and_yaml() -> None:
    big = 2**63 - 1
    assert parse_one(operation="MergePatch", **TARGET, mergePatch={"a": big}).body == {"a": big}
    yaml = f"operation: MergePatch\nkind: Pod\nname: a\nmergePatch: {{a: {big}}}"
    assert parse(yaml.encode())[0].body == {"a": big}


def test_keys_of_json_are_taken_in_any_case_those_of_yaml_are_not() -> None:
    assert parse_one(Operation="Delete", KIND="Pod", Name="a").kind == "Pod"
    assert "operation is required" in refusal("Operation: Delete\nkind: Pod\nname: a")
    assert parse(b"operation: Delete\nkind: Pod\nname: a\napiversion: v1")[0].api_version == ""


@each(
    ("word", "meaning"),
    [("y", True), ("Yes", True), ("on", True), ("true", True), ("n", False), ("no", False), ("off", False)],
)
def test_flags_in_yaml_know_the_old_words(word: str, meaning: bool) -> None:
    text = f"operation: JQPatch\nkind: Pod\nname: a\njqFilter: .\nignoreMissingObject: {word}"
    assert parse(text.encode())[0].ignore_missing is meaning


def test_only_flags_and_only_in_yaml_know_them() -> None:
    assert parse(b"operation: Delete\nkind: yes\nname: no")[0].kind == "yes"
    assert "ignoreMissingObject must be of type boolean" in error_of(
        operation="JQPatch", **TARGET, jqFilter=".", ignoreMissingObject="yes"
    )


def test_keys_that_mean_nothing_to_an_operation_are_ignored() -> None:
    deletion = ObjectOperation(Verb.DELETE, "Pod", "a", namespace="ns")
    assert parse_one(operation="Delete", **TARGET, more=1, jqFilter=".", mergePatch={"a": 1}) == deletion


def test_an_object_may_have_any_metadata() -> None:
    labelled = {"kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}, "finalizers": ["x"]}, "spec": {}}
    assert parse_one(operation="Create", object=labelled).body == labelled


@each("text", ["", "\n", "# nothing\n"])
def test_an_empty_file_asks_for_nothing(text: str) -> None:
    assert parse(text.encode()) == ()


@each(
    ("document", "reason"),
    [
        ({}, "operation is required"),
        ({"operation": "delete"}, "operation should be one of [Create CreateOrUpdate"),
        ({"operation": "delete"}, "did you mean 'Delete'?"),
        ({"operation": "Delete", "name": "a"}, "kind is required for Delete"),
        ({"operation": "Delete", "kind": "Pod", "name": ""}, "name is required for Delete"),
        ({"operation": "Delete", "kind": "Pod", "name": 5}, 'name must be of type string: "integer"'),
        ({"operation": "Create"}, "object is required and must not be empty"),
        ({"operation": "Create", "object": {}}, "object is required and must not be empty"),
        ({"operation": "Create", "object": ""}, "object is required and must not be empty"),
        ({"operation": "Create", "object": "a: ["}, "object is a text that is not one document of JSON or YAML"),
        ({"operation": "Create", "object": "a: 1\n---\nb: 1"}, "object is a text that is not one document"),
        ({"operation": "Create", "object": "just text"}, "object is a text that is not one document"),
        ({"operation": "Create", "object": [1]}, 'object must be of type object: "array"'),
        ({"operation": "Create", "object": {"metadata": {}}}, "object.kind is required"),
        ({"operation": "Create", "object": {"kind": "A", "metadata": {"name": 5}}}, "object.metadata.name must be"),
        ({"operation": "MergePatch", **TARGET}, "mergePatch is required"),
        ({"operation": "MergePatch", **TARGET, "mergePatch": {}}, "mergePatch is required"),
        ({"operation": "MergePatch", **TARGET, "mergePatch": "null"}, "mergePatch is required"),
        ({"operation": "MergePatch", **TARGET, "mergePatch": [1]}, 'mergePatch must be of type object: "array"'),
        ({"operation": "JQPatch", **TARGET}, "jqFilter is required for JQPatch"),
        ({"operation": "JSONPatch", **TARGET}, "jsonPatch is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": []}, "jsonPatch is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": {"op": "x"}}, 'jsonPatch must be of type array: "object"'),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "put", "path": "/"}]}, "jsonPatch[0].op should be"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "remove"}]}, "jsonPatch[0].path is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "add", "path": "/a"}]}, "jsonPatch[0].value is"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "move", "path": "/a"}]}, "jsonPatch[0].from is"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [5, {"op": []}]}, "jsonPatch[0] must be of type object"),
    ],
)
def test_a_document_that_cannot_be_carried_out_is_named_with_the_reason(document: Any, reason: str) -> None:
    text = error_of(**document)
    assert text.startswith("can't validate document 1 of the patch file: ")
    assert reason in text
    assert "nothing was applied. The document is a" in text


def test_the_first_bad_document_refuses_the_whole_file() -> None:
    good = '{"operation":"Delete","kind":"Pod","name":"a"}\n'
    assert "can't validate document 3" in refusal(good * 2 + '{"operation":"Delete"}' + good)


def test_a_half_written_file_is_refused_by_number() -> None:
    good = '{"operation":"Delete","kind":"Pod","name":"a"}\n'
    text = refusal(good * 2 + '{"operation":"Del')
    assert text.startswith("got bad patch file: document 3: not JSON: ")
    assert text.endswith("nothing was applied")


def test_a_refused_document_is_shown_without_what_may_be_secret() -> None:
    text = error_of(operation="Delete", kind="Secret", object={"data": {"password": "c2VjcmV0"}}, more="x" * 10_000)
    assert text.endswith("The document is a map with the keys operation, kind, object, more; it is about Secret")


def test_the_error_of_a_refused_document_names_its_object() -> None:
    assert error_of(operation="Delete", kind="Pod", namespace="ns", name="a", subresource=1).endswith(
        "; it is about Pod ns/a"
    )
    inside = {"kind": "Pod", "metadata": {"namespace": "ns", "name": "a", "generateName": 1}}
    assert error_of(operation="Create", object=inside).endswith("; it is about Pod ns/a")


def test_the_error_of_a_long_document_is_short() -> None:
    text = error_of(operation="Delete", kind="x" * 10_000, **{f"key{number}": number for number in range(1000)})
    assert text.endswith("key7 and 992 more")


@each("text", ["5", '"Delete"', "text"])
def test_a_document_must_be_an_object(text: str) -> None:
    assert "must be of type object" in refusal(text)


@each("text", ["[]", "- operation: Delete"])
def test_a_list_has_an_error_of_its_own_because_it_is_a_common_mistake(text: str) -> None:
    assert "write the documents one after another, without brackets and commas" in refusal(text)
