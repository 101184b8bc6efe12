"""What is right for a kind: one face for the rules of built-in kinds and of custom ones.

The api calls these steps in the order in which a real API server takes them: decode, place, prepare, default, check.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson

from kubesandbox import status
from kubesandbox.builtin import decode, metadata, strategy, validation
from kubesandbox.builtin import defaults as builtin_defaults
from kubesandbox.builtin.strategy import (
    admitted,
    created_by_update,
    default_propagation,
    ending,
    grace,
    unconditional,
)
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import Place
from kubesandbox.status import Cause, Refused, bad_request, wrong
from kubesandbox.structural import defaults, prune, scaling, validate
from kubesandbox.structural.definitions import definition, definition_status
from kubetypes import cel, match_conditions
from kubetypes.cel import WrongExpression
from kubetypes.json_values import JSON, with_integers

__all__ = ["admitted", "created_by_update", "default_propagation", "ending", "grace", "unconditional"]

Object = dict[str, Any]

LARGEST = 1e21
"""From here on Go writes an exponent. It writes 1.0 as 1, and so do we where a schema has no type for a number."""
MOST_CAUSES = 1000
"""Of one refusal. They may have a hundred times as many bytes as the object."""
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
SHOWN_WHEN_GONE = frozenset(
    {"pods", "services", "persistentvolumes", "persistentvolumeclaims", "podtemplates", "resourcequotas"}
    | {"serviceaccounts", "storageclasses.storage.k8s.io", "csidrivers.storage.k8s.io", "csinodes.storage.k8s.io"}
)


def shown_when_gone(kind: Kind) -> bool:
    """Whether a deletion is answered with the object rather than with a Status."""
    return kind.stored in SHOWN_WHEN_GONE


NO_CONDITIONS = (
    "the sandbox does not evaluate matchConditions until you pip install 'hookrunner[cel]': by their failurePolicy,"
    " webhooks that have some refuse every request that they match, or are not asked"
)
NOT_ACTED_ON = {
    f"{plural}.admissionregistration.k8s.io": f"the sandbox keeps this object and does not act on it: {why}"
    for plurals, why in (
        (("validatingadmissionpolicies", "validatingadmissionpolicybindings"), "no policy is evaluated"),
        (("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"), "no policy is evaluated"),
    )
    for plural in plurals
}


def remarks(kind: Kind, obj: Object) -> list[str]:
    """Warnings for the client about an object that is accepted: what a real API server would do with it, what is odd in
    it."""
    if kind.stored == DEFINITIONS:
        return list(definition.warnings(obj))
    if any(hook.get("matchConditions") for hook in obj.get("webhooks") or ()) and not cel.available():
        return [NO_CONDITIONS]
    return [NOT_ACTED_ON[kind.stored]] if kind.stored in NOT_ACTED_ON else []


def decoded(kind: Kind, body: JSON, strictness: str, duplicates: Sequence[str] = ()) -> tuple[Object, list[str]]:
    """A request's body as an object of the kind, without what the kind does not know, and warnings.

    `strictness` is the request's `fieldValidation`, `duplicates` are the fields that the text had twice. Raises Refused
    400, 422.
    """
    if body is None and not kind.custom:
        body = {}
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    if kind.custom:
        _check_custom_type(kind, body)
        obj, unknown = prune.pruned(with_integers(body, LARGEST), kind.schema)
        return obj, decode.judged(kind.api_version, kind.kind, unknown, duplicates, strictness)
    wanted = {"kind": kind.kind, "apiVersion": kind.api_version}
    typed = {key: wanted[key] if body.get(key) in (None, "") else body[key] for key in wanted}
    if typed != wanted:
        why = f"this is the place of {kind.api_version} {kind.kind}"
        raise decode.cannot_handle(str(typed["apiVersion"]), str(typed["kind"]), why)
    obj, warnings = decode.decoded(kind.api_version, kind.kind, {**body, **typed}, strictness, duplicates)
    if isinstance(body.get("metadata"), dict) and body["metadata"].get("managedFields") == []:
        obj["metadata"]["managedFields"] = []  # which is a wish: forget who owns what
    return obj, warnings


def _check_custom_type(kind: Kind, body: Object) -> None:
    version, name = body.get("apiVersion") or "", body.get("kind") or ""
    if not version or not name:
        raise bad_request(f"Object 'Kind' or 'apiVersion' is missing in the object (must be of type {kind.kind})")
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if name != kind.kind:
        about = status.About(kind.group, str(name), str((body.get("metadata") or {}).get("name", "")))
        raise status.invalid(about, [status.wrong("kind", name, f"must be {kind.kind}")])


def patched(kind: Kind, result: JSON, strictness: str) -> tuple[Object, list[str]]:
    """What a patch has made, decoded. Raises Refused 422 where it is no object of the kind any more."""
    try:
        return decoded(kind, result, strictness)
    except Refused as refused:
        why = refused.message.partition(f"cannot be handled as a {kind.kind}: ")
        text = orjson.dumps(result).decode()
        name = (result.get("metadata") or {}).get("name", "") if isinstance(result, dict) else ""
        raise status.invalid(kind.named(str(name)), [status.wrong("patch", text, why[2] or refused.message)]) from None


def configured(kind: Kind, where: Place, config: JSON) -> Object:
    """The configuration to apply, not decoded: no manager owns fields that it leaves out. Raises Refused 400."""
    if not isinstance(config, dict) or not isinstance(config.get("metadata") or {}, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    said = (str(config.get("apiVersion") or ""), str(config.get("kind") or ""))
    if said != (kind.api_version, kind.kind):
        version = said[0] if "/" in said[0] else f"/{said[0]}"
        raise bad_request(f"invalid object type: {version}, Kind={said[1]}")
    stated: Object = {**config, "metadata": config.get("metadata") or {}}
    placed(kind, where, stated)
    return stated


def placed(kind: Kind, where: Place, obj: Object) -> Object:
    """With the path's namespace, and the keys in the API's order. Raises Refused 400 if it is another object's path."""
    meta = dict(obj.get("metadata") or {})
    if not kind.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace", "") not in ("", where.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        meta["namespace"] = where.namespace
    if where.name and not meta.get("name"):
        raise bad_request(
            f"the name of the object ({where.name} based on URL) was undeterminable: name must be provided"
        )
    if where.name and meta["name"] != where.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({where.name})")
    rest = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta, **rest}


def defaulted(kind: Kind, obj: Object) -> Object:
    """With everything filled in that the object does not say."""
    if kind.custom:
        filled: Object = defaults.defaulted(obj, kind.schema)
        return filled
    if kind.stored == DEFINITIONS:
        made: Object = definition.defaulted(obj)
        return made
    return builtin_defaults.defaulted(kind, obj)


def for_create(kind: Kind, obj: Object, classes: Sequence[Object]) -> Object:
    """What creating resets and adds; `classes` are the existing PriorityClasses. Raises Refused 403."""
    return _remembering(kind, strategy.for_create(kind, obj, classes), None)


def for_update(kind: Kind, obj: Object, old: Object, subresource: str) -> Object:
    """What writing this (sub)resource may not change is as it was."""
    if kind.stored == "namespaces" and subresource == "finalize":
        return {**old, "metadata": obj["metadata"], "spec": obj.get("spec") or {}}
    if kind.stored == "namespaces":
        obj = {**obj, "spec": old.get("spec") or {}}
    if subresource == "binding":
        return obj
    updated = strategy.for_update(kind, obj, old, subresource)
    return updated if subresource == "status" else _remembering(kind, updated, old)


def _remembering(kind: Kind, obj: Object, old: Object | None) -> Object:
    """A definition remembers all versions in which its objects may be stored, until its status says otherwise."""
    if kind.stored != DEFINITIONS:
        return obj
    known = (old or {}).get("status") or {}
    stored = definition_status.stored_versions({"spec": obj["spec"], "status": known})
    return {**obj, "status": {**(obj.get("status") or {}), "storedVersions": stored}}


def check(kind: Kind, obj: Object, old: Object | None, subresource: str = "") -> None:
    """Raises Refused 422 with every cause, as far as they are not too many."""
    if subresource == "binding":
        return  # the one way in which a Pod comes to its node
    if causes := list(islice(_causes(kind, obj, old, subresource), MOST_CAUSES + 1)):
        if len(causes) > MOST_CAUSES:
            causes[-1] = Cause("FieldValueTooMany", f"there are more than {MOST_CAUSES} problems")
        raise status.invalid(kind.named(obj["metadata"].get("name", "")), causes)


def _causes(kind: Kind, obj: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
    yield from metadata.problems(kind, obj, old)
    if kind.custom and subresource == "status" and old is not None:
        yield from validate.status_problems(obj, kind.schema, old)
        yield from scaling.problems(obj, kind, spec=False)
    elif kind.custom:
        yield from validate.problems(obj, kind.schema, old)
        yield from scaling.problems(obj, kind)
    elif kind.stored == DEFINITIONS:
        yield from definition.problems(obj, old)
    else:
        yield from _new_problems(kind, obj, old)


def _new_problems(kind: Kind, obj: Object, old: Object | None) -> Iterator[Cause]:
    """What was wrong before is not held against a writer: `testing` puts in objects as incomplete as its users write
    them. Elsewhere nothing can be wrong with an object that is stored."""
    known: frozenset[Cause] | None = None
    for cause in _problems(kind, obj, old):
        if known is None:
            known = frozenset(_problems(kind, old, old) if old else ())
        if cause not in known:
            yield cause


def _problems(kind: Kind, obj: Object, old: Object | None) -> Iterator[Cause]:
    yield from validation.problems(kind, obj, old)
    yield from _condition_problems(obj)


def _condition_problems(configuration: JSON) -> Iterator[Cause]:
    """The conditions of a webhook configuration that cannot be compiled; none where the library is not installed."""
    hooks = configuration.get("webhooks") or ()
    if not hooks or not cel.available():
        return
    for number, hook in enumerate(hooks):
        for at, condition in enumerate(hook.get("matchConditions") or ()):
            text, field = condition.get("expression") or "", f"webhooks[{number}].matchConditions[{at}].expression"
            try:
                _ = match_conditions.compiled(text) if text.strip() else None
            except WrongExpression as error:
                why = str(error)
                prefix = "" if why.startswith("must ") else "compilation failed: ERROR: <input>:"
                yield wrong(field, text, prefix + why)
