"""What is right for a kind: one face for the rules of built-in kinds and of custom ones.

The api calls these steps in the order in which a real API server takes them: decode, place, prepare, default, check.
"""

from collections.abc import Sequence
from typing import Any

from hookrunner.model.resources import JSON
from hookrunner.sandbox import status
from hookrunner.sandbox.builtin import decode, metadata, strategy, validation
from hookrunner.sandbox.builtin import defaults as builtin_defaults
from hookrunner.sandbox.builtin.strategy import (
    created_by_update,
    default_propagation,
    ending,
    grace,
    unconditional,
)
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.requests import Place
from hookrunner.sandbox.status import bad_request
from hookrunner.sandbox.structural import defaults, definition, prune, validate

__all__ = ["created_by_update", "default_propagation", "ending", "grace", "unconditional"]

Object = dict[str, Any]


SHOWN_WHEN_GONE = frozenset(
    {"pods", "services", "persistentvolumes", "persistentvolumeclaims", "podtemplates", "resourcequotas"}
    | {"serviceaccounts", "storageclasses.storage.k8s.io", "csidrivers.storage.k8s.io", "csinodes.storage.k8s.io"}
)


def shown_when_gone(kind: Kind) -> bool:
    """Whether a deletion is answered with the object rather than with a Status."""
    return kind.stored in SHOWN_WHEN_GONE


def decoded(kind: Kind, body: JSON, strictness: str, duplicates: Sequence[str] = ()) -> tuple[Object, list[str]]:
    """A request's body as an object of the kind, without what the kind does not know, and warnings.

    `strictness` is the request's `fieldValidation`, `duplicates` are the fields that the text had twice. Raises Refused
    400.
    """
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    body = {"kind": kind.kind, "apiVersion": kind.api_version} | {
        key: value for key, value in body.items() if value != ""
    }
    if (body["apiVersion"], body["kind"]) != (kind.api_version, kind.kind):
        raise decode.cannot_handle(
            str(body["apiVersion"]), str(body["kind"]), f"this is the place of {kind.api_version} {kind.kind}"
        )
    if not kind.custom:
        return decode.decoded(kind.api_version, kind.kind, body, strictness, duplicates)
    obj, unknown = prune.pruned(body, kind.schema)
    return obj, decode.judged(kind.api_version, kind.kind, unknown, duplicates, strictness)


def placed(kind: Kind, where: Place, obj: Object) -> Object:
    """With namespace and name as the path has them, and the keys in the API's order. Raises Refused 400."""
    meta = dict(obj.get("metadata") or {})
    if meta.get("namespace", "") not in ("", where.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if where.namespace:
        meta["namespace"] = where.namespace
    if where.name and meta.setdefault("name", where.name) != where.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({where.name})")
    rest = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta, **rest}


def for_create(kind: Kind, obj: Object) -> Object:
    """Defaults, then what creating resets."""
    return strategy.for_create(kind, _defaulted(kind, obj))


def for_update(kind: Kind, obj: Object, old: Object, subresource: str) -> Object:
    """Defaults; then what writing this (sub)resource may not change is as it was."""
    return strategy.for_update(kind, _defaulted(kind, obj), old, subresource)


def _defaulted(kind: Kind, obj: Object) -> Object:
    if kind.custom:
        filled: Object = defaults.defaulted(obj, kind.schema)
        return filled
    if kind.stored == DEFINITIONS:
        made: Object = definition.defaulted(obj)
        return made
    return builtin_defaults.defaulted(kind, obj)


DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def check(kind: Kind, obj: Object, old: Object | None, subresource: str = "") -> None:
    """Raises Refused 422 with every cause."""
    causes = list(metadata.problems(kind, obj, old))
    if kind.custom and subresource == "status" and old is not None:
        causes += validate.status_problems(obj, kind.schema, old)
    elif kind.custom:
        causes += validate.problems(obj, kind.schema, old)
    elif kind.stored == DEFINITIONS:
        causes += definition.problems(obj, old)
    else:
        causes += validation.problems(kind, obj, old)
    if causes:
        raise status.invalid(kind.named(obj["metadata"].get("name", "")), causes)
