"""Random schemas and values: what is right is what the library `jsonschema` finds right by draft 4.

Not compared, because addon-operator has it otherwise: nulls, whole numbers such as 1.0, defaults, formats, and what
leaving out `additionalProperties` means.

Level: pure.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from hookrunner.values.schemas.schema_files import load
from kubetypes.json_values import JSON
from tests.examples import several

_NAMES = st.sampled_from("abc")
_NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, -2.5])
_SCALARS = st.booleans() | _NUMBERS | st.text("ab1", max_size=3)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=6
)
_TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean"])
_SIZES = st.integers(0, 3)


def _schemas(inner: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(_NAMES, inner, max_size=3)
    keywords = {
        "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(_VALUES, min_size=1, max_size=3, unique_by=orjson.dumps),
        "minimum": _NUMBERS,
        "maximum": _NUMBERS,
        "multipleOf": st.integers(1, 3),
        **{f"{end}{what}": _SIZES for end in ("min", "max") for what in ("Length", "Items", "Properties")},
        "pattern": st.sampled_from(["^a", "b$", "a.*1", "[0-9]"]),
        "uniqueItems": st.booleans(),
        "items": inner | st.lists(inner, max_size=2),
        "additionalItems": st.booleans() | inner,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner, max_size=2),
        "additionalProperties": st.booleans() | inner,
        "required": st.lists(_NAMES, min_size=1, unique=True),
        "dependencies": st.dictionaries(_NAMES, inner | st.lists(_NAMES, min_size=1, unique=True), max_size=2),
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
    }
    bounds = {f"exclusive{end}": st.booleans() for end in ("Minimum", "Maximum")}
    return st.fixed_dictionaries({}, optional=keywords | bounds).map(_sound)


def _sound(schema: dict[str, JSON]) -> dict[str, JSON]:
    """Draft 4 has `exclusiveMinimum` only beside `minimum`."""
    return {key: one for key, one in schema.items() if not key.startswith("exclusive") or key[9:].lower() in schema}


@pytest.mark.slow
@settings(max_examples=several(100), deadline=None)
@given(st.recursive(st.just({}), _schemas, max_leaves=8), st.lists(_VALUES, min_size=1, max_size=6))
def test_valid_values_are_those_of_a_reference_library(schema: JSON, values: list[JSON]) -> None:
    # Under `patternProperties` everything is as it is written.
    document = {"patternProperties": {"": schema}}
    with TemporaryDirectory() as directory:
        path = Path(directory) / "openapi" / "config-values.yaml"
        path.parent.mkdir()
        path.write_bytes(orjson.dumps(document))
        config = load(Path(directory), "it").config
    assert config is not None
    library = Draft4Validator(schema)
    for value in values:
        assert (config.problems({"it": value}) == []) == library.is_valid(value), (schema, value)
