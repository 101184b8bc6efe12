"""What a schema says of values: a table of schemas, values and the lines that a person gets. Level: pure."""

from collections.abc import Callable

from hookrunner.values.schemas.schema import SectionSchema
from kubetypes.json_values import JSON
from tests.tables import each

FILE = "openapi/config-values.yaml#"


@each(
    ("text", "right", "wrong"),
    [
        ("type: string", ["", "a"], [1, True, None, [], {}]),
        ("type: integer", [1, 1.0, -3], [1.5, True, "1", None]),
        ("type: number", [1, 1.5], [True, "1"]),
        ("type: boolean", [True], [1, "true"]),
        ("type: [string, integer]", ["a", 1], [1.5, None, []]),
        ("type: array", [[], [1, "a"]], [{}, "a"]),
        ("{type: string, nullable: true}", ["a", None], [1]),
        ("{type: [string, 'null']}", ["a", None], [1]),
        ("{}", [None, 1, "a", [1], {}], []),
        ("{minimum: 1, maximum: 3}", [1, 3, 1.0, "a"], [0, 3.1]),
        ("{minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true}", [1.1, 2], [1, 3, 3.0]),
        ("{minimum: 1, exclusiveMinimum: false}", [1], [0]),
        ("multipleOf: 0.01", [100, 0.3, 56.1, 56.105e3], [56.105]),
        ("multipleOf: 3", [0, 3, -6, 9.0], [4, 1.5]),
        ("{minLength: 2, maxLength: 3}", ["äö", "abc", 1], ["a", "abcd"]),
        ("pattern: ^[a-z]+$", ["abc", 5], ["a1", "abc\n", ""]),
        ("pattern: b", ["abc"], ["ac"]),
        (
            "{enum: [1, a, true, {a: 1}], additionalProperties: true}",
            [1, 1.0, "a", True, {"a": 1.0}],
            [0, "b", False, None, {"a": 2}],
        ),
        ("enum: [1]", [1], [True]),
        ("{nullable: true, enum: [a, null]}", ["a", None], ["b"]),
        ("{minItems: 1, maxItems: 2, uniqueItems: true}", [[1], [1, True], [1, "1"]], [[], [1, 2, 3], [1, 1.0]]),
        ("items: {type: string}", [[], ["a"]], [[1], ["a", 1]]),
        ("{items: [{type: string}], additionalItems: false}", [[], ["a"]], [[1], ["a", 1]]),
        ("{items: [{type: string}], additionalItems: {type: integer}}", [["a", 1, 2]], [["a", "b"]]),
        ("{items: [{type: string}]}", [["a", 1, {}]], [[1]]),
        ("{format: ipv4}", ["10.0.0.1", 1], ["10.0.0", ""]),
        ("{format: int32}", [1, "a"], [2**31]),
        ("{format: uint64}", [2**64 - 1], [-1]),
        ("{format: float}", [1.5], [1e39]),
        ("{format: made-up}", ["anything", 1], []),
        ("allOf: [{type: string}, {minLength: 2}]", ["ab"], ["a", 1]),
        ("anyOf: [{type: string}, {minimum: 2}]", ["a", 2], [1]),
        ("oneOf: [{type: integer}, {minimum: 2}]", [1, 2.5], [3, 1.5]),
        ("not: {type: string}", [1], ["a"]),
        ("properties: {a: {type: string}}", [{}, {"a": "b"}], [{"a": 1}, {"b": 1}]),
        ("{required: [a], properties: {a: {}}}", [{"a": None}], [{}]),
        ("{required: [a], properties: {a: {default: 1}}}", [{}], []),
        ("{minProperties: 1, maxProperties: 2, additionalProperties: true}", [{"a": 1}], [{}, dict.fromkeys("abc")]),
        ("patternProperties: {^a: {type: string}}", [{"ab": "c"}], [{"ab": 1}, {"b": "c"}]),
        ("{properties: {ab: {minLength: 2}}, patternProperties: {^a: {type: string}}}", [{"ab": "cd"}], [{"ab": "c"}]),
        ("additionalProperties: {type: string}", [{"a": "b"}], [{"a": 1}]),
        ("{dependencies: {a: [b]}, additionalProperties: true}", [{"b": 1}, {"a": 1, "b": 1}, {}], [{"a": 1}]),
        ("{dependencies: {a: {required: [b]}}, additionalProperties: true}", [{"a": 1, "b": 1}], [{"a": 1}]),
        ("properties: {n: {type: integer}, on: {}, 1: {}}", [{"n": 1, "on": 1, "1": 1}], [{"false": 1}, {"n": "a"}]),
    ],
)
def test_a_value_is_right_or_wrong(
    schema: Callable[[str], SectionSchema], text: str, right: list[JSON], wrong: list[JSON]
) -> None:
    checked = schema(text)
    assert [value for value in right if checked.problems(value)] == []
    assert [value for value in wrong if not checked.problems(value)] == []


@each(
    ("text", "value", "forbidden"),
    [
        ("properties: {a: {type: object}}", {"a": {"b": 1}}, ["a.b"]),
        ("additionalProperties: true", {"a": 1}, []),
        ("{additionalProperties: true, properties: {a: {properties: {}}}}", {"b": 1, "a": {"c": 1}}, ["a.c"]),
        ("properties: {a: {additionalProperties: true, properties: {b: {}}}}", {"a": {"c": 1, "b": {"d": 1}}}, []),
        ("properties: {a: {additionalProperties: true, items: {properties: {}}}}", {"a": [{"b": 1}]}, []),
        ("properties: {a: {items: {properties: {}}}}", {"a": [{"b": 1}]}, ["a[0].b"]),
        ("items: {additionalProperties: true, properties: {a: {}}}", [{"b": 1, "a": {"c": 1}}], ["[0].a.c"]),
        ("{allOf: [{properties: {a: {}}}], additionalProperties: true}", {"a": {"b": 1}}, []),
        ("patternProperties: {a: {properties: {b: {}}}}", {"a": {"c": 1}}, []),
        ("additionalProperties: {properties: {b: {}}}", {"a": {"c": 1}}, []),
        ("oneOf: [{required: [a]}]", {"a": 1}, ["a"]),
    ],
)
def test_unknown_keys_are_forbidden_unless_the_schema_allows_them(
    schema: Callable[[str], SectionSchema], text: str, value: JSON, forbidden: list[str]
) -> None:
    lines = schema(text).problems(value)
    assert [line.split(" ")[0] for line in lines if "is a forbidden property" in line] == forbidden
    assert len(lines) == len(forbidden)


@each(
    ("text", "value", "line"),
    [
        (
            "properties: {nodes: {items: {properties: {port: {maximum: 65535}}}}}",
            {"nodes": [{"port": 70000}]},
            f"nodes[0].port must be at most 65535 ({FILE}/properties/nodes/items/properties/port/maximum)",
        ),
        (
            "type: object",
            None,
            f"the section must be of type object, not null; leave the key out, or give it a value ({FILE}/type)",
        ),
        (
            "properties: {a: {type: integer}}",
            {"a": "5"},
            f"a must be of type integer, not string; write it without quotes ({FILE}/properties/a/type)",
        ),
        (
            "properties: {a: {type: integer}}",
            {"a": "x"},
            f"a must be of type integer, not string ({FILE}/properties/a/type)",
        ),
        (
            "properties: {a: {type: string}}",
            {"a": 5},
            f"a must be of type string, not integer; put it in quotes ({FILE}/properties/a/type)",
        ),
        (
            "properties: {replicas: {}}",
            {"replicsa": 5},
            f"replicsa is a forbidden property; did you mean 'replicas'? ({FILE}/additionalProperties)",
        ),
        (
            "properties: {x: {}, y: {}}",
            {"password": 5},
            f"password is a forbidden property; known are x, y ({FILE}/additionalProperties)",
        ),
        (
            "properties: {a: {enum: [Always, Never]}}",
            {"a": "always"},
            f"a must be one of Always, Never; did you mean 'Always'? ({FILE}/properties/a/enum)",
        ),
        (
            "properties: {a: {pattern: ^x}}",
            {"a": "secret"},
            f"a does not match the pattern ^x ({FILE}/properties/a/pattern)",
        ),
        ("{required: [a.b], additionalProperties: true}", {}, f'["a.b"] is required ({FILE}/required)'),
        (
            "properties: {a/b: {type: string}}",
            {"a/b": []},
            f'["a/b"] must be of type string, not array ({FILE}/properties/a~1b/type)',
        ),
        (
            "uniqueItems: true",
            [1, 2, 1],
            f"the section must not have an item twice; [0] and [2] are equal ({FILE}/uniqueItems)",
        ),
    ],
)
def test_a_line_says_where_what_and_which_rule(
    schema: Callable[[str], SectionSchema], text: str, value: JSON, line: str
) -> None:
    assert schema(text).problems(value) == [line]


def test_nearest_alternative_explains_what_is_wrong(schema: Callable[[str], SectionSchema]) -> None:
    lines = schema("""
      properties:
        a:
          additionalProperties: true
          oneOf:
          - {type: string}
          - {properties: {b: {type: integer}}, required: [b, c]}
          - {required: [c], properties: {b: {minimum: 5}}}
    """).problems({"a": {"b": 1}})
    assert lines == [
        f"a fits none of 3 ways; the nearest is number 2 ({FILE}/properties/a/oneOf)",
        f"a.c is required ({FILE}/properties/a/oneOf/1/required)",
    ]


def test_many_problems_are_cut(schema: Callable[[str], SectionSchema]) -> None:
    assert schema("items: {type: string}").problems([1] * 100)[20:] == ["and 80 more"]


def test_a_value_deeper_than_can_be_followed_is_a_problem(schema: Callable[[str], SectionSchema]) -> None:
    tree = schema("properties: {a: {$ref: '#'}, b: {default: 1}}")
    value: JSON = {}
    for _ in range(2000):
        value = {"a": value}
    assert tree.problems(tree.defaults(value)) == ["the section is nested too deep"]


def test_fields_of_an_open_object_are_not_forbidden(schema: Callable[[str], SectionSchema]) -> None:
    config = "type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}"
    checked = schema(f"properties: {{config: {{{config}}}}}")
    assert checked.problems({"config": {"b": {"c": 1}}}) == []
    assert len([*checked.problems({"config": {"a": 1}}), *checked.problems({"other": 1})]) == 2
