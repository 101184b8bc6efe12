"""Does a webhook's configuration cover a request? The first thing that does not, or nothing.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules
`matchConditions` are in `match_conditions.py`.
"""

from collections.abc import Iterable, Mapping

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.selectors import Requirement, failed_label


@dataclass(frozen=True, slots=True)
class AskedWrite:
    """What a request is about. `is_namespaced` is false for a Namespace itself."""

    operation: str
    group: str
    version: str
    resource: str
    subresource: str = ""
    is_namespaced: bool = False


def failed_part(rule: JSON, asked: AskedWrite) -> str:
    """The key of the first part of a rule that does not cover the request; empty if the rule does."""
    values = {"apiGroups": asked.group, "apiVersions": asked.version, "operations": asked.operation}
    for key, value in values.items():
        if "*" not in rule[key] and value not in rule[key]:
            return key
    if not any(_covers(pattern, asked) for pattern in rule["resources"]):
        return "resources"
    scope = rule.get("scope") or "*"
    return "" if scope == "*" or (scope == "Namespaced") == asked.is_namespaced else "scope"


def _covers(pattern: str, asked: AskedWrite) -> bool:
    """`pods`, `pods/status`, `*` (all, but not what is below them), `*/*`, `pods/*` (pods too), `*/scale`."""
    resource, _, below = pattern.partition("/")
    return resource in ("*", asked.resource) and below in ("*", asked.subresource)


def failed_object_label(wanted: Iterable[Requirement], states: Iterable[JSON]) -> Requirement | None:
    """Why `objectSelector` selects neither the object as it was nor as it would be; None if it selects one of them."""
    failed = [failed_label(wanted, labels_of(state)) for state in states if state is not None]
    return None if None in failed else next(iter(failed), None)


def labels_of(obj: JSON) -> Mapping[str, str]:
    """An object's labels."""
    return (obj.get("metadata") or {}).get("labels") or {}
