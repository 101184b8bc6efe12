"""What is right for a kind: one face for the rules of built-in kinds and of custom ones.

The api calls these steps in the order in which a real API server takes them: decode, prepare, default, check.
"""

from typing import Any

from hookrunner.model.resources import JSON
from hookrunner.sandbox import status
from hookrunner.sandbox.builtin import decode, metadata, strategy, validation
from hookrunner.sandbox.builtin import defaults as builtin_defaults
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.requests import Place
from hookrunner.sandbox.status import bad_request
from hookrunner.sandbox.structural import defaults, prune, validate

Object = dict[str, Any]


def decoded(kind: Kind, body: JSON, strictness: str) -> tuple[Object, list[str]]:
    """A request's body as an object of the kind, without what the kind does not know; warnings. Raises Refused 400."""
    _check_type(kind, body)
    if not kind.custom:
        return decode.decoded(body, kind.schema, strictness)
    obj, unknown = prune.pruned(body, kind.schema)
    said = [f'unknown field "{path}"' for path in unknown]
    if said and strictness == "Strict":
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: {", ".join(said)}'
        )
    return obj, said if strictness == "Warn" else []


def _check_type(kind: Kind, body: JSON) -> None:
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    version, name = body.get("apiVersion") or kind.api_version, body.get("kind") or kind.kind
    if (version, name) != (kind.api_version, kind.kind):
        raise bad_request(
            f'{name} in version "{version}" cannot be handled as a {kind.kind}: it is no {kind.kind} of {kind.api_version}'
        )


def placed(kind: Kind, where: Place, obj: Object) -> Object:
    """With type, namespace and name as the path has them, in the API's order of keys. Raises Refused 400."""
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
    """What creating resets, then defaults."""
    return _defaulted(kind, strategy.for_create(kind, obj))


def for_update(kind: Kind, obj: Object, old: Object, subresource: str) -> Object:
    """What writing this (sub)resource may not change stays as it was; then defaults."""
    return strategy.for_update(kind, _defaulted(kind, obj), old, subresource)


def _defaulted(kind: Kind, obj: Object) -> Object:
    if kind.custom:
        return defaults.defaulted(obj, kind.schema)
    return builtin_defaults.defaulted(kind, obj)


def check(kind: Kind, obj: Object, old: Object | None) -> None:
    """Raises Refused 422 with every cause."""
    causes = list(metadata.problems(kind, obj, old))
    if kind.custom:
        causes += validate.problems(obj, kind.schema, old)
    else:
        causes += validation.problems(kind, obj, old)
    if causes:
        raise status.invalid(kind.named(obj["metadata"].get("name", "")), causes)
