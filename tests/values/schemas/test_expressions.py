"""Rules in CEL: when they are asked, what they see, and what a rule that cannot be evaluated means. Level: pure."""

import sys
from collections.abc import Callable

import pytest

from hookrunner.errors import BadModule
from hookrunner.values.schemas.schema import SectionSchema
from kubetypes.json_values import JSON
from tests.tables import each


def test_without_the_library_a_schema_with_rules_cannot_be_used(
    schema: Callable[[str], SectionSchema], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    with pytest.raises(BadModule, match=r"#/properties/a: .*pip install 'hookrunner\[cel\]'"):
        schema(f"properties: {{a: {{x-deckhouse-validations: {_rules('true')}}}}}")


def _rules(*rules: str) -> str:
    return "[" + ", ".join(f'{{expression: "{rule}", message: wrong}}' for rule in rules) + "]"


@each(
    ("rule", "value", "holds"),
    [
        ("self.a >= 1", {"a": 1}, True),
        ("self.a >= 1", {"a": 0}, False),
        ("self.a == 1", {"a": 1}, True),
        ("self.a * 0.5 > 1.0", {"a": 3}, True),
        ("self.a % 2 == 1", {"a": 3}, True),
        ("self.a % 2 == 1", {"a": 4}, False),
        ("size(self.l) == self.a", {"l": [1, 2], "a": 2}, True),
        ("1 in self.l", {"l": [2]}, False),
        ("self.missing == 1", {"a": 1}, True),
        ("has(self.a) && self.a == 'x'", {"a": "x"}, True),
        ("self.a == null", {"a": None}, True),
        ("self.t.lowerAscii() == 'ab'", {"t": "AB"}, True),
    ],
)
def test_a_rule_holds_or_not(schema: Callable[[str], SectionSchema], rule: str, value: JSON, holds: bool) -> None:
    checked = schema(f"{{additionalProperties: true, x-deckhouse-validations: {_rules(rule)}}}")
    place = "openapi/config-values.yaml#/x-deckhouse-validations/0"
    assert checked.problems(value) == ([] if holds else [f"the section: wrong ({place})"])


def test_a_message_of_several_lines_becomes_one(schema: Callable[[str], SectionSchema]) -> None:
    checked = schema('{x-deckhouse-validations: [{expression: "false", message: "one\\n  two"}]}')
    assert checked.problems({})[0].startswith("the section: one two (")


@each(
    ("value", "old", "holds"),
    [
        ({"a": 1}, None, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, True),
    ],
)
def test_a_rule_about_a_change_is_asked_where_something_was(
    schema: Callable[[str], SectionSchema], value: JSON, old: JSON, holds: bool
) -> None:
    checked = schema(f"{{properties: {{a: {{}}}}, x-deckhouse-validations: {_rules('self.a == oldSelf.a')}}}")
    assert (checked.problems(value, old) == []) is holds


def test_rules_of_properties_are_asked_where_there_is_a_value_and_before_those_around(
    schema: Callable[[str], SectionSchema],
) -> None:
    never, same = _rules("false"), _rules("self == oldSelf")
    text = f"""
      properties:
        a: {{properties: {{b: {{x-deckhouse-validations: {never}}}}}}}
        c: {{x-deckhouse-validations: {same}}}
        l: {{items: {{x-deckhouse-validations: {never}}}}}
      x-deckhouse-validations: {never}
    """
    checked = schema(text)
    wrong = checked.problems({"a": {"b": 1}, "c": 1, "l": [1]}, {"c": 2})
    assert [line.split(":")[0] for line in wrong] == ["a.b", "c", "the section"]
    assert [line.split(":")[0] for line in checked.problems({"a": {}, "c": 1}, {"a": {}})] == ["the section"]


def test_rules_are_asked_only_of_what_is_otherwise_right(schema: Callable[[str], SectionSchema]) -> None:
    text = f"{{properties: {{a: {{type: integer}}}}, x-deckhouse-validations: {_rules('self.a > 1')}}}"
    assert len(schema(text).problems({"a": "text"})) == 1
    assert "must be of type integer" in schema(text).problems({"a": "text"})[0]


@each(
    ("rule", "said"),
    [
        ("self.a ==", "the rule `self.a ==` cannot be checked: "),
        ("nothing.a == 1", "cannot be checked: "),
        ("self.a.startsWith('x')", "cannot be checked: "),
        ("self.a", "gives neither true nor false"),
    ],
)
def test_a_rule_that_cannot_be_asked_does_not_hold(
    schema: Callable[[str], SectionSchema], rule: str, said: str
) -> None:
    checked = schema(f"{{properties: {{a: {{}}}}, x-deckhouse-validations: {_rules(rule)}}}")
    assert said in checked.problems({"a": 1})[0]
