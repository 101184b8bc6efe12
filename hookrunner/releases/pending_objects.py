"""Which objects of a manifest are written, and which of them can be tried out before in a dry run."""

from collections.abc import Collection, Iterable, Mapping

from hookrunner.releases.manifest_objects import CRD, ObjectId
from kubetypes import json_values
from kubetypes.json_values import JSON

_RBAC = "rbac.authorization.k8s.io"
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


def changed(
    desired: Mapping[ObjectId, JSON], last: Mapping[ObjectId, JSON], repair: Collection[ObjectId]
) -> list[ObjectId]:
    """The objects that differ from those of the last manifest, and those to repair."""
    return [target for target, obj in desired.items() if target in repair or not _same(last.get(target), obj)]


def without_dependent(
    pending: Iterable[ObjectId],
    desired: Mapping[ObjectId, JSON],
    last: Mapping[ObjectId, JSON],
    repair: Collection[ObjectId],
) -> list[ObjectId]:
    """The pending objects without those that need another object of the manifest that may not exist yet. Those of
    the last manifest exist, unless they need a repair."""
    uncertain = (target for target in desired if target in repair or target not in last)
    new = NewObjects(desired[target] for target in uncertain)
    return [target for target in pending if not new.are_needed_by(target, desired[target])]


def _same(obj: JSON, other: JSON) -> bool:
    """Are they one JSON value? Most differences are found without encoding them."""
    return obj == other and json_values.equal(obj, other)


class NewObjects:
    """The objects of a manifest that may not exist yet."""

    def __init__(self, objects: Iterable[JSON]) -> None:
        self._namespaces: set[str] = set()
        self._kinds: set[tuple[str, str]] = set()
        self._roles: set[tuple[str, str]] = set()
        for obj in objects:
            self._add(obj)

    def _add(self, obj: JSON) -> None:
        kind, name = obj["kind"], obj["metadata"]["name"]
        if kind == "Namespace":
            self._namespaces.add(name)
        elif kind == CRD:
            spec = obj.get("spec") or {}
            self._kinds.add((str(spec.get("group")), str((spec.get("names") or {}).get("kind"))))
        elif kind in _ROLES:
            self._roles.add((kind, name))

    def are_needed_by(self, target: ObjectId, obj: JSON) -> bool:
        """Can the object not be tried out, because it needs one of these?"""
        if target.namespace in self._namespaces or (target.group, target.kind) in self._kinds:
            return target.kind != "Namespace"
        role = obj.get("roleRef") or {}
        is_binding = target.group == _RBAC and target.kind in _BINDINGS
        return is_binding and (role.get("kind"), role.get("name")) in self._roles
