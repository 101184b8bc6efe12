"""Label and field selectors: what they require, and the first requirement that an object fails.

    wanted = requirements({"matchLabels": {"app": "web"}})
    failed_label(wanted, {"app": "db"})             # the requirement `app=web`; None if all hold
    failed_field(field_terms("metadata.name=a"), obj)

A requirement is written as the API server reads it, and read from that form again. What the API server refuses is not
refused here: that is up to those who take selectors from users.
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors and …/field-selectors/
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.patches.printed import printed

_OF_OBJECT = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SET = re.compile(r"(?P<key>\S+) (?P<operator>in|notin) \((?P<values>.*)\)")
_SIGNED = re.compile(r"(?P<key>[^!=]+)(?P<operator>!?=)(?P<value>.*)")
_BETWEEN = re.compile(r",(?![^(]*\))")
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)

_ABSENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
"""What a field that is left out counts as, where Go's zero value is not the empty text."""


class WrongSelector(ValueError):
    """The text is no field selector, in the API server's words."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one label must be. `operator` is `in`, `notin`, `=`, `!=`, `exists`, `!`, `>` or `<`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{self.operator}{self.values[0]}"

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Do these labels meet it? `notin` and `!=` hold where the label is missing."""
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "in" | "=":
                return value in self.values
            case ">" | "<":
                return _is_beyond(self.operator, integer(value or ""), integer(self.values[0]))
        return value not in self.values


def _is_beyond(operator: str, number: int | None, bound: int | None) -> bool:
    if number is None or bound is None:
        return False
    return number > bound if operator == ">" else number < bound


def integer(text: str) -> int | None:
    """A number of 64 bits, None for other text."""
    number = int(text) if _INTEGER.fullmatch(text) and len(text.lstrip("+-0")) < 20 else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def requirements(selector: JSON) -> tuple[Requirement, ...]:
    """Those of `{matchLabels: …, matchExpressions: …}`. An operator that does not exist is kept as it is."""
    labels = (selector or {}).get("matchLabels") or {}
    expressions = (selector or {}).get("matchExpressions") or ()
    return (*(Requirement(key, "=", (value,)) for key, value in labels.items()), *map(_of_expression, expressions))


def _of_expression(expression: JSON) -> Requirement:
    operator = expression.get("operator", "")
    values = tuple(expression.get("values") or ())
    return Requirement(expression.get("key", ""), _OF_OBJECT.get(operator, operator), values)


def read_requirements(text: str) -> tuple[Requirement, ...]:
    """Requirements that were written with commas between them."""
    return tuple(map(_read_requirement, _BETWEEN.split(text) if text else ()))


def _read_requirement(text: str) -> Requirement:
    if match := _SET.fullmatch(text):
        return Requirement(match["key"], match["operator"], tuple(match["values"].split(",")))
    if match := _SIGNED.fullmatch(text):
        return Requirement(match["key"], match["operator"], (match["value"],))
    return Requirement(text.removeprefix("!"), "!" if text.startswith("!") else "exists")


def failed_label(wanted: Iterable[Requirement], labels: Mapping[str, str]) -> Requirement | None:
    """The first requirement that these labels fail, None if they are selected."""
    return next((requirement for requirement in wanted if not requirement.holds(labels)), None)


@dataclass(frozen=True, slots=True)
class Term:
    """A field must, or must not, have a value. `places` are the paths at which the value stands, the first that has one
    counts; None for that of the field's name."""

    field: str
    equal: bool
    value: str
    places: tuple[str, ...] | None = None

    def __str__(self) -> str:
        value = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.field}{'=' if self.equal else '!='}{value}"

    def text_in(self, obj: JSON) -> str:
        """The value that an object has; a missing one is the empty text, unless the field has a zero value."""
        values = (_at(obj, place) for place in ((self.field,) if self.places is None else self.places))
        return next((printed(value) for value in values if value not in (None, "")), _ABSENT.get(self.field, ""))


def field_terms(text: str) -> tuple[Term, ...]:
    """The terms of a field selector, sorted. Raises WrongSelector."""
    parts = (match[0] for match in re.finditer(r"(?:\\.|[^\\,]|\\$)+", text, re.DOTALL))
    return tuple(_read_terms(text, sorted(parts)))


def _read_terms(text: str, parts: Iterable[str]) -> Iterator[Term]:
    for part in parts:
        match = _TERM.fullmatch(part)
        if match is None:
            raise WrongSelector(f"invalid selector: '{text}'; can't understand '{part}'")
        yield Term(match[1], match[2] != "!=", _unescaped(match[3]))


def _unescaped(value: str) -> str:
    for match in re.finditer(r"\\(.?)|([,=])", value, re.DOTALL):
        if match[2]:
            raise WrongSelector(f"invalid field selector: unescaped character in value: {ord(match[2])}")
        if match[1] not in ("\\", ",", "="):
            raise WrongSelector(f"invalid field selector: invalid escape sequence: {match[0]}")
    return re.sub(r"\\(.)", r"\1", value)


def failed_field(terms: Iterable[Term], obj: JSON) -> Term | None:
    """The first term that an object fails, None if it is selected."""
    return next((term for term in terms if (term.text_in(obj) == term.value) != term.equal), None)


def _at(obj: JSON, path: str) -> JSON:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj
