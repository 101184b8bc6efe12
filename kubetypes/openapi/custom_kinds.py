"""Schemas of custom kinds, from the definitions (CustomResourceDefinition) that lie beside their objects.

    custom_kinds(documents)[("x.io/v1", "Widget")].field("spec")

A definition that the API server would refuse is left out, so that a walk through a schema meets no surprises.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kubetypes.openapi.schemas import Schema

CustomKinds: TypeAlias = Mapping[tuple[str, str], Schema]
"""Schemas by `apiVersion` and `kind`. Each is marked as embedded: a whole object stands there."""


def custom_kinds(documents: Iterable[Any]) -> CustomKinds:
    """The kinds that the definitions among these documents define. A later definition replaces an earlier one."""
    return {kind: schema for document in documents for kind, schema in _kinds(document)}


def _kinds(document: Any) -> Iterator[tuple[tuple[str, str], Schema]]:
    match document:
        case {
            "kind": "CustomResourceDefinition",
            "spec": {"group": str(group), "names": {"kind": str(kind)}, "versions": [*versions]} as spec,
        } if not spec.get("preserveUnknownFields"):
            for version in versions:
                match version:
                    case {"name": str(name), "schema": {"openAPIV3Schema": raw}} if _is_sound(raw):
                        yield (f"{group}/{name}", kind), Schema({**raw, "x-kubernetes-embedded-resource": True})


def _is_sound(raw: Any) -> bool:
    """Is this a schema in which every place below is one, without references?"""
    if not isinstance(raw, dict) or "$ref" in raw:
        return False
    properties, combined, additional = raw.get("properties", {}), raw.get("allOf", []), raw.get("additionalProperties")
    if not isinstance(properties, dict) or not isinstance(combined, list):
        return False
    below = [*properties.values(), *combined, *([raw["items"]] if "items" in raw else [])]
    return all(map(_is_sound, below)) and (additional is None or isinstance(additional, bool) or _is_sound(additional))
