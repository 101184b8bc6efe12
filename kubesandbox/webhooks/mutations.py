"""What a mutating webhook's patch makes of an object. Pure.

The API decodes the result as it decodes a request, fills in defaults again, and takes no managed fields that cannot be
read. https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response
"""

from dataclasses import replace
from http import HTTPStatus

import orjson

from kubesandbox.fields.entries import Unreadable, read_foreign
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import Place
from kubesandbox.status import Cause, Refused
from kubesandbox.verbs import bodies, rules
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks.reviews import Reply
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.patches import json_patch
from kubetypes.patches.refusals import PatchRefused

UNDECODABLE = "received undecodable patch in webhook response"
BROKEN_FIELDS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating"
    " admission controller; please fix your requests: "
)


class Unusable(Exception):
    """The patch cannot be used; says why. The webhook's policy decides whether the request fails."""


def internal(why: str) -> Refused:
    """500: what goes wrong while webhooks are asked."""
    message = f"Internal error occurred: {why}"
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message, causes=[Cause("", why)])


def operations(reply: Reply) -> list[JSON]:
    """The operations of the patch in a reply. Raises `Unusable`."""
    try:
        found = json_values.loads(reply.patch or b"null")
    except ValueError as error:
        raise Unusable(f"{UNDECODABLE}: {error}") from None
    if not isinstance(found, list | None):
        raise Unusable(f"{UNDECODABLE}: json: cannot unmarshal {type(found).__name__} into Go value of a patch")
    if bodies.is_too_deep(found):
        raise Unusable(f"{UNDECODABLE}: {bodies.TOO_DEEP_HERE}")
    if found and reply.patch_type != "JSONPatch":
        raise Unusable(f'unsupported patch type "{reply.patch_type}"')
    return found or []


def applied(patch: list[JSON], obj: Object, kind: Kind) -> Object:
    """A new object. Raises Refused 500 where the patch does not apply, or makes no object of the kind."""
    result = _patched(patch, obj)
    if not isinstance(result, dict):
        raise internal("the patch leaves no object")
    if bodies.is_too_deep(result):
        raise internal(bodies.TOO_DEEP_HERE)
    if (obj["kind"], obj["apiVersion"]) != (kind.kind, kind.api_version):
        return result  # a Scale, an Eviction: who asks for it reads what it needs
    try:
        decoded, _ = rules.decoded(kind, result, "Ignore")
    except Refused as refused:
        raise internal(refused.message.rpartition(f"cannot be handled as a {kind.kind}: ")[2]) from None
    return rules.defaulted(kind, decoded)


def _patched(patch: list[JSON], obj: Object) -> JSON:
    """What the operations make of the object. Raises Refused 500."""
    patched = json_patch.PatchedDocument(obj)
    for one in orjson.loads(orjson.dumps(patch)):
        try:
            patched.change(json_patch.operation(one))
        except PatchRefused as refused:
            raise internal(refused.detail) from None
    return patched.document


def settled(kind: Kind, where: Place, obj: Object, before: Object) -> tuple[Object, list[str]]:
    """An object that webhooks have changed, in its place, with managed fields that can be read; and warnings. Raises
    Refused 400 if it is in another namespace now."""
    placed = rules.placed(kind, replace(where, name=""), obj)
    meta = placed["metadata"]
    try:
        read_foreign(meta.get("managedFields") or ())
    except Unreadable as error:
        meta["managedFields"] = before["metadata"].get("managedFields", [])
        return placed, [f"{BROKEN_FIELDS}{error}"]
    return placed, []
