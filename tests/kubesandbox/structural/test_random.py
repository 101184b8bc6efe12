"""Random structural schemas, random objects: the real API server and we agree on what is kept and what is wrong.

One definition has many schemas, each a field of its spec, because serving one takes the server a moment.

Level: control plane.
"""

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kubesandbox.structural.definitions import definition as structural
from tests.kubesandbox.oracle import ONLY_LIVE, Oracle
from tests.kubesandbox.structural.widgets import CRDS, Causes, Raw, definition, said, told, widgets, with_fields

KEYS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "a", "ab", "abc", "b1", "10.0.0.1", "2024-01-01"])
NUMBERS = st.integers(-3, 4)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, TEXTS, st.sampled_from([0.5, 1.5, -2.5, 3.25])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


def _some(required: Raw, optional: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Raw]:
    """An object with all of the first fields and any of the second."""
    fixed = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in required.items()}
    return st.fixed_dictionaries(fixed, optional=optional)


LIMITS = {"minimum": st.integers(-2, 2), "maximum": st.integers(-2, 3), "exclusiveMinimum": st.booleans()}
LENGTHS = {"minLength": st.integers(0, 2), "maxLength": st.integers(0, 3)}
SIZES = {"minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)}
TEXT_RULES = LENGTHS | {
    "pattern": st.sampled_from(["^a", "b$", "[0-9]", "^[a-c]*$"]),
    "enum": st.just(["a", "ab", "b1"]),
}
FORMATS = st.sampled_from(["ipv4", "date", "date-time", "byte", "unheard-of"])
NULLABLE = {"nullable": st.booleans()}
TEXT = _some({"type": "string"}, TEXT_RULES | NULLABLE | {"format": FORMATS})
INTEGER = _some({"type": "integer"}, LIMITS | NULLABLE | {"multipleOf": st.integers(1, 3)})
NUMBER = _some({"type": "number"}, LIMITS | NULLABLE | {"multipleOf": st.sampled_from([0.5, 2])})
FLAG = _some({"type": "boolean"}, NULLABLE | {"default": st.booleans()})
EITHER = _some({"x-kubernetes-int-or-string": True}, TEXT_RULES | LIMITS | NULLABLE)
ANYTHING = _some({"x-kubernetes-preserve-unknown-fields": True}, NULLABLE)
NARROWING = _some({}, TEXT_RULES | LIMITS | SIZES | {"required": st.lists(KEYS, max_size=2, unique=True)})
BRANCHES = st.lists(NARROWING, min_size=1, max_size=3)
COMBINED = {"anyOf": BRANCHES, "oneOf": BRANCHES, "allOf": BRANCHES, "not": NARROWING}


def _containers(inner: st.SearchStrategy[Raw]) -> st.SearchStrategy[Raw]:
    struct = {"properties": st.dictionaries(KEYS, inner, min_size=1, max_size=3)}
    required = {
        "required": st.lists(KEYS, max_size=2, unique=True),
        "x-kubernetes-preserve-unknown-fields": st.just(True),
    }
    counts = {"minProperties": st.integers(0, 2), "maxProperties": st.integers(0, 2)}
    return st.one_of(
        _some({"type": "object"} | struct, required | counts | NULLABLE | COMBINED),
        _some({"type": "object", "additionalProperties": inner}, counts | NULLABLE | COMBINED),
        _some({"type": "array", "items": inner}, SIZES | NULLABLE | COMBINED),
        st.builds(lambda schema, more: more | schema, inner, _some({}, COMBINED)),
    )


SCHEMAS = st.recursive(st.one_of(TEXT, INTEGER, NUMBER, FLAG, EITHER, ANYTHING), _containers, max_leaves=5)


@ONLY_LIVE
@settings(
    max_examples=4,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(table=st.lists(st.tuples(SCHEMAS, st.lists(VALUES, min_size=3, max_size=6)), min_size=15, max_size=25))
def test_we_agree_with_the_api_server_on_any_schema(oracle: Oracle, table: list[tuple[Raw, list[Any]]]) -> None:
    body = definition(_fields([schema for schema, _ in table]))
    _, answer = oracle.ask("POST", CRDS, body, dryRun="All")
    assert set(_wrong(body)) == set(said(answer))
    right = [(schema, values) for schema, values in table if not _wrong(definition(_fields([schema])))]
    with widgets(oracle, _fields([schema for schema, _ in right])) as served:
        for index, (_, values) in enumerate(right):
            for value in values:
                obj = {"spec": {f"f{index}": {"v": value}}}
                assert served.ours(obj) == served.theirs(obj)


def _fields(schemas: list[Raw]) -> Raw:
    fields = {f"f{index}": {"type": "object", "properties": {"v": schema}} for index, schema in enumerate(schemas)}
    return with_fields(**fields)


def _wrong(body: Raw) -> Causes:
    return told(structural.problems(structural.defaulted(body), None))
