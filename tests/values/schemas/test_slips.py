"""What is no schema and is overlooked by addon-operator: each row was put to its validator, values and all.

Level: pure."""

import pytest

from hookrunner.errors import BadModule
from hookrunner.values.schemas.schema_files import Schemas
from kubetypes.json_values import JSON
from tests.values.schemas.conftest import Written

ANYTHING: tuple[JSON, ...] = (True, "x", 1, 1.5, None, [], ["x"], {}, {"k": 1})
NOTHING: tuple[JSON, ...] = ()
ROWS: list[tuple[str, str, tuple[JSON, ...]]] = [
    ("type: bool", "a/type 'bool' is no type, so nothing is of it; did you mean 'boolean'?", NOTHING),
    ("type: [bool]", "a/type 'bool' is no type", NOTHING),
    ("type: [bool, string]", "a/type 'bool' is no type", ("x",)),
    ("type: ''", "a/type '' is no type, so nothing is of it; types are object, array", NOTHING),
    ("type: bool, nullable: true", "a/type", (None,)),
    ("anyOf: [{type: bool}, {type: string}]", "a/anyOf/0/type", ("x", None)),
    ("type: array, items: strings", "a/items is no schema, so items may be anything", ([], ["x"])),
    ("type: array, items: true", "a/items", ([], ["x"])),
    ("type: array, items: {type: bool}", "a/items/type", ([],)),
    ("type: array, items: [{type: string}], additionalItems: x", "a/additionalItems", ([], ["x"])),
    ("type: object, additionalProperties: string", "a/additionalProperties is neither", ({}, {"k": 1})),
    ("type: object, additionalProperties: 'false'", "a/additionalProperties is neither", ({}, {"k": 1})),
    ("type: string, minLength: -1", "a/minLength is below 0, so it says nothing", ("x",)),
    ("type: string, maxLength: -1", "a/maxLength is below 0, so nothing fits", NOTHING),
    ("type: number, multipleOf: 0", "a/multipleOf is not above 0, so no number fits", NOTHING),
    ("type: number, multipleOf: -1", "a/multipleOf is not above 0", NOTHING),
    ("type: string, pattern: '['", "a/pattern '[' is no regular expression: ", NOTHING),
    ("type: string, pattern: '^(?!a).*$'", "so no text fits", NOTHING),
    ("pattern: '['", "a/pattern", (True, 1, 1.5, None, [], ["x"], {})),
    ("type: object, patternProperties: {'[': {}}", "a/patternProperties '[' is no regular expression: ", ({},)),
    ("dependencies: {a: b, c: 5}", "a/dependencies/a is neither a list of keys nor a schema", ANYTHING[:-1]),
]


def first(schemas: Schemas) -> str:
    (slip, *_) = schemas.slips
    return str(slip)


@pytest.mark.parametrize(("text", "told", "fitting"), ROWS, ids=[row[0] for row in ROWS])
def test_slip_is_read_as_addon_operator_reads_it_and_reported(
    written: Written, text: str, told: str, fitting: tuple[JSON, ...]
) -> None:
    schemas = written(f"properties: {{a: {{{text}}}}}")
    assert schemas.config is not None
    assert told in first(schemas)
    accepted = [repr(one) for one in ANYTHING if not schemas.config.problems({"a": one})]
    assert accepted == [repr(one) for one in fitting]
    assert schemas.config.problems({}) == []


def test_a_slip_has_its_file_and_place(written: Written) -> None:
    schemas = written("properties: {a: {type: bool}}", "definitions: {x: {items: strings}}")
    places = [slip.place for slip in schemas.slips]
    assert places == ["openapi/config-values.yaml#/properties/a/type", "openapi/values.yaml#/definitions/x/items"]


def test_impossible_type_says_to_correct_the_schema(written: Written) -> None:
    config = written("properties: {a: {type: bool}}").config
    assert config is not None
    (line,) = config.problems({"a": True})
    assert line.startswith("a must be of type bool, not boolean; that is not a type: correct the schema (")


def test_number_in_required_for_helm_requires_nothing(written: Written) -> None:
    schemas = written(None, "{x-required-for-helm: 5, properties: {a: {}}}")
    assert schemas.helm is not None
    assert schemas.helm.problems({}) == []
    assert first(schemas).endswith("#/x-required-for-helm is neither a key nor a list of keys, so nothing is required")


@pytest.mark.parametrize("text", ["type: {a: b}", "items: [strings]", "properties: {a: string}", "minLength: '3'"])
def test_schema_that_addon_operator_refuses_is_refused(written: Written, text: str) -> None:
    with pytest.raises(BadModule):
        written(text)
