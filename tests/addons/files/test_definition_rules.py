"""Rules in CEL of an addon's kind, checked offline: by the words of the definition, as the sandbox refuses objects.

Level: pure."""

from typing import Any

import pytest

from hookrunner.addons.addon_crd import read_object_schema
from hookrunner.addons.files.definition_rules import broken_rules, unchecked_rules
from kubesandbox.structural.rules import Rules
from kubetypes import cel
from kubetypes.json_values import JSON
from tests.addons.conftest import addon as addon_value
from tests.kubesandbox.structural.test_rules import TABLE
from tests.tables import each

EVEN = {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0", "message": "must be even"}]}


def of_spec(**properties: JSON) -> JSON:
    return {"properties": {"spec": {"type": "object", "properties": properties}}}


def broken(schema: JSON, spec: JSON) -> list[str]:
    return list(broken_rules(schema, {"spec": spec}))


def test_each_rule_holds_where_the_sandbox_says_so() -> None:
    """The sandbox's own verdicts are compared with those of a real API server (tests/kubesandbox)."""
    cases = [(schema, value) for schema, values in TABLE for value in values]
    ours = [bool(broken(of_spec(field=schema), {"field": value})) for schema, value in cases]
    assert ours == [any(Rules(schema).problems(value, None)) for schema, value in cases]


@each(
    ("properties", "spec", "messages"),
    [
        ({"replicas": EVEN}, {"replicas": 3}, ["spec.replicas: must be even"]),
        ({"replicas": EVEN}, {"replicas": None}, []),
        ({"replicas": EVEN | {"default": 1}}, {}, ["spec.replicas: must be even"]),
        ({"nodes": {"items": EVEN}}, {"nodes": [2, 1]}, ["spec.nodes[1]: must be even"]),
        ({"sizes": {"additionalProperties": EVEN}}, {"sizes": {"x": 1}}, ["spec.sizes.x: must be even"]),
    ],
)
def test_message_names_the_place(properties: Any, spec: JSON, messages: list[str]) -> None:
    assert broken(of_spec(**properties), spec) == messages


@each(
    "rules",
    [
        5,
        {"rule": "false"},
        [5],
        [{}],
        [{"rule": 5}],
        [{"rule": ""}],
        [{"rule": "true", "message": 5, "messageExpression": 5, "fieldPath": 5}],
    ],
)
def test_whatever_stands_in_place_of_rules_is_no_fault(rules: Any) -> None:
    schema = of_spec(a={"x-kubernetes-validations": rules, "properties": {"b": None}, "items": 5})
    assert broken(schema, {"a": {"b": [1], "c": [2]}}) == []
    assert broken(schema, {"a": [1]}) == []
    assert {rule.path for rule in unchecked_rules(schema)} <= {("properties", "spec", "properties", "a")}


def test_rule_about_an_earlier_value_says_nothing_about_a_new_object() -> None:
    kept = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    schema = of_spec(name=kept)
    assert (broken(schema, {"name": "a"}), list(unchecked_rules(schema))) == ([], [])


def test_rule_sees_bytes_and_numbers_of_their_types() -> None:
    """A text that is no base64 stays a text, which another check refuses."""
    key = {"type": "string", "format": "byte", "x-kubernetes-validations": [{"rule": "size(self) == 3"}]}
    part = {"type": "number", "x-kubernetes-validations": [{"rule": "self < 1.5"}]}
    schema = of_spec(key=key, part=part)
    assert broken(schema, {"key": "YWJj", "part": 1}) == []
    assert len(broken(schema, {"key": "YWI=", "part": 2})) == 2
    assert len(broken(schema, {"key": "?", "part": 1})) == 1


def test_rule_that_cannot_be_decided_here_is_left_to_the_api_server() -> None:
    until = {"properties": {"until": {"type": "string", "format": "date-time"}}}
    rules = {"x-kubernetes-validations": [{"rule": "self.until > timestamp('2026-01-01T00:00:00Z')"}]}
    unknown = {"type": "string", "x-kubernetes-validations": [{"rule": "quantity(self).isInteger()"}]}
    schema = of_spec(window=until | rules, memory=unknown)
    assert broken(schema, {"window": {"until": "2025-01-01T00:00:00Z"}, "memory": "1Gi"}) == []
    assert [rule.path[-1] for rule in unchecked_rules(schema)] == ["window", "memory"]


def test_without_the_library_every_rule_is_left_to_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cel, "find_spec", lambda name: None)
    schema = of_spec(replicas=EVEN)
    assert broken(schema, {"replicas": 3}) == []
    assert [rule.reason for rule in unchecked_rules(schema)] == [
        "the library that checks them is missing: pip install 'hookrunner[cel]'"
    ]


def test_schema_is_the_whole_object_of_a_definition_that_we_make() -> None:
    assert read_object_schema(addon_value())["properties"]["spec"]["properties"].keys() >= {"version", "patches"}
    assert read_object_schema(addon_value(of={"crd": "external"})) == {}
