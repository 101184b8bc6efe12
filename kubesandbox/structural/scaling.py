"""`Scale`: one view of everything that has replicas. Custom kinds have it by the paths of their definition.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource
"""

from copy import deepcopy

from kubesandbox.kinds import Kind
from kubesandbox.status import Cause, Refused, wrong
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

LARGEST = 2**31 - 1
METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "", "DoesNotExist": "!"}
GO_TYPES = {bool: "bool", str: "string", float: "float64", list: "[]interface {}", dict: "map[string]interface {}"}


@dataclass(frozen=True, slots=True)
class Paths:
    """Where an object keeps its numbers: paths such as `.spec.replicas`."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ""


def paths(kind: Kind) -> Paths | None:
    """Where objects of a kind keep their numbers, None for a custom kind without a scale subresource."""
    if kind.definition is None:
        return Paths()
    version = next(one for one in kind.definition["versions"] if one["name"] == kind.version)
    said = (version.get("subresources") or {}).get("scale")
    if said is None:
        return None
    return Paths(said["specReplicasPath"], said["statusReplicasPath"], said.get("labelSelectorPath", ""))


def scale(obj: JSON, kind: Kind) -> JSON:
    """The `Scale` (autoscaling/v1) of an object. Raises `Refused` (500, as the API) if a custom one has no replicas."""
    there = paths(kind) or Paths()
    wanted = _at(obj, there.spec)
    if kind.custom and wanted is None:
        message = f'the spec replicas field "{there.spec}" does not exist'
        raise Refused(500, "InternalError", f"Internal error occurred: {message}", causes=[Cause("", message)])
    selector = _at(obj, there.selector) if kind.custom else _selector((obj.get("spec") or {}).get("selector") or {})
    metadata = {key: obj["metadata"][key] for key in METADATA if key in obj["metadata"]}
    status = {"replicas": _at(obj, there.status) or 0} | ({"selector": selector} if selector else {})
    spec = {"replicas": wanted} if wanted else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def with_replicas(obj: JSON, replicas: int, kind: Kind) -> JSON:
    """A copy of an object with another number of replicas."""
    result = deepcopy(obj)
    *outer, last = _keys((paths(kind) or Paths()).spec)
    inner = result
    for key in outer:
        inner = inner.setdefault(key, {})
    inner[last] = replicas
    return result


def problems(obj: JSON, kind: Kind, *, spec: bool = True) -> list[Cause]:
    """What is wrong with the fields of a custom object that its `Scale` reads; without `spec` only with its status."""
    there = paths(kind)
    if there is None:
        return []
    found = _of_number(obj, there.spec) if spec else []
    found += _of_number(obj, there.status)
    value = _at(obj, there.selector)
    if value is not None and not isinstance(value, str):
        found.append(wrong(there.selector, "", _mistyped(there.selector, value, "string")))
    return found


def _of_number(obj: JSON, path: str) -> list[Cause]:
    value = _at(obj, path)
    if value is None:
        return []
    if type(value) is not int:
        return [wrong(path, 0, _mistyped(path, value, "int64"))]
    if value < 0:
        return [wrong(path, value, "should be a non-negative integer")]
    return [wrong(path, value, f"should be less than or equal to {LARGEST}")] if value > LARGEST else []


def _mistyped(path: str, value: JSON, wanted: str) -> str:
    given = "int64" if type(value) is int else GO_TYPES[type(value)]
    return f"{path} accessor error: {value} is of the type {given}, expected {wanted}"


def _keys(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _at(obj: JSON, path: str) -> JSON:
    """The value at a path, None without one."""
    for key in _keys(path) if path else ():
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj if path else None


def _selector(selector: JSON) -> str:
    """A built-in kind's label selector as text: `app=web,tier in (a,b)`."""
    if not {"matchLabels", "matchExpressions"} & selector.keys():
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    wanted = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    wanted += [(one["key"], _expression(one)) for one in selector.get("matchExpressions") or []]
    return ",".join(text for _, text in sorted(wanted))


def _expression(one: JSON) -> str:
    if not one.get("values"):
        return f"{OPERATORS[one['operator']]}{one['key']}"
    return f"{one['key']} {OPERATORS[one['operator']]} ({','.join(sorted(one['values']))})"
