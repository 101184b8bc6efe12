"""Patch files as operations, or as the error that names the document: what tests/contract/patches.golden does not show.

Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.patches import parse
from hookrunner.model.operations import ObjectOperation
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


TARGET = {"kind": "Pod", "name": "a", "namespace": "ns"}


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


def test_a_text_body_may_be_yaml() -> None:
    operation = parse_one(operation="MergePatch", **TARGET, mergePatch="data:\n  y: on\n  n: 007\n")
    assert operation.body == {"data": {"y": "on", "n": 7}}
    assert parse_one(operation="Create", object="kind: Pod\nmetadata: {generateName: a-}").name == ""
    assert (
        parse_one(operation="JSONPatch", **TARGET, jsonPatch="- {op: test, path: /a, value: 1}").body[0]["op"] == "test"
    )


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


@each("text", ["", "\n", "# nothing\n"])
def test_an_empty_file_asks_for_nothing(text: str) -> None:
    assert parse(text.encode()) == ()


@each(
    ("document", "reason"),
    [
        ({"operation": "Delete", "kind": "Pod", "name": ""}, "name is required for Delete"),
        ({"operation": "Create"}, "object is required and must not be empty"),
        ({"operation": "Create", "object": ""}, "object is required and must not be empty"),
        ({"operation": "Create", "object": "a: ["}, "object is a text that is not one document of JSON or YAML"),
        ({"operation": "Create", "object": "a: 1\n---\nb: 1"}, "object is a text that is not one document"),
        ({"operation": "Create", "object": [1]}, 'object must be of type object: "array"'),
        ({"operation": "Create", "object": {"kind": "A", "metadata": {"name": 5}}}, "object.metadata.name must be"),
        ({"operation": "MergePatch", **TARGET, "mergePatch": {}}, "mergePatch is required"),
        ({"operation": "MergePatch", **TARGET, "mergePatch": [1]}, 'mergePatch must be of type object: "array"'),
        ({"operation": "JQPatch", **TARGET}, "jqFilter is required for JQPatch"),
        ({"operation": "JSONPatch", **TARGET}, "jsonPatch is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": []}, "jsonPatch is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "put", "path": "/"}]}, "jsonPatch[0].op should be"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [{"op": "remove"}]}, "jsonPatch[0].path is required"),
        ({"operation": "JSONPatch", **TARGET, "jsonPatch": [5, {"op": []}]}, "jsonPatch[0] must be of type object"),
    ],
)
def test_a_document_that_cannot_be_carried_out_is_named_with_the_reason(document: Any, reason: str) -> None:
    text = error_of(**document)
    assert text.startswith("can't validate document 1 of the patch file: ")
    assert reason in text
    assert "nothing was applied. The document is a" in text


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
