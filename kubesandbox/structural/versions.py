"""Versions of a kind: an object stored in one, read in another; the `Kind`s that a definition serves.

Where the conversion is `None` only `apiVersion` changes; where it is `Webhook`, `webhooks/` asks for it in between.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from kubesandbox.kinds import ALL_VERBS, Kind, Subresource
from kubesandbox.structural import defaults, prune
from kubetypes.json_values import JSON
from kubetypes.openapi.documents import SchemaDefinitions
from kubetypes.openapi.schemas import REFERENCE, Schema

KUBE_LIKE = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)


def as_version(obj: JSON, kind: Kind) -> JSON:
    """A stored object as the kind's version shows it, if the conversion is `None`.

    On every read it is pruned and defaulted by the schema of the version in which it is stored, then pruned by that of
    the version in which it is shown. A new object, though parts of it may be shared with `obj`.
    """
    found = known(obj, kind)
    if obj["apiVersion"] == kind.api_version:
        return found
    return fitted({**found, "apiVersion": kind.api_version}, kind)


def known(obj: JSON, kind: Kind) -> JSON:
    """A stored object by the schema that its version has today."""
    return _read(obj, _schema(obj["apiVersion"], kind))


def fitted(obj: JSON, kind: Kind) -> JSON:
    """A converted object without what the kind's version does not know."""
    return prune.pruned(obj, kind.schema)[0]


def in_version(kind: Kind, name: str) -> Kind:
    """A kind in another version of its definition, which need not be served; as it is if there is no such version."""
    schema = _schema(f"{kind.group}/{name}", kind)
    if name == kind.version or schema is None:
        return kind
    return replace(kind, version=name, schema=schema, converted=WeakKeyDictionary())


def _read(obj: JSON, schema: Schema | None) -> JSON:
    return obj if schema is None else defaults.defaulted(prune.pruned(obj, schema)[0], schema)


def _schema(api_version: str, kind: Kind) -> Schema | None:
    """The schema of a version of a kind, None if the definition no longer has that version."""
    if api_version == kind.api_version:
        return kind.schema
    name = api_version.rpartition("/")[2]
    versions = (kind.definition or {}).get("versions", ())
    raw = next((one.get("schema") for one in versions if one["name"] == name), None)
    return None if raw is None else Schema(raw["openAPIV3Schema"])


def priority(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions as discovery does: `v10`, `v2`, `v1`, `v2beta1`, `v1alpha1`, then other names.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority
    """
    found = KUBE_LIKE.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    return ("", "beta", "alpha").index(found[2] or ""), -int(found[1]), -int(found[3] or 0), ""


# ── what a definition serves ──────────────────────────────────────────────────────────────────────────────────────────

# What a CustomResourceDefinition makes the API serve: a `Kind` for each version.
#
# https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/


SUBRESOURCE_VERBS = ("get", "patch", "update")
SCALE = "io.k8s.api.autoscaling.v1.Scale"
NAME_COLUMN = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": (
        "Name must be unique within a namespace. Is required when creating resources, although some resources may allow"
        " a client to request the generation of an appropriate name automatically. Name is primarily intended for"
        " creation idempotence and configuration definition. Cannot be updated."
        " More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
    ),
    "priority": 0,
    "jsonPath": ".metadata.name",
}
AGE_COLUMN = {
    "name": "Age",
    "type": "date",
    "description": (
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not"
        " guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It"
        " is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists."
        " More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
    ),
    "jsonPath": ".metadata.creationTimestamp",
}


def kinds(crd: JSON) -> list[Kind]:
    """The served versions of a definition, the most stable first, under the names that were accepted.

    Nothing while the names are not accepted: the definition is not established. `crd` was checked and defaulted.
    """
    if not established(crd):
        return []
    served = [version for version in crd["spec"]["versions"] if version["served"]]
    return [_kind(crd, version) for version in sorted(served, key=lambda one: priority(one["name"]))]


def established(crd: JSON) -> bool:
    """Whether a definition is established, by its `status`."""
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _kind(crd: JSON, version: JSON) -> Kind:
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    schema = Schema((version.get("schema") or {}).get("openAPIV3Schema") or {})
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=ALL_VERBS,
        subresources={one.name: one for one in _subresources(version, names["kind"], spec["group"], schema)},
        schema=schema,
        columns=(NAME_COLUMN, *map(_column, version.get("additionalPrinterColumns") or (AGE_COLUMN,))),
        definition=spec,
    )


def _subresources(version: JSON, kind: str, group: str, schema: Schema) -> Iterator[Subresource]:
    said = version.get("subresources") or {}
    if said.get("status") is not None:
        yield Subresource("status", group, version["name"], kind, SUBRESOURCE_VERBS, schema)
    if said.get("scale") is not None:
        shape = Schema({"$ref": REFERENCE + SCALE}, SchemaDefinitions("apps", "v1"))
        yield Subresource("scale", "autoscaling", "v1", "Scale", SUBRESOURCE_VERBS, shape)


def _column(said: dict[str, Any]) -> dict[str, Any]:
    """A printer column as it stands in a table's `columnDefinitions`, and the path of its values."""
    path = said["jsonPath"]
    return {
        "name": said["name"],
        "type": said["type"],
        "format": said.get("format", ""),
        "description": said.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        "priority": said.get("priority", 0),
        "jsonPath": path,
    }
