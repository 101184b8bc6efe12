"""Rules in CEL: what they say of an object, equal to a real API server's; and which of them are refused.

Level: control plane."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kubesandbox.structural import validate
from kubesandbox.structural.definitions import definition
from kubetypes.openapi.schemas import Schema
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural import widgets
from tests.kubesandbox.structural.widgets import Raw, Widgets, said, told, with_fields
from tests.tables import each

TEXT = {"type": "string", "maxLength": 20}
NUMBER = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT, "maxItems": 5}
NUMBERS = {"type": "array", "items": NUMBER, "maxItems": 5}
RANGE = {
    "type": "object",
    "properties": {"low": NUMBER, "high": NUMBER, "x-y": NUMBER, "namespace": TEXT, "f": {"type": "number"}},
}
COUNTS = {"type": "object", "maxProperties": 5, "additionalProperties": NUMBER}
PART = {"type": "object", "required": ["n"], "properties": {"n": TEXT, "v": NUMBER}}
PARTS = {
    "type": "array",
    "maxItems": 5,
    "items": PART,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["n"],
}
EITHER = {"x-kubernetes-int-or-string": True}


def _with(schema: Raw, rule: str, **more: str) -> Raw:
    return schema | {"x-kubernetes-validations": [{"rule": rule} | more]}


TABLE: list[tuple[Raw, list[Any]]] = [
    (_with(RANGE, "self.low <= self.high"), [{"low": 1, "high": 2}, {"low": 3, "high": 2}, {"low": 1}]),
    (_with(RANGE, "!has(self.low) || self.low > 0", message="low is low"), [{}, {"low": 0}, {"low": "x"}]),
    (_with(RANGE, "self.low > 0", fieldPath=".low", reason="FieldValueForbidden", message="no"), [{"low": 0}]),
    (_with(RANGE, "self.low > 0", reason="FieldValueRequired", message="no"), [{"low": 0}]),
    (_with(RANGE, "self.low > 0", reason="FieldValueDuplicate", message="no"), [{"low": 0}]),
    (_with(RANGE, "self.low > 0", messageExpression="'low in ' + self.__namespace__"), [{"low": 0, "namespace": "a"}]),
    (_with(RANGE, "self.low > 0", messageExpression="'low in ' + self.__namespace__", message="m"), [{"low": 0}]),
    (_with(RANGE, "self.x__dash__y == 1 && self.__namespace__ == 'a'"), [{"x-y": 1, "namespace": "a"}, {"x-y": 2}]),
    (_with(RANGE, "self.f + 0.5 > 1.0"), [{"f": 1}, {"f": 0}]),
    (_with(RANGE, "self.?low.orValue(3) > 2"), [{}, {"low": 1}]),
    (_with(RANGE, "self.low / self.high > 0"), [{"low": 1, "high": 0}, {"low": 2, "high": 1}]),
    (_with(TEXT, "self.startsWith('a')"), ["ab", "b", None]),
    (_with(TEXT, "self.matches('^[a-z]+$')", message="  lower case  "), ["ab", "B"]),
    (_with(TEXT, "self.split(',').size() > 1 && self.lowerAscii() == self"), ["a,b", "a", "A,b"]),
    (_with(TEXT, "self.find('[0-9]+') == '12'"), ["a12b", "a"]),
    (_with(TEXT, "self in ['a', 'b']", reason="FieldValueDuplicate"), ["a", "c"]),
    (_with(NUMBER, "self % 2 == 0"), [2, 3]),
    (_with(TEXTS, "self.all(x, self.exists_one(y, x == y))", message="twice"), [["a", "b"], ["a", "a"], []]),
    (_with(NUMBERS, "self.isSorted() && self.sum() < 10"), [[1, 2], [2, 1], [5, 6]]),
    (_with(NUMBERS, "self.max() - self.min() < 3"), [[1, 2], [1, 9]]),
    (_with(NUMBERS, "self[1] > 0"), [[1, 2], [1]]),
    (_with(NUMBERS, "sets.contains([1, 2, 3], self)"), [[1, 2], [4]]),
    (_with(COUNTS, "self.all(k, self[k] > 0) && !('x' in self)"), [{"a": 1}, {"a": 0}, {"x": 1}]),
    (_with(EITHER, "type(self) == int ? self > 0 : self.endsWith('%')"), [1, 0, "5%", "5"]),
    (_with(EITHER, "self > 0"), [1, "x"]),
    ({"type": "array", "maxItems": 5, "items": _with(PART, "self.v > 0")}, [[{"n": "a", "v": 0}, {"n": "b", "v": 1}]]),
    (COUNTS | {"additionalProperties": _with(NUMBER, "self > 0")}, [{"a": 0, "b": 1}]),
    (_with(RANGE | {"required": ["low"]}, "self.low > 0"), [{}, {"low": 0}]),
    (_with(TEXTS, "self.distinct().size() == size(self) && self.slice(0, 1) == ['a']"), [["a", "b"], ["a", "a"]]),
    (_with(TEXT, "isIP(self) || isCIDR(self) || isURL(self)"), ["::1", "10.0.0.0/8", "http://a", "a"]),
]
LOWER = {"low": 2, "namespace": "x"}
CHANGING: list[tuple[Raw, Any, Any]] = [
    (_with(TEXT, "self == oldSelf", message="immutable"), "a", "b"),
    (_with(TEXT, "self == oldSelf", message="immutable"), "a", "a"),
    (_with(TEXT, "self == oldSelf", message="immutable"), None, "a"),
    (_with(RANGE, "self.low >= oldSelf.low", messageExpression="'was ' + oldSelf.__namespace__"), LOWER, {"low": 1}),
    (
        PARTS | {"items": _with(PART, "self.v >= oldSelf.v")},
        [{"n": "a", "v": 5}],
        [{"n": "b", "v": 1}, {"n": "a", "v": 4}],
    ),
    (COUNTS | {"additionalProperties": _with(NUMBER, "self >= oldSelf")}, {"a": 5, "b": 5}, {"a": 4, "c": 1}),
]
CASES = [(f"f{index}", value) for index, (_, values) in enumerate(TABLE) for value in values]
FIELDS = {f"f{index}": schema for index, (schema, _) in enumerate(TABLE)}
FIELDS |= {f"u{index}": schema for index, (schema, _, _) in enumerate(CHANGING)}


@pytest.fixture(scope="module")
def served(oracle: Oracle) -> Iterator[Widgets]:
    """All rules, each on a field."""
    with widgets.widgets(oracle, with_fields(**FIELDS)) as served:
        yield served


@each(("key", "value"), CASES, ids=[f"{key}-{value}" for key, value in CASES])
def test_a_rule_says_what_the_api_server_says(served: Widgets, key: str, value: Any) -> None:
    assert served.ours({"spec": {key: value}}) == served.theirs({"spec": {key: value}})


@each("index", range(len(CHANGING)))
def test_a_rule_on_a_change_says_what_the_api_server_says(oracle: Oracle, served: Widgets, index: int) -> None:
    _, before, after = CHANGING[index]
    named = served.named({"metadata": {"name": f"u{index}"}})
    old = oracle.made(served.path, named | {"spec": {} if before is None else {f"u{index}": before}})
    new = old | {"spec": {f"u{index}": after}}
    _, answer = oracle.put(f"{served.path}/u{index}", new, dry=True, known_as=index)
    assert told(validate.problems(new, Schema(with_fields(**FIELDS)), old)) == said(answer)


@each(
    ("schema", "field"),
    [
        (_with(TEXT, "self =="), "rule"),
        (_with(TEXT, "foo(self)"), "rule"),
        (_with(TEXT, "url(self).getHost() == 'a'"), "rule"),
        (_with(TEXT, "true", messageExpression="'a' +"), "messageExpression"),
        (
            _with({"type": "object", "properties": {"at": TEXT | {"format": "date-time"}}}, "self.at > oldSelf.at"),
            "rule",
        ),
    ],
    ids=str,
)
def test_what_the_sandbox_cannot_evaluate_is_refused_with_the_definition(schema: Raw, field: str) -> None:
    body = definition.defaulted(widgets.definition(with_fields(v=schema)))
    (cause,) = definition.problems(body, None)
    assert cause.field.endswith(f"properties[v].x-kubernetes-validations[0].{field}")
    assert "the sandbox cannot evaluate this rule: " in cause.message


def test_without_the_library_a_warning_names_what_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    ruled = _with(TEXT, "self.startsWith('a')")
    schema = with_fields(a=ruled, b={"type": "array", "items": ruled})
    body = definition.defaulted(widgets.definition(schema))
    assert definition.problems(body, None) == []
    assert validate.problems({"spec": {"a": "b"}}, Schema(schema)) == []
    (warning,) = definition.warnings(body)
    assert warning.endswith("here: spec.a, spec.b[*]")
