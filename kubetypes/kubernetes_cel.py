"""CEL with what Kubernetes adds to it, by the library of `cel.py`.

What that lacks (`url`, `ip`, `cidr`, `quantity`, `semver`, comprehensions with two variables) does not compile, which
is reported when the definition is made. Values are dynamically typed here: a rule that names a field that does not
exist is found out when it is evaluated, not before as by a real API server.

https://kubernetes.io/docs/reference/using-api/cel/
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from kubetypes import cel, formats, patterns
from kubetypes.cel import CompiledRule, NoValue, TooLong, WrongExpression
from kubetypes.json_values import JSON

EXTENSIONS = ("strings", "optional")
ERROR = re.compile(r"^[A-Z_]+: (?:ERROR: <input>:(\d+:\d+): )?(.*)")
# How Go's implementation says it.
WORDS = (
    (re.compile(r'Key not found in map : "?(.*?)"?$'), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"No matching overloads found.*"), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such key"),  # of null; Go's names it
)

TIMES = ("date", "date-time", "duration")
"""Formats of points and spans of time, as which the library cannot be given values."""
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))

TOO_LONG = "the sandbox ends an expression after 10,000 steps of its loops"


@lru_cache(maxsize=4096)
def compiled_rule(text: str) -> CompiledRule:
    """An expression on `self`, perhaps on `oldSelf`. Raises `WrongExpression`."""
    try:
        return cel.compiled_rule(text, _environment)
    except WrongExpression as error:
        raise WrongExpression(_first(error)) from None


def rule_value(rule: CompiledRule, value: JSON, old: JSON) -> JSON:
    """What a rule gives for `self` and `oldSelf`. Raises `NoValue`."""
    return evaluated(rule.program, rule.variables(value, old))


def cel_value(value: JSON, schema: JSON) -> JSON:
    """A value as the rules of its schema see it: declared fields only, under names that CEL can say, numbers and bytes
    of their types. What is no schema says nothing."""
    if not isinstance(schema, dict):
        return cel_value(value, {})
    if isinstance(value, dict):
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            return {
                _escaped(key): cel_value(inner, properties[key]) for key, inner in value.items() if key in properties
            }
        return (
            {key: cel_value(inner, additional) for key, inner in value.items()} if isinstance(additional, dict) else {}
        )
    if isinstance(value, list):
        return [cel_value(inner, schema.get("items") or {}) for inner in value]
    if schema.get("type") == "number" and type(value) is int:
        return float(value)
    return _bytes(value) if schema.get("format") == "byte" and isinstance(value, str) else value


def _bytes(text: str) -> JSON:
    try:
        return b64decode(text)
    except binascii.Error:  # the format is for others to check
        return text


def _escaped(name: str) -> str:
    """A field's name as expressions write it: `a__dash__b`, `__namespace__`."""
    if name in _RESERVED:
        return f"__{name}__"
    for plain, escape in _ESCAPES:
        name = name.replace(plain, escape)
    return name


def program(environment: Any, text: str) -> Any:
    """An expression for `evaluated`. Raises `WrongExpression`."""
    try:
        return cel.program(environment, text)
    except WrongExpression as error:
        raise WrongExpression(_first(error)) from None


def evaluated(program: Any, variables: Mapping[str, JSON]) -> JSON:
    """What an expression gives. Raises `NoValue`, in the words of Go's implementation."""
    try:
        return cel.evaluated(program, variables)
    except TooLong:
        raise TooLong(TOO_LONG) from None
    except NoValue as error:
        raise NoValue(_worded(str(error))) from None


def _first(error: Exception) -> str:
    """The first complaint of the compiler, with its place."""
    found = ERROR.match(str(error))
    return f"{found[1]}: {found[2]}" if found and found[1] else str(error).partition("\n")[0]


def _worded(error: str) -> str:
    found = ERROR.match(error)
    said = found[2] if found else error
    for pattern, words in WORDS:
        if pattern.search(said):
            return pattern.sub(words, said)
    return said


@cache
def _environment(*variables: str) -> Any:
    return environment(variables)


def environment(variables: Sequence[str], functions: Sequence[Any] = ()) -> Any:
    """What expressions can use, with these variables and more functions (`function`)."""
    return cel.environment(variables, EXTENSIONS, [*_kubernetes_functions(), *functions])


def _kubernetes_functions() -> list[Any]:
    """Lists, sets and regular expressions, as Kubernetes adds them."""
    kind = cel.library().Type
    lists = [kind.LIST]
    two = [kind.LIST, kind.LIST]
    return [
        function("isSorted", kind.BOOL, lists, lambda one: all(a <= b for a, b in pairwise(one))),
        function("sum", kind.DYN, lists, sum),
        function("min", kind.DYN, lists, min),
        function("max", kind.DYN, lists, max),
        function("distinct", kind.LIST, lists, _distinct),
        function("slice", kind.LIST, [kind.LIST, kind.INT, kind.INT], lambda one, start, end: one[start:end]),
        function("isURL", kind.BOOL, [kind.STRING], formats.uri, member=False),
        function("isIP", kind.BOOL, [kind.STRING], lambda one: formats.ipv4(one) or formats.ipv6(one), member=False),
        function("isCIDR", kind.BOOL, [kind.STRING], formats.cidr, member=False),
        function("find", kind.STRING, [kind.STRING, kind.STRING], _find),
        function("findAll", kind.LIST, [kind.STRING, kind.STRING], _find_all),
        function("sets.contains", kind.BOOL, two, _contains, member=False),
        function("sets.equivalent", kind.BOOL, two, _equivalent, member=False),
        function("sets.intersects", kind.BOOL, two, lambda one, other: any(a in other for a in one), member=False),
    ]


def function(name: str, result: Any, parameters: Sequence[Any], body: Callable[..., Any], member: bool = True) -> Any:
    """A function for `environment`: types of its result and of its parameters, the first of which is the receiver."""
    overload = cel.library().Overload(f"kubernetes_{name}", result, parameters, member, body)
    return cel.library().FunctionDecl(name, [overload])


def _distinct(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def _find(text: str, pattern: str) -> str:
    return patterns.compiled(pattern).find(text) or ""


def _find_all(text: str, pattern: str) -> list[str]:
    return patterns.compiled(pattern).find_all(text)


def _contains(one: list[Any], other: list[Any]) -> bool:
    return all(value in one for value in other)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)
