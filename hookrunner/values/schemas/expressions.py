"""Rules in CEL (`x-deckhouse-validations`), by the extra `cel`.

All numbers are doubles, as they are for addon-operator; where a rule needs integers (`self.replicas % 2 == 1`) they
are passed unchanged. A rule about an absent key holds, one about `oldSelf` is skipped where there was no value before.

A rule that cannot be evaluated for what a user wrote refuses it, whatever the reason is (`kubetypes/cel.py`).
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from hookrunner.values.schemas.node import Node, ValidationRule
from kubetypes import cel
from kubetypes.cel import CompiledRule, NoValue, TooLong, WrongExpression
from kubetypes.json_values import JSON

_ABSENT = re.compile(r"Key not found in map|Applying SELECT to non-message type")
_MISFIT = "No matching overloads found"


def problems(node: Node, value: JSON, old: JSON, path: str = "") -> Iterator[str]:
    """The messages of violated rules of a schema and of its properties, the inner ones first. `old` is None where there
    was no value before."""
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, inner in node.properties.items():
            if key in value:
                yield from problems(inner, value[key], before.get(key), f"{path}.{key}" if path else key)
    for index, rule in enumerate(node.rules):
        if message := _message(rule, value, old):
            yield f"{path or 'the section'}: {message} ({node.place}/x-deckhouse-validations/{index})"


def _message(rule: ValidationRule, value: JSON, old: JSON) -> str:
    """The message, "" if the rule holds."""
    try:
        compiled = _compiled(rule.expression)
        if compiled.uses_old and old is None:
            return ""
        result = _value(compiled, compiled.variables(value, old))
    except (WrongExpression, NoValue, OverflowError) as error:
        return "" if _ABSENT.search(str(error)) else f"the rule `{rule.expression}` cannot be checked: {_reason(error)}"
    if isinstance(result, bool):
        return "" if result else rule.message
    return f"the rule `{rule.expression}` gives neither true nor false"


def _reason(error: Exception) -> str:
    """The library's message if it is about the rule. A message about a value is replaced: it may quote the value."""
    if isinstance(error, WrongExpression):
        return str(error).partition("\n")[0]
    if isinstance(error, TooLong):
        return "it looks at more than 10,000 items in all its loops"
    return "it takes values of other types" if _MISFIT in str(error) else "it has no result for this value"


def _value(rule: CompiledRule, variables: dict[str, JSON]) -> JSON:
    """Evaluate. Raises `NoValue`; OverflowError for an integer that does not fit into a double."""
    try:
        return cel.evaluated(rule.program, _doubles(variables))
    except NoValue as error:
        if _MISFIT not in str(error):
            raise
    return cel.evaluated(rule.program, variables)


def _doubles(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    return float(value) if type(value) is int else value


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CompiledRule:
    """Compile an expression on `self`, and on `oldSelf` if it needs that. Raises `WrongExpression`."""
    return cel.compiled_rule(text, _environment)


@cache
def _environment(*variables: str) -> Any:
    return cel.environment(variables, ("strings",))
