"""Values against schemas: what is kept of an object, and every complaint, equal to a real API server's.

All schemas are fields of one definition, so that the server has to serve only one.

Level: control plane.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import Raw, Widgets, widgets, with_fields
from tests.tables import each

SCALARS: list[Any] = ["a", "", "bb", 5, 1.5, -3, 0, 3.0, True, None, [], ["a"], {}, {"a": 1}, 2**40, 1e30, "x" * 12]
ITEM = {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}}
PORT = {"n": {"type": "string"}, "p": {"type": "integer", "default": 80}, "v": {"type": "integer"}}
MAP = {"type": "array", "x-kubernetes-list-type": "map"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
ATOM = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "integer"}}}
KEEPING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
TEXT = {"type": "string"}
A_IS = {"properties": {"t": {"enum": ["A"]}}, "required": ["s"]}
B_IS = {"properties": {"t": {"enum": ["B"]}}, "required": ["n"]}
KIND = {"t": TEXT, "s": TEXT, "n": {"type": "integer"}}
DEEP: Raw = {
    "x": {"type": "integer", "default": 5},
    "y": {"type": "array", "default": [{}], "items": {"type": "object"}},
}
DEEP["y"]["items"]["properties"] = {"z": {"type": "string", "default": "q"}}

FOR_SCALARS: list[Raw] = [
    TEXT,
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "array", "items": TEXT},
    {"type": "object"},
    INT_OR_STRING,
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "nonsense"},
    {"type": "string", "format": "ipv4", "nullable": True},
    {"type": "integer", "format": "int32"},
    {"type": "integer", "format": "int64"},
    {"type": "number", "format": "double"},
    {"type": "number", "format": "float"},
    {"type": "string", "minLength": 3, "maxLength": 5, "pattern": "^b"},
    {"type": "string", "maxLength": 1},
    {"type": "integer", "minimum": 1, "maximum": 4},
    {"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMinimum": True, "exclusiveMaximum": True},
    {"type": "number", "minimum": 1.5, "maximum": 2.5},
    {"type": "integer", "maximum": 2.5},
    {"type": "integer", "format": "int32", "maximum": 1e12},
    {"type": "integer", "multipleOf": 2},
    {"type": "integer", "multipleOf": 0.5},
    {"type": "number", "multipleOf": 0.5},
    {"type": "string", "enum": ["b", "bb"]},
    {"type": "integer", "enum": [1, 5]},
    {"type": "string", "nullable": True},
    {"type": "string", "nullable": True, "enum": ["b"]},
    {"type": "string", "default": "dd"},
    {"type": "string", "default": "dd", "nullable": True},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 0},
    {"type": "array", "items": {"type": "integer", "nullable": True}, "minItems": 2},
    {"type": "object", "minProperties": 2, "additionalProperties": TEXT},
    {"type": "object", "maxProperties": 0, "additionalProperties": {"type": "integer"}},
    {"type": "object", "required": ["b", "c"], "properties": {"b": TEXT, "a": TEXT}},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"x-kubernetes-preserve-unknown-fields": True, "format": "ipv4"},
    KEEPING | {"properties": {"a": TEXT}},
    INT_OR_STRING | {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    INT_OR_STRING | {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%$", "maximum": 4},
    {"type": "string", "anyOf": [{"enum": ["a"]}, {"minLength": 3, "maxLength": 4}]},
    {"type": "string", "oneOf": [{"enum": ["a"]}, {"maxLength": 4}]},
    {"type": "string", "allOf": [{"enum": ["b"]}, {"minLength": 1}]},
    {"type": "string", "allOf": [{"enum": ["b"]}, {"maxLength": 1, "enum": ["b"]}]},
    {"type": "string", "not": {"enum": ["a"]}},
]

POD: Raw = {"apiVersion": "v1", "kind": "Pod"}
BAD_METADATA = {"name": "..", "namespace": "$$", "labels": {"#": "#"}, "annotations": {"#": "x"}, "generateName": "a/b"}
METADATA: list[Any] = [BAD_METADATA, "x", None, [], {"labels": {"a": 5}}]
FOR_OTHERS: list[tuple[Raw, list[Any]]] = [
    (
        EMBEDDED,
        [
            *({}, POD, {"apiVersion": "", "kind": ""}, {"apiVersion": "a/b/c", "kind": "p.d"}, "x", None),
            *(POD | {"metadata": metadata} for metadata in METADATA),
            POD | {"metadata": {"foo": 1, "labels": None, "creationTimestamp": None}, "x": 1},
            POD | {"metadata": {"ownerReferences": [{"name": "x"}], "finalizers": ["a b"]}},
            POD | {"metadata": {"ownerReferences": [{"name": 1}]}},
            POD | {"metadata": {"generation": 1.5}},
            POD | {"metadata": {"creationTimestamp": "nope"}},
            {"apiVersion": 1, "kind": "Pod"},
        ],
    ),
    ({"type": "array", "items": EMBEDDED}, [[{}, POD | {"a": 1}, None]]),
    ({"type": "object", "additionalProperties": EMBEDDED}, [{"a": {}, "b.c": {"apiVersion": "v1", "kind": "-"}}]),
    (
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        [["a", "b"], ["a", "a", "a"], ["a", None, None], []],
    ),
    (
        {"type": "array", "items": INT_OR_STRING, "x-kubernetes-list-type": "set"},
        [[1, "1"], [1, 1.0], [1, 1, 2, 2], [True, 1]],
    ),
    ({"type": "array", "items": ATOM, "x-kubernetes-list-type": "set"}, [[{"a": 1}, {"a": 1, "b": 2}], [{}, {"a": 2}]]),
    (
        MAP | {"x-kubernetes-list-map-keys": ["n"], "items": ITEM},
        [
            [{"n": "a"}, {"n": "a", "v": 1}, {"n": "a"}],
            *([{"v": 1}, {}], [None, None], ["x"], [{"n": "a"}, "x"], [{"n": "a", "z": 1}]),
        ],
    ),
    (
        MAP | {"x-kubernetes-list-map-keys": ["n", "p"], "items": ITEM | {"properties": PORT}},
        [[{"n": "a"}, {"n": "a", "v": 1}, {"n": "a", "p": 80}], [{"n": "a", "p": 1}, {"n": "a", "p": 2}], [{}, {}]],
    ),
    (
        {
            "type": "object",
            "properties": {"a": TEXT, "b": {"type": "integer"}, "c": {"type": "object", "properties": {"d": TEXT}}},
            "oneOf": [
                {"required": ["a"]},
                {"required": ["b"]},
                {"required": ["c"], "properties": {"c": {"required": ["d"], "properties": {"d": {"minLength": 3}}}}},
            ],
        },
        [
            *({}, {"a": "x"}, {"a": "x", "b": 1}, {"c": {}}, {"c": {"d": "x"}}, {"c": {"d": "xxx"}}, {"b": "x"}),
            {"a": 1, "b": "x"},
        ],
    ),
    (
        {
            "type": "array",
            "items": {"type": "object", "properties": KIND, "required": ["t"], "anyOf": [A_IS, B_IS]},
        },
        [
            *([{}], [{"t": "A"}], [{"t": "B"}], [{"t": "A", "s": "x"}, {"t": "C"}], [{"t": "A", "n": 1}]),
            [{"t": "B", "n": "x"}],
        ],
    ),
    (
        {"type": "object", "default": {}, "properties": DEEP},
        [{}, None, {"bar": 2}, {"y": []}, {"y": [{"z": None}, None]}, {"x": None}],
    ),
    (
        {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": TEXT}}},
        [{"k": {"a": "x", "b": 1}, "l": {"a": 5}}, {"k": None}],
    ),
    ({"type": "object", "additionalProperties": True}, [{"a": {"b": 1}, "c": [{"d": 1}], "e": 5}]),
    ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, [[[1, "x"], [None], None, 5]]),
    (KEEPING | {"properties": {"o": {"type": "object", "properties": {"a": TEXT}}}}, [{"x": None, "o": {"b": 1}}]),
]
TABLE = [(schema, SCALARS) for schema in FOR_SCALARS] + FOR_OTHERS
CASES = [(f"f{index}", value) for index, (_, values) in enumerate(TABLE) for value in values]


@pytest.fixture(scope="module")
def served(oracle: Oracle) -> Iterator[Widgets]:
    """All the schemas of the table."""
    fields = {f"f{index}": {"type": "object", "properties": {"v": schema}} for index, (schema, _) in enumerate(TABLE)}
    with widgets(oracle, with_fields(**fields)) as served:
        yield served


@each(("key", "value"), CASES, ids=[f"{key}-{str(value)[:30]}" for key, value in CASES])
def test_a_value_is_kept_or_refused_as_the_api_server_does(served: Widgets, key: str, value: Any) -> None:
    obj = {"spec": {key: {"v": value}}}
    assert served.ours(obj) == served.theirs(obj)


@each("key", [f"f{index}" for index in range(len(TABLE))])
def test_a_missing_value_is_defaulted_as_the_api_server_does(served: Widgets, key: str) -> None:
    assert served.ours({"spec": {key: {}}}) == served.theirs({"spec": {key: {}}})
