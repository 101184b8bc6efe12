"""What many tables have in common: fields that may be missing, labels, selectors, containers, lists cut short."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kubesandbox.columns.ages import since
from kubetypes.json_values import JSON

Object = dict[str, Any]
Cells = list[JSON]
Printer = Callable[[Object, datetime], Cells]

NONE, UNSET = "<none>", "<unset>"
OPERATORS = {"In": " in ", "NotIn": " notin "}


def at(obj: Any, path: str, default: Any = None) -> Any:
    """The field at a path such as `spec.replicas`; the default if it, or one on the way, is missing or null."""
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    return default if obj is None else obj


def name(obj: Object) -> str:
    """The object's name."""
    return str(at(obj, "metadata.name", ""))


def age(obj: Object, now: datetime) -> str:
    """The time since the object was made."""
    return since(at(obj, "metadata.creationTimestamp"), now)


def annotation(obj: Object, key: str) -> Any:
    """An annotation's value, or None."""
    return at(obj, "metadata.annotations", {}).get(key)


def labels(found: Mapping[str, str] | None) -> str:
    """`a=b,c=d`, sorted; `<none>` without any."""
    return ",".join(sorted(f"{key}={value}" for key, value in (found or {}).items())) or NONE


def selector(found: Mapping[str, Any] | None) -> str:
    """A label selector in the notation of `kubectl -l`, sorted by key; "" for one that selects all or nothing."""
    found = found or {}
    terms = [(key, f"{key}={value}") for key, value in found.get("matchLabels", {}).items()]
    terms += [(one["key"], _expression(one)) for one in found.get("matchExpressions") or ()]
    return ",".join(term for _, term in sorted(terms))


def _expression(said: Mapping[str, Any]) -> str:
    key, operator = said["key"], said["operator"]
    if operator in OPERATORS:
        return f"{key}{OPERATORS[operator]}({','.join(sorted(said.get('values') or ()))})"
    return f"!{key}" if operator == "DoesNotExist" else str(key)


def containers(spec: Object, path: str = "template.spec.containers") -> Cells:
    """Two cells: names and images of a template's containers."""
    found = at(spec, path, [])
    return [",".join(one.get("name", "") for one in found), ",".join(one.get("image", "") for one in found)]


def shortened(texts: Sequence[str], limit: int = 3, separator: str = ",") -> str:
    """The first few, and how many more there are."""
    more = f" + {len(texts) - limit} more..." if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more


def has_condition(obj: Object, kind: str) -> bool:
    """Whether the first condition of a type in the status is `True`."""
    return condition(obj, kind).get("status") == "True"


def condition(obj: Object, kind: str) -> Object:
    """The first condition of a type in the status; empty without one."""
    found = (one for one in at(obj, "status.conditions", []) if one.get("type") == kind)
    return next(found, {})
