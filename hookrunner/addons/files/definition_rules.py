"""Rules in CEL of an addon's kind (`x-kubernetes-validations`), checked without a cluster as the API server checks them
when an object is created: for files, which no API server has seen.

    schema = read_object_schema(addon)
    broken = list(broken_rules(schema, document))

A rule that cannot be decided here is left to the API server: about an earlier value (`oldSelf`), about points and spans
of time, with functions that the library lacks, and every rule where the library itself is missing. `unchecked_rules`
names those that never can be.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import NamedTuple

from kubetypes import cel, kubernetes_cel
from kubetypes.cel import CompiledRule, NoValue, TooLong, WrongExpression
from kubetypes.json_values import JSON

RULES = "x-kubernetes-validations"


class UncheckedRule(NamedTuple):
    """A rule that only an API server can check. `path` leads from the whole schema to the one that has it."""

    path: tuple[str, ...]
    rule: str
    reason: str


def broken_rules(schema: JSON, document: JSON) -> Iterator[str]:
    """The messages of rules that a new object breaks, each with its path. Types are not checked here: values of a
    wrong type have been refused before."""
    if cel.available():
        yield from _broken(schema, _defaulted(document, schema), "")


def unchecked_rules(schema: JSON, path: tuple[str, ...] = ()) -> Iterator[UncheckedRule]:
    """The rules of a schema that cannot be checked here, with the reason. Those about an earlier value are left
    out: they say nothing about a new object."""
    if not isinstance(schema, dict):
        return
    listed, rules = schema.get(RULES), _rules_of(schema)
    if listed and (not isinstance(listed, list) or len(rules) < len(listed)):
        yield UncheckedRule(path, RULES, "write a list of {rule: TEXT, message: TEXT}")
    for rule in rules:
        if reason := _why_unchecked(rule, schema):
            yield UncheckedRule(path, rule["rule"], reason)
    for keys, inner in _inner_schemas(schema):
        yield from unchecked_rules(inner, (*path, *keys))


def _rules_of(schema: JSON) -> list[dict[str, JSON]]:
    """The rules of a schema that are written as rules: its author may have written anything."""
    listed = schema.get(RULES) if isinstance(schema, dict) else None
    entries = listed if isinstance(listed, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("rule"), str)]


def _inner_schemas(schema: JSON) -> Iterator[tuple[tuple[str, ...], JSON]]:
    for name, inner in (schema.get("properties") or {}).items():
        if isinstance(inner, dict):
            yield ("properties", name), inner
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield (key,), schema[key]


def _why_unchecked(rule: Mapping[str, JSON], schema: JSON) -> str:
    """Why a rule cannot be checked, "" if it can."""
    if not cel.available():
        return "the library that checks them is missing: pip install 'hookrunner[cel]'"
    if _has_times(schema):
        return "it stands where points or spans of time are"
    try:
        kubernetes_cel.compiled_rule(rule["rule"])
    except WrongExpression as error:
        return str(error)
    return ""


def _has_times(schema: JSON) -> bool:
    return schema.get("format") in kubernetes_cel.TIMES or any(_has_times(inner) for _, inner in _inner_schemas(schema))


# ── evaluation ────────────────────────────────────────────────────────────────────────────────────────────────────


def _broken(schema: JSON, value: JSON, path: str) -> Iterator[str]:
    """The messages for a value and for what is inside of it."""
    if value is None:
        return
    for rule in _rules_of(schema):
        if not _why_unchecked(rule, schema) and (message := _complaint(rule, kubernetes_cel.cel_value(value, schema))):
            place = ".".join(filter(None, (path, str(rule.get("fieldPath") or "").strip("."))))
            yield f"{place}: {message}".removeprefix(": ")
    if isinstance(value, dict):
        additional = schema.get("additionalProperties")
        for key, inner in value.items():
            below = (schema.get("properties") or {}).get(key, additional)
            if isinstance(below, dict):
                yield from _broken(below, inner, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _broken(_items(schema), element, f"{path}[{index}]")


def _complaint(rule: Mapping[str, JSON], value: JSON) -> str:
    """The message of a rule, "" if it holds or is about a change."""
    test = kubernetes_cel.compiled_rule(rule["rule"])
    if test.uses_old:
        return ""
    try:
        holds = kubernetes_cel.rule_value(test, value, None) is True
    except TooLong:
        return ""  # the API server counts otherwise
    except NoValue as error:
        return f"the rule `{rule['rule'].strip()}` has no result: {error}"
    return "" if holds else _message(rule, value)


def _message(rule: Mapping[str, JSON], value: JSON) -> str:
    """What `messageExpression` says, else `message`, else the rule itself."""
    text = rule.get("messageExpression")
    spoken = _text_of(text, value) if isinstance(text, str) else ""
    return spoken or str(rule.get("message") or f"failed rule: {rule['rule']}").strip()


def _text_of(expression: str, value: JSON) -> str:
    try:
        compiled: CompiledRule = kubernetes_cel.compiled_rule(expression)
        text = kubernetes_cel.rule_value(compiled, value, None)
    except (WrongExpression, NoValue):
        return ""
    return text.strip() if isinstance(text, str) else ""


# ── defaults ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _defaulted(value: JSON, schema: JSON) -> JSON:
    """A value with the defaults of its schema, which the API server fills in before it asks rules."""
    if isinstance(value, list):
        return [_defaulted(element, _items(schema)) for element in value]
    if not isinstance(value, dict):
        return value
    properties = _properties(schema)
    missing = {key: deepcopy(inner["default"]) for key, inner in properties.items() if "default" in inner}
    additional = schema.get("additionalProperties")
    rest = additional if isinstance(additional, dict) else {}
    return {key: _defaulted(inner, properties.get(key, rest)) for key, inner in (missing | value).items()}


def _properties(schema: JSON) -> dict[str, JSON]:
    return {key: inner for key, inner in (schema.get("properties") or {}).items() if isinstance(inner, dict)}


def _items(schema: JSON) -> JSON:
    items = schema.get("items")
    return items if isinstance(items, dict) else {}
