"""Rules in CEL (`x-deckhouse-validations`, addon-operator.md §2.6), by the extra `cel`.

All numbers are doubles, as they are for addon-operator; where a rule needs whole ones (`self.replicas % 2 == 1`) they
are tried as they are. A rule about a key that is not there holds, one about `oldSelf` is left out where nothing was.

The library is loaded when the first rule is asked: not everybody has it, and it takes 20 ms.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from hookrunner.model.resources import JSON
from hookrunner.values.schemas.node import Node, Rule

_ABSENT = re.compile(r"Key not found in map|Applying SELECT to non-message type")
_MISFIT = "No matching overloads found"


class _Program(NamedTuple):
    compiled: Any
    uses_old: bool


class _NoValue(Exception):
    """An expression has no value; says why. `of_value`: it compiles, and has none for the values that it was given."""

    def __init__(self, message: str, of_value: bool = False) -> None:
        self.of_value = of_value
        super().__init__(message)


def available() -> bool:
    """Whether rules can be checked."""
    return find_spec("cel_expr_python") is not None


def problems(node: Node, value: JSON, old: JSON, path: str = "") -> Iterator[str]:
    """What the rules of a schema and of its properties say, the inner ones first. `old` is None where nothing was."""
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, inner in node.properties.items():
            if key in value:
                yield from problems(inner, value[key], before.get(key), f"{path}.{key}" if path else key)
    for index, rule in enumerate(node.rules):
        if said := _said(rule, value, old):
            yield f"{path or 'the section'}: {said} ({node.place}/x-deckhouse-validations/{index})"


def _said(rule: Rule, value: JSON, old: JSON) -> str:
    """What is to be said, "" if the rule holds."""
    try:
        program = _program(rule.expression)
        if program.uses_old and old is None:
            return ""
        result = _value(program, {"self": value, "oldSelf": old} if program.uses_old else {"self": value})
    except _NoValue as error:
        return "" if _ABSENT.search(str(error)) else f"the rule `{rule.expression}` cannot be checked: {_reason(error)}"
    if isinstance(result, bool):
        return "" if result else rule.message
    return f"the rule `{rule.expression}` gives neither true nor false"


def _reason(error: _NoValue) -> str:
    """The library's message if it is about the rule; about a value it may quote that."""
    if not error.of_value:
        return str(error)
    return "it takes values of other types" if _MISFIT in str(error) else "it has no result for this value"


def _value(program: _Program, variables: dict[str, JSON]) -> JSON:
    result = program.compiled.eval(data=_doubles(variables))
    if _failed(result) and _MISFIT in str(result):
        result = program.compiled.eval(data=variables)
    if _failed(result):
        raise _NoValue(str(result).partition("\n")[0], of_value=True)
    return result.plain_value()


def _failed(result: Any) -> bool:
    return bool(result.type() == _cel().Type.ERROR)


def _doubles(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _doubles(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_doubles(one) for one in value]
    return float(value) if type(value) is int else value


@lru_cache(maxsize=1024)
def _program(text: str) -> _Program:
    """An expression on `self`, perhaps on `oldSelf`. Raises `_NoValue` if it cannot be compiled."""
    try:
        return _Program(_environment("self").compile(text), uses_old=False)
    except RuntimeError as error:
        why = error
    try:
        return _Program(_environment("self", "oldSelf").compile(text), uses_old=True)
    except RuntimeError:
        raise _NoValue(str(why).partition("\n")[0]) from None


@cache
def _cel() -> Any:
    # Not at the top: see the docstring.
    return import_module("cel_expr_python.cel")


@cache
def _environment(*variables: str) -> Any:
    known = dict.fromkeys(variables, _cel().Type.DYN)
    strings = import_module("cel_expr_python.ext.ext_strings").ExtStrings()
    return _cel().NewEnv(variables=known, extensions=[strings])
