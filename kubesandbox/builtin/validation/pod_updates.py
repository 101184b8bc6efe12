"""Pods: what is checked when they are created, and the few fields that an update may change."""

from kubesandbox.builtin.validation import pods
from kubesandbox.builtin.validation.common import HIGHEST_INT32, Causes, Object
from kubesandbox.status import forbidden_field, wrong

UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
    " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was"
    " previously negative)"
)
NOT_MORE = "pod updates may not add or remove containers"


def pod(obj: Object, old: Object | None) -> Causes:
    """A Pod as it is created or changed."""
    if not old:
        yield from pods.pod(obj)
        return
    spec, known = obj.get("spec") or {}, old.get("spec") or {}
    yield from pods.pod_spec(spec, "spec")
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(known.get(kind) or ()):
            yield forbidden_field(f"spec.{kind}", NOT_MORE)
            return
    yield from _deadline(spec.get("activeDeadlineSeconds"), known.get("activeDeadlineSeconds"))
    yield from _tolerations(spec.get("tolerations") or [], known.get("tolerations") or [])
    if _unchangeable(spec) != _unchangeable(known):
        yield forbidden_field("spec", f"pod updates may not change fields other than {UPDATABLE}")


def _deadline(now: int | None, before: int | None) -> Causes:
    field = "spec.activeDeadlineSeconds"
    if now is not None:
        if not 0 <= now <= HIGHEST_INT32:
            yield wrong(field, now, f"must be between 0 and {HIGHEST_INT32}, inclusive")
        elif before is not None and now > before:
            yield wrong(field, now, "must be less than or equal to previous value")
    elif before is not None:
        yield wrong(field, None, "must not update from a positive integer to nil value")


def _tolerations(now: list[Object], before: list[Object]) -> Causes:
    """Only more seconds, or more tolerations."""
    kept = [{**one, "tolerationSeconds": None} for one in now]
    if any({**one, "tolerationSeconds": None} not in kept for one in before):
        yield forbidden_field(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )


def _unchangeable(spec: Object) -> Object:
    rest = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    for kind in ("containers", "initContainers"):
        if rest.get(kind):
            rest[kind] = [{**one, "image": ""} for one in rest[kind]]
    return rest | {"schedulingGates": None}


CHECKS = {"pods": pod}
