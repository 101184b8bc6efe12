"""What the sandbox's rules make of an object, put together as the API does it; and the same from a real API server."""

from typing import Any

from kubesandbox import kinds, names, status
from kubesandbox.builtin import decode, defaults, metadata, strategy, validation
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubesandbox.verbs import rules
from tests.kubesandbox.oracle import Oracle

Object = dict[str, Any]

KINDS = kinds.builtin()
VARYING = frozenset(
    {
        "uid",
        "creationTimestamp",
        "managedFields",
        "resourceVersion",
        "clusterIP",
        "clusterIPs",
        "nodePort",
        "lastPhaseTransitionTime",
    }
)
CONTROLLER = "controller-uid"
NAMESPACE = "default"


def kind_of(obj: Object) -> Kind:
    """The kind of a manifest."""
    return next(one for one in KINDS if (one.api_version, one.kind) == (obj["apiVersion"], obj["kind"]))


def created(obj: Object, namespace: str) -> Object:
    """The object as a create would answer. Raises Refused."""
    kind = kind_of(obj)
    made, _ = decode.decoded(kind.api_version, kind.kind, obj)
    meta = made["metadata"] = {**made["metadata"], "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if kind.namespaced:
        meta["namespace"] = namespace
    if "generateName" in meta and "name" not in meta:
        meta["name"] = names.generated(meta["generateName"])
    if kind.stored == rules.DEFINITIONS:
        return checked(kind, rules.for_create(kind, rules.defaulted(kind, made), []), None)
    made = strategy.for_create(kind, defaults.defaulted(kind, made))
    return checked(kind, made, None)


def updated(obj: Object, old: Object, subresource: str = "") -> Object:
    """The object as an update would answer. Raises Refused."""
    kind = kind_of(obj)
    made, _ = decode.decoded(kind.api_version, kind.kind, obj)
    kept = {key: value for key, value in old["metadata"].items() if key in ("uid", "creationTimestamp", "generation")}
    made["metadata"] |= kept
    made = strategy.for_update(kind, defaults.defaulted(kind, made), old, subresource)
    return checked(kind, made, old)


def checked(kind: Kind, obj: Object, old: Object | None) -> Object:
    """The object if it keeps all rules. Raises Refused."""
    if causes := [*metadata.problems(kind, obj, old), *validation.problems(kind, obj, old)]:
        raise status.invalid(kind.named(obj["metadata"].get("name", "")), causes)
    return obj


def path(kind: Kind, namespace: str, name: str = "") -> str:
    """Where a kind's objects are."""
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    place = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{root}{place}/{kind.plural}" + (f"/{name}" if name else "")


def theirs(oracle: Oracle, obj: Object, **query: str) -> tuple[int, Object]:
    """Code and body of a real server's answer to a create that stores nothing."""
    code, body = oracle.ask("POST", path(kind_of(obj), NAMESPACE), obj, dryRun="All", **query)
    return code, body


def mine(obj: Object) -> tuple[int, Object]:
    """The same from the rules."""
    try:
        return 201, created(obj, NAMESPACE)
    except Refused as refused:
        return refused.code, refused.json()


def comparable(answer: tuple[int, Object]) -> tuple[int, Any]:
    """What must be equal: the object without what varies, or code, reason and causes."""
    code, body = answer
    if code >= 400:
        causes = body.get("details", {}).get("causes") or [] if body.get("details") else []
        return code, [body.get("reason"), *sorted({(one.get("field", ""), one["reason"]) for one in causes})]
    return code, constant({key: value for key, value in body.items() if key not in ("kind", "apiVersion")})


def constant(value: Any) -> Any:
    """The value without what is different each time."""
    if isinstance(value, list):
        return [constant(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "…" if key.endswith(CONTROLLER) else constant(item) for key, item in value.items() if key not in VARYING
    }
