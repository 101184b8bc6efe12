"""Defaults: which are filled in, into what, and that nothing else is touched. Level: pure."""

from collections.abc import Callable

from hookrunner.values.schemas.schema import SectionSchema
from kubetypes.json_values import JSON
from tests.tables import each


@each(
    ("text", "value", "filled"),
    [
        ("properties: {a: {default: 1}}", {}, {"a": 1}),
        ("properties: {a: {default: 1}}", {"a": None}, {"a": None}),
        ("properties: {a: {default: 1}}", {"a": 0, "b": 2}, {"a": 0, "b": 2}),
        ("properties: {a: {default: null}}", {}, {}),
        ("properties: {a: {default: false}}", {}, {"a": False}),
        ("properties: {a: {properties: {b: {default: 1}}}}", {}, {}),
        ("properties: {a: {properties: {b: {default: 1}}}}", {"a": {}}, {"a": {"b": 1}}),
        ("properties: {a: {default: {}, properties: {b: {default: 1}}}}", {}, {"a": {"b": 1}}),
        ("properties: {a: {default: {c: 2}, properties: {b: {default: 1}}}}", {}, {"a": {"c": 2, "b": 1}}),
        (
            "properties: {a: {items: {properties: {b: {default: 1}}}}}",
            {"a": [{}, {"b": 2}]},
            {"a": [{"b": 1}, {"b": 2}]},
        ),
        ("properties: {a: {items: [{properties: {b: {default: 1}}}]}}", {"a": [{}]}, {"a": [{}]}),
        ("properties: {a: {default: [{}], items: {properties: {b: {default: 1}}}}}", {}, {"a": [{"b": 1}]}),
        ("{default: {a: 1}, properties: {}}", {}, {}),
        ("allOf: [{properties: {a: {default: 1}}}]", {}, {}),
        ("patternProperties: {a: {properties: {b: {default: 1}}}}", {"a": {}}, {"a": {}}),
        ("additionalProperties: {properties: {b: {default: 1}}}", {"a": {}}, {"a": {}}),
        ("properties: {a: {properties: {b: {default: 1}}}}", {"a": "text"}, {"a": "text"}),
        ("properties: {a: {$ref: '#'}, b: {default: 1}}", {"a": {"a": {}}}, {"a": {"a": {"b": 1}, "b": 1}, "b": 1}),
    ],
)
def test_defaults_come_where_a_key_is_absent(
    schema: Callable[[str], SectionSchema], text: str, value: JSON, filled: JSON
) -> None:
    assert schema(text).defaults(value) == filled


def test_complete_value_is_the_same_object(schema: Callable[[str], SectionSchema]) -> None:
    value = {"a": {"b": 1}, "l": [{"b": 1}]}
    text = "properties: {a: {properties: {b: {default: 1}}}, l: {items: {properties: {b: {default: 2}}}}}"
    assert schema(text).defaults(value) is value


def test_incomplete_value_is_not_changed_in_place(schema: Callable[[str], SectionSchema]) -> None:
    value: JSON = {"a": {}, "same": {}}
    filled = schema("properties: {a: {properties: {b: {default: 1}}}}").defaults(value)
    assert value == {"a": {}, "same": {}}
    assert filled["same"] is value["same"]


def test_defaults_are_not_shared(schema: Callable[[str], SectionSchema]) -> None:
    made = schema("properties: {a: {default: {b: [1]}}}")
    made.defaults({})["a"]["b"].append(2)
    assert made.defaults({}) == {"a": {"b": [1]}}
