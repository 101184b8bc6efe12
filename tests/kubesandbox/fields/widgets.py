"""A custom kind with every way in which values can be owned."""

from typing import Any

from kubesandbox.kinds import Kind, Subresource
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema
from tests.fakes import objects

TEXT: dict[str, Any] = {"type": "string"}
INNER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "b": TEXT,
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "text": TEXT}},
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    },
}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "text": TEXT,
        "maybe": {"type": "string", "nullable": True},
        "flag": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": True},
        "struct": INNER,
        "whole": {**INNER, "x-kubernetes-map-type": "atomic"},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "structs": {"type": "object", "additionalProperties": INNER},
        "list": {"type": "array", "items": TEXT},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": TEXT,
                    "inner": INNER,
                },
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "half": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": INNER}},
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "phase": TEXT,
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type"], "properties": {"type": TEXT, "status": TEXT}},
        },
    },
}


def definition(group: str) -> JSON:
    """The CustomResourceDefinition: versions v1 and v2 (where `list` is a set)."""
    properties = SPEC["properties"]
    newer = {**SPEC, "properties": {**properties, "list": properties["set"]}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "subresources": {"status": {}, "scale": scale},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": STATUS}}},
        }
        for name, spec in (("v1", SPEC), ("v2", newer))
    ]
    return objects.definition(group, "Widget", names=names, versions=versions)


def widget_kind(group: str, version: str = "v1") -> Kind:
    """The kind that the definition makes."""
    spec = definition(group)["spec"]
    raw = next(one["schema"]["openAPIV3Schema"] for one in spec["versions"] if one["name"] == version)
    subresources = {
        "status": Subresource("status", group, version, "Widget", ("get", "patch", "update")),
        "scale": Subresource("scale", "autoscaling", "v1", "Scale", ("get", "patch", "update")),
    }
    return Kind(
        group, version, "Widget", "widgets", True, subresources=subresources, schema=Schema(raw), definition=spec
    )


def widget(group: str, spec: JSON, *, version: str = "v1", name: str = "w", **metadata: JSON) -> JSON:
    """A Widget."""
    metadata = {"name": name, **metadata}
    return {"apiVersion": f"{group}/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}
