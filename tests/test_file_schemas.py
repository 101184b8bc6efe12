"""Files read by their JSON Schema: problems in words, defaults at every level, fields of dataclasses. Level: pure."""

from hookrunner.file_schemas import FileSchema, as_fields
from kubetypes.json_values import JSON
from tests.tables import each

NAME: JSON = {"type": "string", "maxLength": 5, "pattern": "^[a-z]+$", "patternErrorMessage": "write letters"}
SCHEMA = FileSchema(
    {
        "type": "object",
        "required": ["kind"],
        "properties": {
            "kind": NAME | {"examples": ["pod"]},
            "color": {"enum": ["red", "green"], "default": "red"},
            "adopt": {"enum": [True, False, "never"], "default": False, "errorMessage": "must be true, false or never"},
            "judgedByCode": {"type": "string", "pattern": "^x$"},
            "parts": {
                "type": "array",
                "default": [],
                "items": {"type": "object", "properties": {"name": NAME, "size": {"type": "integer", "default": 1}}},
            },
            "labels": {
                "type": "object",
                "propertyNames": {"pattern": "^[a-z]", "patternErrorMessage": "write a name"},
                "additionalProperties": {"type": "string", "pattern": "^[a-z]*$", "errorMessage": "is no value"},
            },
            "size": {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "array", "items": NAME}]},
            "text": {
                "type": "object",
                "propertyNames": {"pattern": "\\S", "errorMessage": "has an empty key"},
                "additionalProperties": {
                    "anyOf": [NAME, {"type": "object", "properties": {"value": NAME}}],
                    "errorMessage": "must be a text or a map",
                },
            },
        },
    }
)


def problems(document: JSON) -> list[str]:
    return [str(problem) for problem in SCHEMA.problems(document)]


@each(
    ("document", "problem"),
    [
        ([], 'must be of type object: "array"; write {kind: pod}'),
        ({}, "kind is required; add it, for example `kind: pod`"),
        ({"kind": "A"}, "kind cannot be 'A'; write letters"),
        ({"kind": "a\n"}, "kind cannot be a text of 2 characters; write letters"),
        ({"kind": "letters"}, "kind cannot be 'letters'; write letters"),
        ({"kind": "a", "color": "rad"}, "color should be one of [red green]; did you mean 'red'?"),
        ({"kind": "a", "adopt": 1}, "adopt must be true, false or never"),
        ({"kind": "a", "adopt": None}, "adopt must be true, false or never"),
        ({"kind": "a", "parts": [{}, {"name": "B"}]}, "parts[1].name cannot be 'B'; write letters"),
        ({"kind": "a", "labels": {"B": "c"}}, "labels cannot have the key 'B'; write a name"),
        ({"kind": "a", "labels": {"b": "C"}}, "labels.b is no value"),
        ({"kind": "a", "size": 1}, 'size must be of type object: "integer"'),
        ({"kind": "a", "size": {"b": 1}}, "size.b is a forbidden property"),
        ({"kind": "a", "size": ["B"]}, "size[0] cannot be 'B'; write letters"),
        ({"kind": "a", "text": {" ": "a"}}, "text has an empty key"),
        ({"kind": "a", "text": {"b": []}}, "text['b'] must be a text or a map"),
        ({"kind": "a", "text": {"b": "C"}}, "text['b'] cannot be 'C'; write letters"),
        ({"kind": "a", "text": {"b": {"value": "C"}}}, "text['b'].value cannot be 'C'; write letters"),
        ({"kind": "a", "text": {"b": {"value": 1}}}, "text['b'].value must be of type string"),
    ],
)
def test_a_problem_says_where_it_is_and_what_to_write(document: JSON, problem: str) -> None:
    (found,) = problems(document)
    assert found.startswith(problem)


@each("more", [{"judgedByCode": "y"}, {"other": 1}, {"adopt": "never", "color": "green", "labels": {"a": ""}}])
def test_what_fits_and_what_code_judges_is_no_problem(more: JSON) -> None:
    assert problems({"kind": "a"} | more) == []


def test_unknown_keys_are_named_with_what_may_have_been_meant() -> None:
    assert list(SCHEMA.unknown_keys({"kind": "a", "colour": 1})) == ["colour; did you mean 'color'?"]


def test_defaults_are_filled_in_at_every_level_and_unknown_keys_left_out() -> None:
    values = SCHEMA.with_defaults({"kind": "a", "parts": [{"name": "b", "x": 1}], "text": {"k": "v"}, "y": 2})
    assert values == {
        "kind": "a",
        "color": "red",
        "adopt": False,
        "parts": [{"name": "b", "size": 1}],
        "text": {"k": "v"},
    }
    assert as_fields({"judgedByCode": "x", "parts": [1]}) == {"judged_by_code": "x", "parts": (1,)}
