"""Parts of every definition that hookrunner makes: of addons' kinds, and of the kind `Addon`. It imports little: a
process that lists addons may have none of its own.
"""

from collections.abc import Mapping

from kubetypes.json_values import JSON

APPROVAL = "api-approved.kubernetes.io"
"""The annotation that a definition in a group of Kubernetes needs."""

_TEXT: JSON = {"type": "string"}
_NUMBER: JSON = {"type": "integer", "format": "int64"}
_TIME: JSON = {"type": "string", "format": "date-time"}


def conditions_schema() -> JSON:
    """A list of `metav1.Condition`, of which each type appears once: writers of one do not overwrite others.
    Source: https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go"""
    fields: Mapping[str, JSON] = {
        "type": _TEXT | {"maxLength": 316},
        "status": _TEXT | {"enum": ["True", "False", "Unknown"]},
        "observedGeneration": _NUMBER | {"minimum": 0},
        "lastTransitionTime": _TIME,
        "reason": _TEXT | {"minLength": 1, "maxLength": 1024},
        "message": _TEXT | {"maxLength": 32768},
    }
    required = [name for name in fields if name != "observedGeneration"]
    return {
        "type": "array",
        "items": {"type": "object", "required": required, "properties": fields},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }


def column(name: str, kind: str, path: str) -> dict[str, JSON]:
    """A column of `kubectl get`."""
    return {"name": name, "type": kind, "jsonPath": path}
