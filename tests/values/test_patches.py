"""Patches of values: what is refused, what it does to a document. How patch files are
read is tested in tests/hooks/test_value_patches.py.

Level: pure."""

import orjson
import pytest

from hookrunner.errors import BadValues
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import patches
from kubetypes.json_values import JSON
from tests.tables import each

ADD = ValuesOperation("add", "/foo/a", 1)


def applied(section: JSON, *operations: JSON) -> JSON:
    """The section `foo` after operations, as they stand in a patch file."""
    asked = [ValuesOperation(one["op"], one["path"], one.get("value")) for one in operations]
    return patches.applied({"foo": section}, asked, "foo")["foo"]


@each(
    ("operation", "key", "told"),
    [
        (ValuesOperation("add", "/bar/a", 1), "foo", r"for path 'bar' \(only 'foo' accepted\)"),
        (ValuesOperation("add", "/bar/a", 1), GLOBAL, r"only 'global' and '\*Enabled' are permitted"),
        (ValuesOperation("add", "/barEnabled", True), "foo", "for path 'barEnabled'"),
        (ValuesOperation("remove", "/foo"), "foo", "cannot be removed"),
        (ValuesOperation("add", "/foo", [1]), "foo", "a section is a map"),
    ],
)
def test_a_hook_changes_its_own_section_only(operation: ValuesOperation, key: str, told: str) -> None:
    with pytest.raises(BadValues, match=told):
        patches.permitted([ADD, operation], key)


def test_a_hook_may_change_its_own_section() -> None:
    patches.permitted([ADD, ValuesOperation("add", "/foo", {}), ValuesOperation("remove", "/foo/b")], "foo")
    patches.permitted([ValuesOperation("add", "/global/a", 1), ValuesOperation("remove", "/fooEnabled")], GLOBAL)


def test_flags_of_modules_are_distinguished_from_values() -> None:
    switch = [ValuesOperation("add", f"/m{n}Enabled", flag) for n, flag in enumerate((True, False, "true", "false"))]
    asked = [*switch, ValuesOperation("remove", "/goneEnabled"), ValuesOperation("add", "/global/aEnabled", 7)]
    said = [("m0", True), ("m1", False), ("m2", True), ("m3", False), ("gone", None)]
    assert patches.enabled_operations(asked) == said
    assert patches.values_operations(asked) == (asked[-1],)


@each(
    "operation",
    [
        ValuesOperation("add", "/fooEnabled", 1),
        ValuesOperation("add", "/fooEnabled", "yes"),
        ValuesOperation("add", "/fooEnabled"),
        ValuesOperation("add", "/fooEnabled/x", True),
        ValuesOperation("remove", "/fooEnabled/x"),
        ValuesOperation("test", "/fooEnabled", True),
    ],
)
def test_a_flag_is_true_or_false(operation: ValuesOperation) -> None:
    with pytest.raises(BadValues, match="switched by true or false"):
        patches.enabled_operations([operation])


@each(
    ("before", "operation", "after"),
    [
        ({}, {"op": "add", "path": "/foo/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "add", "path": "/foo/a", "value": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": 1}, {"op": "add", "path": "/foo", "value": {"b": 2}}, {"b": 2}),
        ({"a/b~": 1}, {"op": "remove", "path": "/foo/a~1b~0"}, {}),
        ({"": {"": 1}}, {"op": "remove", "path": "/foo//"}, {"": {}}),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/0", "value": 2}, {"a": [2, 1]}),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/-1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/foo/a/-1"}, {"a": [1]}),
        ({"a": [1, {"b": 2}]}, {"op": "add", "path": "/foo/a/1/b", "value": 3}, {"a": [1, {"b": 3}]}),
        ({"a": {"1": 2}}, {"op": "test", "path": "/foo/a/1", "value": 2}, {"a": {"1": 2}}),
        ({"a": {"x": 1, "y": 2}}, {"op": "test", "path": "/foo/a", "value": {"y": 2, "x": 1}}, {"a": {"x": 1, "y": 2}}),
    ],
)
def test_an_operation_changes_the_document(before: JSON, operation: JSON, after: JSON) -> None:
    assert applied(before, operation) == after


@each(
    ("before", "operation", "told"),
    [
        ({}, {"op": "remove", "path": "/foo/a"}, "there is no /foo/a"),
        ({}, {"op": "add", "path": "/foo/a/b", "value": 1}, "there is no /foo/a"),
        ({"a": None}, {"op": "add", "path": "/foo/a/b", "value": 1}, "/foo/a is null"),
        ({"a": "text"}, {"op": "remove", "path": "/foo/a/b"}, "/foo/a is a text"),
        ({"a": 1}, {"op": "add", "path": "/foo/a/b/c", "value": 1}, "/foo/a is a number"),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/2", "value": 1}, "/foo/a/2 is outside"),
        ({"a": [1]}, {"op": "remove", "path": "/foo/a/1"}, "/foo/a/1 is outside"),
        ({"a": [1]}, {"op": "remove", "path": "/foo/a/-"}, "/foo/a is a list, and '-' is no"),
        ({"a": [1]}, {"op": "add", "path": "/foo/a/x", "value": 1}, "/foo/a is a list, and 'x' is no"),
        ({"a": 1}, {"op": "test", "path": "/foo/a", "value": True}, "/foo/a has another value"),
        ({}, {"op": "test", "path": "/foo/a", "value": None}, "there is no /foo/a"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(before: JSON, operation: JSON, told: str) -> None:
    with pytest.raises(BadValues, match=f"foo: {operation['op']} {operation['path']} does not fit: {told}"):
        applied(before, operation)


def test_documents_are_never_changed() -> None:
    before = {"a": {"b": [1, {"c": 2}]}, "d": {"e": 1}}
    copy = orjson.loads(orjson.dumps(before))
    after = applied(before, {"op": "add", "path": "/foo/a/b/1/c", "value": 3}, {"op": "remove", "path": "/foo/a/b/0"})
    assert before == copy
    assert after["a"] == {"b": [{"c": 3}]}
    assert after["d"] is before["d"]
