"""Label and field selectors of a hook's configuration as the strings that the API server takes.

Requirements and values are sorted, so that equal selectors are equal strings and can share a watch. Rules and syntax:
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ and …/field-selectors/.
"""

import re
from collections.abc import Iterator

from hookrunner.errors import BadSelector
from hookrunner.shapes import Problem
from kubetypes.json_values import JSON
from kubetypes.selectors import Requirement, Term, requirements

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_EQUAL = ("=", "==", "Equals")
_OPERATORS = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist", "=": "In"}
"""Their names in a configuration."""


def labels(selector: JSON) -> str:
    """`{matchLabels, matchExpressions}` as `a=b,c in (d,e),!f`; empty for a selector that selects everything.

    Raises BadSelector naming the first requirement that the API server would refuse.
    """
    return ",".join(sorted(str(_checked(requirement)) for requirement in requirements(selector)))


def label_problems(path: str, selector: JSON) -> Iterator[Problem]:
    """Why the API server would refuse a selector, if there is one."""
    try:
        labels(selector or {})
    except BadSelector as error:
        yield Problem(path, f"is invalid: {error}", error.value)


def fields(selector: JSON) -> str:
    """`{matchExpressions}` as `a=b,c!=d` with values escaped."""
    items = selector["matchExpressions"]
    return ",".join(sorted(str(Term(item["field"], item["operator"] in _EQUAL, item["value"])) for item in items))


def on_name(selector: JSON) -> Iterator[int]:
    """Indices of the expressions about `metadata.name`, which `nameSelector` is for."""
    return (index for index, item in enumerate(selector["matchExpressions"]) if item["field"] == "metadata.name")


def _checked(requirement: Requirement) -> Requirement:
    """The requirement with its values in order. Raises BadSelector for what the API server would refuse."""
    key, operator, values = requirement.key, requirement.operator, sorted(set(requirement.values))
    if operator not in _OPERATORS:
        raise BadSelector(f"'{key}': not a valid label selector operator; use In, NotIn, Exists or DoesNotExist")
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _DOMAIN.fullmatch(prefix)):
        raise BadSelector(f"'{key}' is not a label key; write `name` or `example.com/name`, 63 characters at most")
    if operator in ("in", "notin") and not values:
        word = _OPERATORS[operator]
        raise BadSelector(f"'{key}': for the operator {word} values must be given; use Exists to accept any")
    if operator in ("exists", "!") and values:
        raise BadSelector(f"'{key}': the operator {_OPERATORS[operator]} takes no values; leave them out or use In")
    for value in values:
        if value and not _NAME.fullmatch(value):
            raise BadSelector(f"'{key}': not a label value (63 letters, digits, `-`, `_`, `.` at most)", value)
    # The API server reads `in ()` as no values, not as the empty one.
    operator = {"in": "=", "notin": "!="}.get(operator, operator) if len(values) == 1 else operator
    return Requirement(key, operator, tuple(values))
