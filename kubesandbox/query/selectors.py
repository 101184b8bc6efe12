"""Label selectors: `app=web,tier in (front,back),!canary,size>3`.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors has the grammar; the sentences
with which it refuses are those of apimachinery's parser. The selectors of fields are in `field_selectors.py`.
"""

import re
from collections.abc import Iterator, Mapping

from kubesandbox import names
from kubesandbox.status import bad_request, shown
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.selectors import Requirement, failed_label, integer, requirements

_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "=", "!=": "!=", ">": ">", "<": "<"}
_KNOWN = {*_OPERATORS.values(), "exists", "!"}
_END = ""

# A NUL ends the text where a token should begin, and is swallowed behind one.
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+)\0?")


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All of its requirements must be met; without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return failed_label(self.requirements, labels) is None


def labels(text: str) -> LabelSelector:
    """The selector of a request. Raises `Refused`, 400."""
    try:
        return LabelSelector(tuple(_requirements(_Tokens(text))))
    except _Unreadable as why:
        raise bad_request(str(why)) from None


def from_object(selector: JSON) -> LabelSelector:
    """The selector of `{matchLabels: …, matchExpressions: …}`. Raises `Refused`, 400."""
    try:
        return LabelSelector(tuple(map(_checked, requirements(selector))))
    except _Unreadable as why:
        raise bad_request(str(why)) from None


class _Unreadable(Exception):
    """The text is no selector; says why."""


class _Tokens:
    """The words and signs of a selector, one after the other, then `_END` without end."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.next = _END
        self.take()

    def take(self) -> str:
        """The next token, which is gone then."""
        taken, self.next = self.next, next(self._tokens, _END)
        return taken


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while found := _TOKEN.match(text, place):
        yield found[1]
        place = found.end()


def _is_word(token: str) -> bool:
    return token != _END and token[0] not in "=!(),<>"


def _requirements(tokens: _Tokens) -> Iterator[Requirement]:
    if tokens.next != _END and tokens.next != "!" and not _is_word(tokens.next):
        raise _Unreadable(f"found '{tokens.next}', expected: !, identifier, or 'end of string'")
    while tokens.next != _END:
        try:
            yield _requirement(tokens)
        except _Unreadable as why:
            raise _Unreadable(f"unable to parse requirement: {why}") from None
        behind = tokens.take()
        if behind not in (_END, ","):
            raise _Unreadable(f"found '{behind}', expected: ',' or 'end of string'")
        if behind == "," and tokens.next != "!" and not _is_word(tokens.next):
            raise _Unreadable(f"found '{tokens.next}', expected: identifier after ','")


def _requirement(tokens: _Tokens) -> Requirement:
    negated = tokens.next == "!" and tokens.take() == "!"
    key = tokens.take()
    if not _is_word(key):
        raise _Unreadable(f"found '{key}', expected: identifier")
    if faults := names.qualified(key):
        raise _Unreadable(f"<nil>: {_invalid(key, faults)}")
    if negated or tokens.next in (_END, ","):
        return _checked(Requirement(key, "!" if negated else "exists"))
    sign = tokens.take()
    if sign not in _OPERATORS:
        raise _Unreadable(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
    operator = _OPERATORS[sign]
    values = _set(tokens) if operator in ("in", "notin") else {_value(tokens)}
    return _checked(Requirement(key, operator, tuple(sorted(values))))


def _value(tokens: _Tokens) -> str:
    """The one value behind `=`, which may be missing."""
    if tokens.next in (_END, ","):
        return ""
    value = tokens.take()
    if not _is_word(value):
        raise _Unreadable(f"found '{value}', expected: identifier")
    return value


def _set(tokens: _Tokens) -> set[str]:
    """The values in parentheses. Between two commas is the empty value."""
    if (opening := tokens.take()) != "(":
        raise _Unreadable(f"found '{opening}' expected: '('")
    if tokens.next not in (")", ",") and not _is_word(tokens.next):
        raise _Unreadable(f"found '{tokens.next}', expected: ',', ')' or identifier")
    values = set()
    while True:
        values.add(tokens.take() if _is_word(tokens.next) else "")
        if tokens.next == ")":
            tokens.take()
            return values
        if tokens.next != ",":
            raise _Unreadable(f"found '{tokens.next}', expected: ',' or ')'")
        tokens.take()
        if tokens.next not in (")", ",") and not _is_word(tokens.next):
            raise _Unreadable(f"found '{tokens.next}', expected: ',', or identifier")


def _checked(one: Requirement) -> Requirement:
    """Raises `_Unreadable` with all that is wrong with a requirement."""
    if one.operator not in _KNOWN:
        raise _Unreadable(f"{shown(one.operator)} is not a valid label selector operator")
    faults = list(_faults(one))
    if len(faults) > 1:
        raise _Unreadable(f"[{', '.join(faults)}]")
    if faults:
        raise _Unreadable(faults[0])
    return one


def _faults(one: Requirement) -> Iterator[str]:
    if faults := names.qualified(one.key):
        yield f"key: {_invalid(one.key, faults)}"
    if one.operator in ("in", "notin") and not one.values:
        yield "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
    if one.operator in ("exists", "!") and one.values:
        given = shown(list(one.values))
        yield f"values: Invalid value: {given}: values set must be empty for exists and does not exist"
    if one.operator in (">", "<") and integer(one.values[0]) is None:
        why = ["for 'Gt', 'Lt' operators, the value must be an integer"]
        yield f"values[0]: {_invalid(one.values[0], why)}"
    for place, value in enumerate(one.values):
        if faults := names.label_value(value):
            yield f"values[{place}][{one.key}]: {_invalid(value, faults)}"


def _invalid(value: str, faults: list[str]) -> str:
    return f"Invalid value: {shown(value)}: {'; '.join(faults)}"
