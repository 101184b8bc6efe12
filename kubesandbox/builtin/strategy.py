"""What creating and updating do to an object apart from defaults, per kind: what is reset, counted and made up.

Kinds are distinguished by the name under which they are stored (`pods`, `deployments.apps`). Custom kinds have rules
too.
"""

from collections.abc import Sequence
from typing import Any

from kubesandbox.builtin import prepare, services
from kubesandbox.builtin.codec import zero
from kubesandbox.builtin.types import type_of
from kubesandbox.kinds import Kind
from kubesandbox.status import About, forbidden

Object = dict[str, Any]

RBAC = frozenset(
    f"{plural}.rbac.authorization.k8s.io" for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
)
ADMISSION = frozenset(
    f"{plural}.admissionregistration.k8s.io"
    for plural in (
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)
STORAGE = frozenset(f"{plural}.storage.k8s.io" for plural in ("csidrivers", "csinodes", "csistoragecapacities"))
CREATED_BY_UPDATE = RBAC | {
    "events",
    "endpoints",
    "services",
    "limitranges",
    "leases.coordination.k8s.io",
    "runtimeclasses.node.k8s.io",
}
CONDITIONAL = (
    ADMISSION
    | STORAGE
    | {
        "volumeattachments.storage.k8s.io",
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "leases.coordination.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)
COUNTED = {
    "pods": ("spec",),
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec",),
    "deployments.apps": ("spec",),
    "replicasets.apps": ("spec",),
    "daemonsets.apps": ("spec",),
    "statefulsets.apps": ("spec",),
    "jobs.batch": ("spec",),
    "cronjobs.batch": ("spec",),
    "ingresses.networking.k8s.io": ("spec",),
    "networkpolicies.networking.k8s.io": ("spec",),
    "ingressclasses.networking.k8s.io": ("spec",),
    "poddisruptionbudgets.policy": ("spec",),
    "endpointslices.discovery.k8s.io": ("endpoints", "ports", "addressType"),
    "priorityclasses.scheduling.k8s.io": (),
    "csidrivers.storage.k8s.io": ("spec",),
    "customresourcedefinitions.apiextensions.k8s.io": ("spec",),
} | {stored: ("webhooks",) if "webhook" in stored else ("spec",) for stored in ADMISSION}
"""Kinds with a generation, and the fields whose change counts."""
UNCOUNTED_AT_FIRST = frozenset({"csidrivers.storage.k8s.io"})
STATUS_KEPT = frozenset({"nodes"})
STATUS_ONLY = frozenset(
    {
        "volumeattachments.storage.k8s.io",
        "servicecidrs.networking.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)
"""Kinds whose status subresource leaves labels, annotations, finalizers and owners as they are."""
METADATA_OF_STATUS = ("labels", "annotations", "finalizers", "ownerReferences")
ORPHANED = frozenset({"replicationcontrollers", "jobs.batch"})


def created_by_update(kind: Kind) -> bool:
    """Whether a PUT creates a missing object."""
    return kind.stored in CREATED_BY_UPDATE


def unconditional(kind: Kind) -> bool:
    """Whether an update may come without `resourceVersion`."""
    return not kind.custom and kind.stored not in CONDITIONAL


def default_propagation(kind: Kind) -> str:
    """What happens to dependents if a deletion does not say: `Orphan` or `Background`."""
    return "Orphan" if kind.stored in ORPHANED else "Background"


def grace(kind: Kind, obj: Object, asked: int | None) -> int:
    """Seconds between asking for a deletion and the end: only Pods that a node runs get any."""
    spec, phase = obj.get("spec", {}), obj.get("status", {}).get("phase")
    if kind.stored != "pods" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    seconds = spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked
    return max(1, seconds) if seconds < 0 else int(seconds)


def ending(kind: Kind, obj: Object) -> Object:
    """The object when its deletion was asked for and something holds it."""
    if kind.stored == "namespaces":
        return {**obj, "status": {**obj.get("status", {}), "phase": "Terminating"}}
    return obj


def admitted(kind: Kind, obj: Object, classes: Sequence[Object]) -> Object:
    """A copy of a new object as webhooks see it: with what the API's own admission fills in.

    `classes` are all PriorityClasses, for Pods. Raises `Refused` (403) for a Pod that asks for another priority than it
    has.
    """
    extra = prepare.ADMITTED.get(kind.stored)
    made = extra(obj) if extra else obj
    return prioritised(made, classes) if kind.stored == "pods" else made


def for_create(kind: Kind, obj: Object, classes: Sequence[Object] | None = None) -> Object:
    """The object, defaults filled in and `metadata.uid` given, as it is stored first. A new object.

    `classes` are all PriorityClasses, for Pods; without them a Pod that names one keeps what it says. Raises `Refused`
    (403) for a Pod that asks for another priority than it has.
    """
    made = {**obj, "metadata": _owners_once(obj["metadata"])}
    if kind.custom:
        made["metadata"]["generation"] = 1
        if "status" in kind.subresources:
            made.pop("status", None)
        return made
    if kind.stored in COUNTED and kind.stored not in UNCOUNTED_AT_FIRST:
        made["metadata"]["generation"] = 1
    if "status" in kind.subresources and kind.stored not in STATUS_KEPT:
        _set(made, "status", _no_status(kind))
    if kind.stored == "services":
        return services.created(made)
    extra = prepare.CREATED.get(kind.stored)
    made = extra(made) if extra else made
    if kind.stored == "pods" and (classes is not None or needs_no_class(made)):
        return prioritised(made, classes or ())
    return made


def for_update(kind: Kind, obj: Object, old: Object, subresource: str = "") -> Object:
    """The object, new, as an update through the (sub)resource leaves it: what that may not touch is as in `old`."""
    if subresource == "status":
        return _status_update(kind, obj, old)
    made = {**obj, "metadata": _owners_once(obj["metadata"])}
    if "status" in kind.subresources:
        _set(made, "status", old.get("status"))
    if kind.stored == "services":
        made = services.updated(made, old)
    elif kind.stored in prepare.UPDATED:
        made = prepare.UPDATED[kind.stored](made, old)
    if _counts(kind, made, old):
        made["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    return made


def _owners_once(meta: Object) -> Object:
    """A copy of the metadata, without owners that are named twice."""
    owners: list[Object] = []
    for one in meta.get("ownerReferences") or ():
        if one not in owners:
            owners.append(one)
    return {**meta, "ownerReferences": owners} if owners else dict(meta)


def _status_update(kind: Kind, obj: Object, old: Object) -> Object:
    meta = dict(obj["metadata"])
    if kind.custom:
        keep = {key: obj["metadata"][key] for key in ("managedFields", "resourceVersion") if key in obj["metadata"]}
        meta = {**old["metadata"], **keep}
    kept = METADATA_OF_STATUS if kind.stored in STATUS_ONLY else _KEPT_BY_STATUS.get(kind.stored, ())
    for key in kept:
        _set(meta, key, old["metadata"].get(key))
    made = {**old, "metadata": meta}
    _set(made, "status", obj.get("status"))
    if kind.stored == "pods" and not made.get("status", {}).get("qosClass"):
        made["status"] = {**made.get("status", {}), "qosClass": old.get("status", {}).get("qosClass", "BestEffort")}
    return made


_KEPT_BY_STATUS = {"deployments.apps": ("labels",), "pods": ("ownerReferences",)}


def _counts(kind: Kind, obj: Object, old: Object) -> bool:
    if kind.custom:
        apart = {"metadata", "status"} if "status" in kind.subresources else {"metadata"}
        return any(obj.get(key) != old.get(key) for key in (obj.keys() | old.keys()) - apart)
    if any(obj.get(key) != old.get(key) for key in COUNTED.get(kind.stored, ())):
        return True
    if kind.stored == "deployments.apps":
        return bool((obj["metadata"].get("annotations") or {}) != (old["metadata"].get("annotations") or {}))
    if kind.stored == "endpointslices.discovery.k8s.io":
        return bool((obj["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}))
    return False


def _no_status(kind: Kind) -> Any:
    type_ = type_of(kind.api_version, kind.kind)
    field = type_.fields.get("status") if type_ else None
    return zero(field.type) if field else None


def _set(obj: Object, key: str, value: Any) -> None:
    """In place; None is for nothing there."""
    if value is None:
        obj.pop(key, None)
    else:
        obj[key] = value


# ── priorities of Pods ────────────────────────────────────────────────────────────────────────────────────────────────

# Priorities of new Pods, from the PriorityClasses there are.
#
# https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/


LOWER = "PreemptLowerPriority"
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
NOT_YOURS = "must not be provided in pod spec; priority admission controller computed"


def prioritised(pod: Object, classes: Sequence[Object]) -> Object:
    """A new Pod with the priority and the preemption policy of its class, of the global default, or none.

    `classes` are all PriorityClasses. A new object. Raises `Refused` (403) if there is no such class or the Pod says
    something else than its class.
    """
    spec = dict(pod["spec"])
    name = spec.get("priorityClassName", "")
    found = next((one for one in classes if one["metadata"]["name"] == name), None)
    if not name:
        found = next((one for one in classes if one.get("globalDefault")), None)
    elif not found and name not in SYSTEM:
        raise forbidden(_about(pod), f"no PriorityClass with name {name} was found")
    if found:
        spec["priorityClassName"] = found["metadata"]["name"]
    value = found.get("value", 0) if found else SYSTEM.get(name, 0)
    policy = found.get("preemptionPolicy", LOWER) if found else LOWER
    if spec.setdefault("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) {NOT_YOURS} {value} from the given PriorityClass name"
        )
        raise forbidden(_about(pod), why)
    if spec.setdefault("preemptionPolicy", policy) != policy:
        said = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
        raise forbidden(_about(pod), f"{said} {NOT_YOURS} {policy} from the given PriorityClass name")
    return {**pod, "spec": spec}


def needs_no_class(pod: Object) -> bool:
    """Whether a Pod names no class, or one of the system's."""
    return pod["spec"].get("priorityClassName", "") in ("", *SYSTEM)


def _about(pod: Object) -> About:
    return About("", "pods", pod["metadata"].get("name", ""))
