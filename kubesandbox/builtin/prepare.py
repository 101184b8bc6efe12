"""What the API adds when it creates Pods, Jobs, volumes, Namespaces and Nodes: phases, labels, finalizers, what
admission plugins add. (Not here: what LimitRanges, ResourceQuotas and default StorageClasses of the cluster would add.)
"""

from collections.abc import Callable, Iterable
from typing import Any

from kubetypes.quantities import quantity

Object = dict[str, Any]

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATED_SECONDS = 300
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
    "lastTransitionTime": None,
}
CLAIM, VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
COMPUTE = ("cpu", "memory")
JOB_NAME, CONTROLLER_UID = "job-name", "controller-uid"
DATA_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
BATCH = "batch.kubernetes.io/"


def qos_class(spec: Object) -> str:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if "resources" in spec and (_compute(spec["resources"], "requests") or _compute(spec["resources"], "limits")):
        containers = [{"resources": spec["resources"]}]
    resources = [one.get("resources") or {} for one in containers]
    if not any(_compute(one, kind) for one in resources for kind in ("requests", "limits")):
        return "BestEffort"
    guaranteed = all(
        len(_compute(one, "limits")) == len(COMPUTE)
        and all(_compute(one, "requests").get(key, value) == value for key, value in _compute(one, "limits").items())
        for one in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(resources: Object, kind: str) -> Object:
    given = resources.get(kind) or {}
    return {key: quantity(given[key]) for key in COMPUTE if key in given and quantity(given[key])}


def _pod(pod: Object) -> Object:
    spec = {**pod["spec"]}
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    if "serviceAccountName" in spec or "serviceAccount" in spec:
        name = spec.get("serviceAccountName") or spec["serviceAccount"]
        spec["serviceAccountName"] = spec["serviceAccount"] = name
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [GATED]
    return {**pod, "spec": spec, "status": status}


def _tolerations(given: list[Object]) -> list[Object]:
    """The seconds for which a Pod stays on a node that went away, unless it says something of that itself."""
    added = []
    for key in (NOT_READY, UNREACHABLE):
        if not any(_tolerates(one, key) for one in given):
            added.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS}
            )
    return [*given, *added]


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", key) in (key, "") and toleration.get("effect", "NoExecute") in ("NoExecute", "")


def _job(job: Object) -> Object:
    if job["spec"].get("manualSelector"):
        return job
    given = job["metadata"].get("labels") or {}
    shared = not given or given is (job["spec"]["template"].get("metadata") or {}).get("labels")
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    template = job["spec"]["template"]
    mine = {CONTROLLER_UID: uid, BATCH + CONTROLLER_UID: uid, JOB_NAME: name, BATCH + JOB_NAME: name}
    meta = template.get("metadata") or {}
    template = {**template, "metadata": {**meta, "labels": {**meta.get("labels", {}), **mine}}}
    spec = {**job["spec"], "template": template}
    if shared:
        job = {**job, "metadata": {**job["metadata"], "labels": {**given, **mine}}}
    selector = spec.get("selector") or {}
    matched = {**selector.get("matchLabels", {}), BATCH + CONTROLLER_UID: uid}
    return {**job, "spec": {**spec, "selector": {**selector, "matchLabels": matched}}}


def _attributes_class(obj: Object) -> Object:
    return {**obj, "metadata": with_finalizer(obj["metadata"], "kubernetes.io/vac-protection")}


def _limit_range(limits: Object) -> Object:
    """The one kind that needs no name."""
    meta = limits["metadata"]
    return limits if meta.get("name") else {**limits, "metadata": {**meta, "name": meta["uid"]}}


def _protected(finalizer: str) -> Callable[[Object], Object]:
    """A volume or a claim: pending, and kept while something uses it."""

    def prepare(obj: Object) -> Object:
        status: Object = {"phase": "Pending"}
        spec = dict(obj["spec"])
        source = spec.get("dataSource", {})
        if (source.get("apiGroup") or "", source.get("kind")) not in DATA_SOURCES and "dataSourceRef" not in spec:
            spec.pop("dataSource", None)
        for one, other in (("dataSource", "dataSourceRef"), ("dataSourceRef", "dataSource")):
            if one in spec and other not in spec and obj["kind"] == "PersistentVolumeClaim":
                spec[other] = {"apiGroup": None, **spec[one]}
        if obj["kind"] == "PersistentVolume":
            status["lastPhaseTransitionTime"] = obj["metadata"]["creationTimestamp"]
        return {**obj, "metadata": with_finalizer(obj["metadata"], finalizer), "spec": spec, "status": status}

    return prepare


def with_finalizer(meta: Object, finalizer: str) -> Object:
    """Metadata that has the finalizer."""
    known: Iterable[str] = meta.get("finalizers") or ()
    return meta if finalizer in known else {**meta, "finalizers": [*known, finalizer]}


def _namespace(namespace: Object) -> Object:
    spec = namespace.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    finalizers = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
    return {**namespace, "spec": {**spec, "finalizers": finalizers}, "status": {"phase": "Active"}}


def _node(node: Object) -> Object:
    """A new node takes no Pods until it was Ready once."""
    spec = dict(node.get("spec") or {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    taints = spec.get("taints") or []
    if any(one.get("key") == NOT_READY and one.get("effect") == "NoSchedule" for one in taints):
        return {**node, "spec": spec}
    return {**node, "spec": {**spec, "taints": [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]}}


def _daemon_set(daemons: Object) -> Object:
    return {**daemons, "metadata": counted_template(daemons["metadata"], 1)}


def counted_template(meta: Object, generation: int) -> Object:
    """Metadata with the count of changes to a DaemonSet's template, an annotation from older versions."""
    return {**meta, "annotations": {**meta.get("annotations", {}), TEMPLATE_GENERATION: str(generation)}}


def _changed_daemon_set(daemons: Object, old: Object) -> Object:
    count = int(old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "1"))
    changed = daemons["spec"].get("template") != old["spec"].get("template")
    return {**daemons, "metadata": counted_template(daemons["metadata"], count + changed)}


def _changed_pod(pod: Object, old: Object) -> Object:
    spec, known = pod["spec"], old.get("spec") or {}
    kept = {key: known[key] for key in ("priority", "preemptionPolicy") if key in known and spec.get(key) is None}
    return {**pod, "spec": {**spec, **kept, "tolerations": _tolerations(spec.get("tolerations") or [])}}


def _changed_namespace(namespace: Object, old: Object) -> Object:
    return {**namespace, "spec": old.get("spec") or {}}


def _tolerant(pod: Object) -> Object:
    return {**pod, "spec": {**pod["spec"], "tolerations": _tolerations(pod["spec"].get("tolerations") or [])}}


def _kept_while_used(finalizer: str) -> Callable[[Object], Object]:
    return lambda obj: {**obj, "metadata": with_finalizer(obj["metadata"], finalizer)}


ADMITTED: dict[str, Callable[[Object], Object]] = {
    "pods": _tolerant,
    "persistentvolumeclaims": _kept_while_used(CLAIM),
    "persistentvolumes": _kept_while_used(VOLUME),
    "nodes": _node,
}
"""What webhooks see already of what creating adds: it comes from the API's own admission."""
CREATED: dict[str, Callable[[Object], Object]] = {
    "pods": _pod,
    "jobs.batch": _job,
    "daemonsets.apps": _daemon_set,
    "persistentvolumeclaims": _protected(CLAIM),
    "persistentvolumes": _protected(VOLUME),
    "volumeattributesclasses.storage.k8s.io": _attributes_class,
    "namespaces": _namespace,
    "limitranges": _limit_range,
    "nodes": _node,
}
UPDATED: dict[str, Callable[[Object, Object], Object]] = {
    "daemonsets.apps": _changed_daemon_set,
    "pods": _changed_pod,
    "namespaces": _changed_namespace,
}
