"""The review that an admission webhook is sent. Pure.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request
"""

from collections.abc import Sequence

from kubesandbox.kinds import Kind, Subresource
from kubesandbox.rules import Object
from kubesandbox.webhooks.matching import Attempt, operation

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
