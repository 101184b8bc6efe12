"""Which programs run in this process, and that every other text is left to libjq, whatever it is. Level: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.jq.compiler import outputs_of
from hookrunner.jq.syntax import NotSimple
from tests.tables import each

SIMPLE = [
    ".",
    ".metadata.labels",
    '.metadata.annotations["example.com/a"]',
    ".a[0].b[-1]?",
    ".spec.containers[].image",
    "[.spec.containers[] | {name, image}]",
    '{"n": .metadata.name, r: (.spec.replicas // 1), (.kind): true}',
    '.items | map(select(.status.phase == "Running" and (.metadata | has("labels")))) | length',
    ".a # the rest is a comment",
    ".a\n  | .b",
    ".a[1:3], .b[:-1]",
]

LEFT_TO_LIBJQ = [
    "",
    ".a[[",
    "..",
    "..[0]",
    ".a?//.b",
    ".a??",
    ".a + 1",
    ".a = 1",
    ".a |= 1",
    '"\\(.a)"',
    '"\\ud800"',
    "1.5",
    "1234567890123456",
    ".[9999999999]",
    ".a # comment \\",
    "$x",
    "@json",
    "def f: .; f",
    "if . then 1 else 2 end",
    'test("x")',
    "{(1): 2}",
    "1 == 1 == 1",
    "{a: 1,}",
    "null.a?.b",
    ".a.[1:]",
    ".a b",
    "\ufeff.",
]

# Each would take time or memory beyond proportion to its input, and nothing here can be interrupted.
MORE_THAN_LINEAR = [
    "|".join(["(., .)"] * 10),
    "|".join(["[., .]"] * 10),
    "{a: .x[], b: .y[]}",
    "{a: .x[], b: .}",
    ".x[] == .y",
    ".x[] and .y",
    "(.x, .y) == (.x, .y)",
    "[" * 21 + "]" * 21,
    "|".join(["."] * 200),
]


@each("program", SIMPLE)
def test_simple_programs_are_compiled_here(program: str) -> None:
    assert callable(outputs_of(program))


@each("program", LEFT_TO_LIBJQ + MORE_THAN_LINEAR)
def test_other_programs_are_left_to_libjq(program: str) -> None:
    with pytest.raises(NotSimple):
        outputs_of(program)


def test_an_objects_own_order_is_left_to_libjq() -> None:
    with pytest.raises(NotSimple):
        outputs_of("{b: 1, a: 2} | .[]")


@given(st.text() | st.text('.,|[](){}"\\ ab01?:/<=>-#\n'))
def test_any_text_is_compiled_or_left_to_libjq(program: str) -> None:
    try:
        outputs_of(program)
    except NotSimple:
        return
