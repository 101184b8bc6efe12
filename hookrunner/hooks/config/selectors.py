"""Label and field selectors of a hook's configuration as the strings that the API server takes.

Requirements and values are sorted, so that equal selectors are equal strings and can share a watch. Rules and syntax:
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ and …/field-selectors/.
"""

import re
from collections.abc import Iterator

from hookrunner.errors import BadSelector
from hookrunner.shapes import Problem
from kubetypes.json_values import JSON

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_EQUAL = ("=", "==", "Equals")


def labels(selector: JSON) -> str:
    """`{matchLabels, matchExpressions}` as `a=b,c in (d,e),!f`; empty for a selector that selects everything.

    Raises BadSelector naming the first requirement that the API server would refuse.
    """
    pairs = [
        {"key": key, "operator": "In", "values": [value]} for key, value in selector.get("matchLabels", {}).items()
    ]
    return ",".join(sorted(map(_expression, [*pairs, *selector.get("matchExpressions", [])])))


def label_problems(path: str, selector: JSON) -> Iterator[Problem]:
    """Why the API server would refuse a selector, if there is one."""
    try:
        labels(selector or {})
    except BadSelector as error:
        yield Problem(path, f"is invalid: {error}", error.value)


def fields(selector: JSON) -> str:
    """`{matchExpressions}` as `a=b,c!=d` with values escaped."""
    items = selector["matchExpressions"]
    return ",".join(sorted(f"{item['field']}{_sign(item)}{escaped(item['value'])}" for item in items))


def on_name(selector: JSON) -> Iterator[int]:
    """Indices of the expressions about `metadata.name`, which `nameSelector` is for."""
    return (index for index, item in enumerate(selector["matchExpressions"]) if item["field"] == "metadata.name")


def escaped(value: str) -> str:
    """A value of a field selector: backslash, comma and equals sign have a meaning there."""
    return re.sub(r"([\\,=])", r"\\\1", value)


def _sign(item: JSON) -> str:
    return "=" if item["operator"] in _EQUAL else "!="


def _expression(item: JSON) -> str:
    key, operator, values = item.get("key", ""), item.get("operator", ""), sorted(set(item.get("values", [])))
    _check(key, operator, values)
    match operator, values:
        # The API server reads `in ()` as no values, not as the empty one.
        case "In", [value]:
            return f"{key}={value}"
        case "NotIn", [value]:
            return f"{key}!={value}"
        case "In" | "NotIn", _:
            return f"{key} {operator.lower()} ({','.join(values)})"
        case _:
            return key if operator == "Exists" else f"!{key}"


def _check(key: str, operator: str, values: list[str]) -> None:
    """Raises BadSelector for what the API server would refuse."""
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise BadSelector(f"'{key}': not a valid label selector operator; use In, NotIn, Exists or DoesNotExist")
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _DOMAIN.fullmatch(prefix)):
        raise BadSelector(f"'{key}' is not a label key; write `name` or `example.com/name`, 63 characters at most")
    if operator in ("In", "NotIn") and not values:
        raise BadSelector(f"'{key}': for the operator {operator} values must be given; use Exists to accept any")
    if operator in ("Exists", "DoesNotExist") and values:
        raise BadSelector(f"'{key}': the operator {operator} takes no values; leave them out or use In")
    for value in values:
        if value and not _NAME.fullmatch(value):
            raise BadSelector(f"'{key}': not a label value (63 letters, digits, `-`, `_`, `.` at most)", value)
