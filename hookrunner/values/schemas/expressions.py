"""Rules in CEL (`x-deckhouse-validations`), by the extra `cel`.

All numbers are doubles, as they are for addon-operator; where a rule needs integers (`self.replicas % 2 == 1`) they
are passed unchanged. A rule about an absent key holds, one about `oldSelf` is skipped where there was no value before.

A rule that cannot be evaluated for what a user wrote refuses it, whatever the reason is (`kubetypes/cel.py`).
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from hookrunner.model.resources import JSON
from hookrunner.values.schemas.node import Node, Rule
from kubetypes import cel
from kubetypes.cel import NoValue, TooLong, WrongExpression

_ABSENT = re.compile(r"Key not found in map|Applying SELECT to non-message type")
_MISFIT = "No matching overloads found"


class _Program(NamedTuple):
    compiled: Any
    uses_old: bool


def available() -> bool:
    """Is the library installed, so that rules can be checked?"""
    return cel.available()


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


def _message(rule: Rule, value: JSON, old: JSON) -> str:
    """The message, "" if the rule holds."""
    try:
        program = _program(rule.expression)
        if program.uses_old and old is None:
            return ""
        result = _value(program, {"self": value, "oldSelf": old} if program.uses_old else {"self": value})
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


def _value(program: _Program, variables: dict[str, JSON]) -> JSON:
    """Evaluate. Raises `NoValue`; OverflowError for an integer that does not fit into a double."""
    try:
        return cel.evaluated(program.compiled, _doubles(variables))
    except NoValue as error:
        if _MISFIT not in str(error):
            raise
    return cel.evaluated(program.compiled, variables)


def _doubles(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _doubles(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_doubles(one) for one in value]
    return float(value) if type(value) is int else value


@lru_cache(maxsize=1024)
def _program(text: str) -> _Program:
    """Compile an expression on `self`, and on `oldSelf` if it needs that. Raises `WrongExpression`."""
    try:
        return _Program(cel.program(_environment("self"), text), uses_old=False)
    except WrongExpression as error:
        why = error
    try:
        return _Program(cel.program(_environment("self", "oldSelf"), text), uses_old=True)
    except WrongExpression:
        raise why from None


@cache
def _environment(*variables: str) -> Any:
    return cel.environment(variables, ("strings",))
