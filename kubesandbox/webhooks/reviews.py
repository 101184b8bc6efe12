"""The review that an admission webhook is sent, and its reply. Pure.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request
"""

import base64
import binascii
from collections.abc import Sequence

from kubesandbox.kinds import Kind, Subresource
from kubesandbox.status import About, Cause, Refused
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks.matching import Attempt, operation
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

GROUP = "admission.k8s.io"
VERSIONS = ("v1", "v1beta1")
OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def version_for(wanted: Sequence[str]) -> str:
    """The first version of reviews that the webhook takes and we know; a configuration names at least one."""
    return next(one for one in wanted if one in VERSIONS)


def request(attempt: Attempt, kind: Kind, uid: str, obj: Object | None, old: Object | None) -> Object:
    """What is asked: `obj` and `old` are in the version of `kind`, which may be another than that of the attempt."""
    where, done = attempt.where, operation(obj, old)
    below = {"subResource": where.subresource} if where.subresource else {}
    asked_below = {"requestSubResource": where.subresource} if where.subresource else {}
    name = where.name or ((obj or {}).get("metadata") or {}).get("name", "")
    namespace = attempt.namespace(obj)
    return {
        "uid": uid,
        "kind": _kind(kind, where.subresource),
        "resource": _resource(kind),
        **below,
        "requestKind": _kind(attempt.kind, where.subresource),
        "requestResource": _resource(attempt.kind),
        **asked_below,
        **({"name": name} if name else {}),
        **({"namespace": namespace} if namespace else {}),
        "operation": done,
        "userInfo": attempt.user,
        "object": obj,
        "oldObject": old,
        "dryRun": attempt.dry_run,
        "options": {"kind": OPTIONS[done], "apiVersion": "meta.k8s.io/v1", **attempt.options},
    }


def _kind(kind: Kind, subresource: str) -> Object:
    shown: Kind | Subresource = kind.subresources[subresource] if subresource else kind
    return {"group": shown.group, "version": shown.version, "kind": shown.kind}


def _resource(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def review(version: str, asked: Object) -> Object:
    """The body of the request."""
    return {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": asked}


# ── replies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

# What a webhook's reply says, and what is wrong with it, in the words of a real API server. Pure.
#
# https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response


KIND = "AdmissionReview"
TYPES: dict[str, tuple[type, str]] = {
    "uid": (str, "string"), "allowed": (bool, "bool"), "patch": (str, "string"), "patchType": (str, "string"),
    "warnings": (list, "[]string"), "auditAnnotations": (dict, "map[string]string"), "status": (dict, "v1.Status"),
}  # fmt: skip
GO_TYPES: dict[type, str] = {str: "string", list: "array", dict: "object", bool: "bool"}
LOWEST, HIGHEST = 400, 999
"""Codes that a refusal may have, whatever the webhook says."""


class BadReply(Exception):
    """It cannot be read; says why."""


class BadReview(Exception):
    """A readable reply does not answer the request; says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a webhook has said. `patch` is a text, of the type `patch_type`."""

    allowed: bool
    status: Object
    warnings: Sequence[str]
    patch: bytes
    patch_type: str


def parsed(text: bytes, group: str, kind: str) -> Object:
    """The review of a reply; a reply without kind and version is accepted as one. Raises `BadReply`."""
    try:
        said = json_values.loads(text)
    except ValueError as error:
        raise BadReply(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(said, dict):
        raise BadReply(f"couldn't get version/kind; json parse error: json: cannot unmarshal {_type(said)}")
    version, name = said.get("apiVersion") or "", said.get("kind") or ""
    if (version or name) and (name != kind or version not in [f"{group}/{one}" for one in VERSIONS]):
        raise BadReply(f'no kind "{name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"')
    return said


def read(text: bytes, version: str) -> Object:
    """A reply, its fields of the right types. Raises `BadReply`."""
    said = parsed(text, GROUP, KIND)
    told, wanted = said.get("apiVersion") or f"{GROUP}/{version}", f"{GROUP}/{version}"
    if told != wanted:
        why = "unknown conversion"
        raise BadReply(f"converting ({told.rpartition('/')[2]}.{KIND}) to ({version}.{KIND}): {why}")
    response = said.get("response")
    if not isinstance(response, dict | None):
        raise BadReply(f"json: cannot unmarshal {_type(response)} into Go struct field {KIND}.response")
    for key, (type_, name) in TYPES.items():
        value = (response or {}).get(key)
        if value is not None and not isinstance(value, type_):
            place = f"Go struct field AdmissionResponse.response.{key} of type {name}"
            raise BadReply(f"json: cannot unmarshal {_type(value)} into {place}")
    _patch(response or {})
    return said


def _type(value: JSON) -> str:
    return GO_TYPES.get(type(value), "number")


def _patch(response: Object) -> bytes:
    try:
        return base64.b64decode(response.get("patch") or "", validate=True)
    except binascii.Error:
        raise BadReply("illegal base64 data") from None


def checked(said: Object, version: str, uid: str, *, mutating: bool) -> Reply:
    """What a reply says, if it answers the review with this uid. Raises `BadReview`."""
    response = said.get("response")
    if response is None:
        raise BadReview("webhook response was absent")
    patch, patch_type = _patch(response), response.get("patchType")
    if version == "v1":
        _check_identity(said, uid)
        (_check_patch if mutating else _check_no_patch)(patch, patch_type)
    warnings = [one for one in response.get("warnings") or () if isinstance(one, str)]
    kind = "JSONPatch" if version != "v1" else patch_type or ""
    return Reply(bool(response.get("allowed")), response.get("status") or {}, warnings, patch, kind)


def _check_identity(said: Object, uid: str) -> None:
    told = said["response"].get("uid") or ""
    if told != uid:
        raise BadReview(f'expected response.uid="{uid}", got "{told}"')
    group, _, version = (said.get("apiVersion") or "").rpartition("/")
    found, wanted = f"{group}/{version}, Kind={said.get('kind') or ''}", f"{GROUP}/v1, Kind={KIND}"
    if found != wanted:
        raise BadReview(f"expected webhook response of {wanted}, got {found}")


def _check_patch(patch: bytes, patch_type: str | None) -> None:
    if patch and patch_type is None:
        raise BadReview("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise BadReview("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise BadReview('webhook returned invalid response.patchType of ""')


def _check_no_patch(patch: bytes, patch_type: str | None) -> None:
    if patch:
        raise BadReview("validating webhook may not return response.patch")
    if patch_type is not None:
        raise BadReview("validating webhook may not return response.patchType")


def denial(name: str, said: Object) -> Refused:
    """The refusal that the `status` of a webhook's reply comes to."""
    code = _number(said.get("code"))
    reason, message = str(said.get("reason") or ""), str(said.get("message") or "")
    why = f": {message or reason}" if message or reason else " without explanation"
    given = said.get("details")
    details = given if isinstance(given, dict) else {}
    about = About(*(str(details.get(key) or "") for key in ("group", "kind", "name", "uid"))) if details else None
    text = f'admission webhook "{name}" denied the request{why}'
    refused = Refused(min(max(code, LOWEST), HIGHEST), reason, text, about, _causes(details))
    refused.retry_after = _number(details.get("retryAfterSeconds"))
    return refused


def _number(value: JSON) -> int:
    return value if type(value) is int else 0


def _causes(details: Object) -> list[Cause]:
    given = details.get("causes")
    said = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return [Cause(*(str(one.get(key) or "") for key in ("reason", "message", "field"))) for one in said]
