"""What a CustomResourceDefinition makes the API serve: a `Kind` for each version.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from collections.abc import Iterator
from typing import Any

from kubesandbox import data
from kubesandbox.kinds import ALL_VERBS, Kind, Subresource
from kubesandbox.schemas import REFERENCE, Schema
from kubesandbox.structural import versions
from kubetypes.json_values import JSON

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
    return [_kind(crd, version) for version in sorted(served, key=lambda one: versions.priority(one["name"]))]


def established(crd: JSON) -> bool:
    """Whether a definition's `status` says that it is served."""
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
        shape = Schema({"$ref": REFERENCE + SCALE}, data.SchemaDefinitions("apps", "v1"))
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
