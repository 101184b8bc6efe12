"""Simple programs equal libjq: random programs of the grammar on random JSON, the outcome compared, errors with errors.

libjq runs in this process here, wrapped as a worker wraps it. What is not simple is tested in test_syntax.py.

Level: pure.
"""

import functools
from typing import Any

import jq
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrunner.errors import FilterFailed
from hookrunner.jq.compiler import outputs_of
from hookrunner.jq.filters import Filter
from hookrunner.jq.syntax import NotSimple
from hookrunner.jq.worker import AFTER, BEFORE
from tests.examples import several

NAMES = st.sampled_from(["a", "b", "and", "c_1"])
TEXTS = st.sampled_from(["", "a", "b", "é", "\U0001f600", "nul\0"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
INTEGERS = st.integers(-3, 3) | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 - 1, 123456789012345678])
FLOATS = st.sampled_from([-0.0, 1.0, 0.5, -1.5, 1e16, 1e17, 1.2345678901234568e17, 1e22, 1e300, 5e-324]) | st.floats(
    allow_nan=False, allow_infinity=False
)
LEAVES = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXTS, inner, max_size=4), max_leaves=12
)


def quoted(text: str) -> str:
    return orjson.dumps(text).decode()


STRINGS = TEXTS.map(quoted)
CONSTANTS = STRINGS | st.sampled_from(["null", "true", "false", "0", "1", "2", "123456789012345", "[]", "{}"])
STEPS = st.one_of(
    NAMES.map(".{}".format),
    STRINGS.map(".{}".format),
    STRINGS.map(".[{}]".format),
    st.integers(-3, 3).map(".[{}]".format),
    st.sampled_from([".[]", ".[1:]", ".[:2]", ".[-2:-1]", ".[1:-1]"]),
)
PATHS = st.lists(st.tuples(STEPS, st.sampled_from(["", "", "?"])).map("".join), min_size=1, max_size=4).map("".join)
CALLS = st.sampled_from(["keys", "length", "not", "type", "empty", 'has("a")', "has(1)", "."])
OPERATORS = st.sampled_from(["|", ",", "//", "and", "or", "==", "!=", "<", "<=", ">", ">="])


def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    key = st.one_of(NAMES, STRINGS, NAMES.map("(.{})".format))
    entry = st.one_of(st.tuples(key, part).map(lambda pair: f"{pair[0]}: ({pair[1]})"), NAMES, STRINGS)
    return st.one_of(
        st.tuples(part, OPERATORS, part).map(" ".join),
        st.tuples(part, OPERATORS, part).map(lambda parts: f"({' '.join(parts)})"),
        part.map("[{}]".format),
        part.map("({})?".format),
        part.map("map({})".format),
        part.map("select({})".format),
        st.tuples(part, STEPS).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.lists(entry, max_size=3).map(lambda entries: "{" + ", ".join(entries) + "}"),
        st.tuples(NAMES, part).map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
    )


PROGRAMS = st.recursive(PATHS | CONSTANTS | CALLS, larger, max_leaves=6)


@functools.lru_cache(maxsize=2000)
def compiled(program: str) -> Any:
    return jq.compile(BEFORE + "(" + program + AFTER)


def by_libjq(program: str, value: Any) -> bytes | str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    ready = compiled(program)  # not an expected error: whatever is simple, libjq takes
    try:
        outputs = [orjson.loads(output) for output in ready.input_text(text).all()]
    except ValueError:
        return "error"
    result = outputs[0] if len(outputs) == 1 else outputs or None
    return orjson.dumps(result, option=orjson.OPT_SORT_KEYS)


def by_python(program: str, value: Any) -> bytes | str:
    try:
        return Filter(program, outputs_of(program)).apply_now(value)
    except FilterFailed:
        return "error"


@pytest.mark.slow
@settings(max_examples=several(800), deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, st.lists(VALUES, min_size=1, max_size=4))
def test_a_simple_program_equals_libjq(program: str, values: list[Any]) -> None:
    try:
        outputs_of(program)
    except NotSimple:
        return
    for value in values:
        assert by_python(program, value) == by_libjq(program, value), (program, value)
