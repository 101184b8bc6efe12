"""What a cluster is made of: Nodes, PersistentVolumes, Leases, Events, RuntimeClasses."""

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    named,
    one_of,
)
from kubesandbox.builtin.validation.network import network
from kubesandbox.builtin.validation.templates import volumes
from kubesandbox.builtin.validation.templates.scheduling import EFFECTS, node_selector, tolerations
from kubesandbox.builtin.validation.templates.volumes import source_fields
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity

VOLUME_FIELDS = frozenset(
    {
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    }
)
RECLAIM = ("Delete", "Recycle", "Retain")


def node(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/architecture/nodes/"""
    spec = obj.get("spec") or {}
    seen = set()
    for at, taint in enumerate(spec.get("taints") or ()):
        field = f"metadata.taints[{at}]"
        yield from named(taint.get("key", ""), f"{field}.key", names.qualified)
        yield from named(taint.get("value", ""), f"{field}.value", names.label_value)
        yield from one_of(taint.get("effect"), f"{field}.effect", EFFECTS)
        if (taint.get("key"), taint.get("effect")) in seen:
            yield duplicate(field, taint)
        seen.add((taint.get("key"), taint.get("effect")))
    for at, one in enumerate(spec.get("podCIDRs") or ()):
        yield from network(one, f"spec.podCIDRs[{at}]")
    if old:
        known = old.get("spec") or {}
        if known.get("podCIDRs") and spec.get("podCIDRs") != known["podCIDRs"]:
            yield forbidden_field("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
        if known.get("providerID") and spec.get("providerID") != known["providerID"]:
            yield forbidden_field("spec.providerID", 'node updates may not change providerID except from "" to valid')


def persistent_volume(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/storage/persistent-volumes/"""
    spec = obj.get("spec") or {}
    yield from volumes.access_modes(spec, "spec", "")
    capacity = spec.get("capacity") or {}
    if not capacity:
        yield required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        yield unsupported("spec.capacity", capacity or None, ("storage",))
    for key, value in capacity.items():
        if quantity(value) <= 0:
            yield wrong(f"spec.capacity[{key}]", value, "must be greater than zero")
    yield from one_of(spec.get("persistentVolumeReclaimPolicy"), "spec.persistentVolumeReclaimPolicy", RECLAIM)
    yield from _node_affinity(spec.get("nodeAffinity"))
    yield from _volume_source(spec)
    if spec.get("storageClassName"):
        yield from named(spec["storageClassName"], "spec.storageClassName", names.subdomain)
    yield from one_of(spec.get("volumeMode"), "spec.volumeMode", ("Block", "Filesystem"), needed=False)
    if old:
        if _sources(spec) != _sources(old["spec"]):
            why = "spec.persistentvolumesource is immutable after creation"
            yield forbidden_field("spec.persistentvolumesource", why)
        if spec.get("volumeMode") != old["spec"].get("volumeMode"):
            yield wrong("volumeMode", spec.get("volumeMode"), UNCHANGEABLE)


def _node_affinity(affinity: Object | None) -> Causes:
    if affinity is None:
        return
    if "required" in affinity:
        yield from node_selector(affinity["required"], "spec.nodeAffinity.required")
    else:
        yield required("spec.nodeAffinity.required", "must specify required node constraints")


def _sources(spec: Object) -> Object:
    return {key: value for key, value in spec.items() if key not in VOLUME_FIELDS}


def _volume_source(spec: Object) -> Causes:
    sources = _sources(spec)
    for at, (kind, source) in enumerate(sources.items()):
        if at:
            yield forbidden_field(f"spec.{kind}", "may not specify more than 1 volume type")
        else:
            yield from source_fields(kind, source, f"spec.{kind}")
        if kind == "local" and "nodeAffinity" not in spec:
            yield required("spec.nodeAffinity", "Local volume requires node affinity")
        if kind == "csi":
            yield from given(source.get("volumeHandle"), "spec.csi.volumeHandle")
    if not sources:
        yield required("spec", "must specify a volume type")


def lease(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/architecture/leases/"""
    spec = obj.get("spec") or {}
    if spec.get("leaseDurationSeconds", 1) <= 0:
        yield wrong("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    if spec.get("leaseTransitions", 0) < 0:
        yield wrong("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0")


def event(obj: Object, old: Object | None) -> Causes:
    """A core event must be about something of its own namespace."""
    about, namespace = obj.get("involvedObject") or {}, obj["metadata"].get("namespace", "")
    if about.get("namespace", "") != namespace and not (not about.get("namespace") and namespace == "default"):
        yield wrong("involvedObject.namespace", about.get("namespace", ""), "does not match event.namespace")


def new_event(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/"""
    about, namespace = obj.get("regarding") or {}, obj["metadata"].get("namespace", "")
    if about.get("namespace", "") != namespace and namespace != "default":
        yield wrong("involvedObject.namespace", about.get("namespace", ""), "does not match event.namespace")
    if old:
        return
    if not obj.get("eventTime"):
        yield required("eventTime")
        return
    if obj.get("type") not in ("Normal", "Warning"):
        yield wrong("type", "", f"has invalid value: {obj.get('type', '')}")
    yield from given(obj.get("reportingController"), "reportingController")
    yield from named(obj.get("reportingController", ""), "reportingController", names.qualified)
    for key in ("reportingInstance", "action", "reason"):
        yield from given(obj.get(key), key)


def runtime_class(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/containers/runtime-class/"""
    if obj.get("handler"):
        yield from named(obj["handler"], "handler", names.label)
    else:
        yield required("handler")
    scheduling = obj.get("scheduling") or {}
    yield from metadata.labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    given_tolerations = scheduling.get("tolerations") or []
    yield from tolerations(given_tolerations, "scheduling.tolerations")
    for at, one in enumerate(given_tolerations):
        if one in given_tolerations[:at]:
            yield duplicate(f"scheduling.tolerations[{at}]", one)
    if old and obj.get("handler") != old.get("handler"):
        yield wrong("handler", obj.get("handler", ""), UNCHANGEABLE)


CHECKS = {
    "nodes": node,
    "persistentvolumes": persistent_volume,
    "persistentvolumeclaims": volumes.claim,
    "leases.coordination.k8s.io": lease,
    "events": event,
    "events.events.k8s.io": new_event,
    "runtimeclasses.node.k8s.io": runtime_class,
}
