"""The status of an object of a release by the rules of kstatus: a pure function over the object and the time.

    health_of(deployment, now) -> ObjectHealth("InProgress", "LessUpdated", "1 of 3 replicas are updated")

Status and reason are those of the library cli-utils, which Flux, Argo CD and kpt use too; by the same rules, with other
`Judgement`, waiting for a release ends (`kstatus.py`). Objects about which the library says nothing are judged
here: an APIService by its condition `Available`, and custom objects without a condition `Ready` by `Degraded`,
`Available` and `Progressing`, as cluster operators write them.
Source: https://github.com/kubernetes-sigs/cli-utils/tree/v0.37.2/pkg/kstatus/status; of suspended Jobs its main branch.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from hookrunner.releases.health import workload_rules
from hookrunner.releases.health.object_status import (
    CURRENT,
    REPORTED,
    Judgement,
    MalformedObject,
    ObjectCondition,
    ObjectHealth,
    conditions_of,
    failed,
    generation_of,
    in_progress,
    text_of,
    unknown,
)
from kubetypes.json_values import JSON

_LOAD_BALANCER = "LoadBalancer"

_K8S_IO = (
    *("admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates"),
    *("coordination", "discovery", "events", "flowcontrol.apiserver", "networking", "node", "rbac.authorization"),
    *("resource", "scheduling", "storage"),
)
_SERVED_BY_KUBERNETES = frozenset({"", "apps", "autoscaling", "batch", "extensions", "policy"}) | {
    f"{group}.k8s.io" for group in _K8S_IO
}


def health_of(obj: JSON, now: datetime, judgement: Judgement = REPORTED) -> ObjectHealth:
    """The status of a complete object; unknown if a field that matters is malformed. `now` has a time zone."""
    try:
        return _generic(obj) or _by_kind(obj, now, judgement)
    except MalformedObject as error:
        return unknown(str(error))


def has_rule(obj: JSON) -> bool:
    """Can an object of this kind exist and not be current? A manifest is enough to tell. Of Services only those that
    get an address from outside can, and the others need no watch."""
    if group_kind(obj) == ("", "Service"):
        return text_of(obj, "spec", "type") == _LOAD_BALANCER
    return group_kind(obj) in {*_RULES, ("", "Pod")} or not is_built_in(obj)


def is_built_in(obj: JSON) -> bool:
    """Is the object of a group that the API server itself serves?"""
    return group_kind(obj)[0] in _SERVED_BY_KUBERNETES


def group_kind(obj: JSON) -> tuple[str, str]:
    """API group, empty for the core, and kind."""
    return str(obj["apiVersion"]).rpartition("/")[0], str(obj["kind"])


def _generic(obj: JSON) -> ObjectHealth | None:
    """The rules for every kind; None if they say nothing."""
    if text_of(obj, "metadata", "deletionTimestamp"):
        return ObjectHealth("Terminating", message="it is being deleted")
    generation = generation_of(obj, "metadata", "generation")
    observed = None if generation is None else generation_of(obj, "status", "observedGeneration")
    if observed is not None and observed != generation:
        return in_progress("LatestGenerationNotObserved", "its controller has not seen its latest change")
    for condition in conditions_of(obj):
        if condition.type == "Reconciling" and condition.holds:
            return in_progress(condition.reason, condition.message, f"is being reconciled: {condition.words}")
        if condition.type == "Stalled" and condition.holds:
            return failed(condition.reason, condition.message, f"has stalled: {condition.words}")
    return None


def _by_kind(obj: JSON, now: datetime, judgement: Judgement) -> ObjectHealth:
    key = group_kind(obj)
    if key == ("", "Pod"):
        return workload_rules.pod(obj, now, judgement)
    if rule := _RULES.get(key):
        return rule(obj, judgement)
    if key in _ALWAYS_CURRENT:
        return CURRENT
    has_signs = judgement.with_signs and not is_built_in(obj)
    return _by_ready(obj) or (_by_operator_conditions(obj) if has_signs else CURRENT)


def _by_ready(obj: JSON) -> ObjectHealth | None:
    """By the first condition `Ready` that has a known status."""
    for condition in conditions_of(obj):
        if condition.type == "Ready" and condition.status in ("True", "False", "Unknown"):
            clause = f"is not ready: {condition.words}"
            return CURRENT if condition.holds else in_progress(condition.reason, condition.message, clause)
    return None


def _by_operator_conditions(obj: JSON) -> ObjectHealth:
    """By the conditions that cluster operators write, the most serious first. An extension."""
    conditions = {condition.type: condition for condition in conditions_of(obj)}
    if (degraded := conditions.get("Degraded")) and degraded.holds:
        return failed(degraded.reason or "Degraded", degraded.message)
    if (available := conditions.get("Available")) and not available.holds:
        return in_progress(available.reason or "NotAvailable", available.message)
    if (progressing := conditions.get("Progressing")) and progressing.holds:
        return in_progress(progressing.reason or "Progressing", progressing.message)
    return CURRENT


def _api_service(obj: JSON, _: Judgement) -> ObjectHealth:
    """An aggregated API: served when the aggregator finds its server available. An extension."""
    missing = ObjectCondition("Available", "False")
    available = next((condition for condition in conditions_of(obj) if condition.type == "Available"), missing)
    if available.holds:
        return CURRENT
    message = available.message or "its API is not available"
    return in_progress(available.reason or "NotAvailable", message, f"is not available: {available.words}")


def _claim(obj: JSON, _: Judgement) -> ObjectHealth:
    phase = text_of(obj, "status", "phase", default="unknown")
    return CURRENT if phase == "Bound" else in_progress("NotBound", f"it is {phase}, not Bound")


def _service(obj: JSON, _: Judgement) -> ObjectHealth:
    lacks_address = text_of(obj, "spec", "type") == _LOAD_BALANCER and not text_of(obj, "spec", "clusterIP")
    return in_progress("NoIPAssigned", "it has no cluster IP") if lacks_address else CURRENT


def _definition(obj: JSON, _: Judgement) -> ObjectHealth:
    """A CustomResourceDefinition: its conditions in their order."""
    clause = "is not established: no reason is given"
    for condition in conditions_of(obj):
        if condition.type == "NamesAccepted" and condition.status == "False":
            return failed(condition.reason, condition.message, f"its names are not accepted: {condition.words}")
        if condition.type == "Established" and condition.status == "False":
            clause = f"is not established: {condition.words}"
            if condition.reason != "Installing":
                return failed(condition.reason, condition.message, clause)
        if condition.type == "Established" and condition.holds:
            return CURRENT
    return in_progress("Installing", "it is not established", clause)


_WORKLOADS = {
    "DaemonSet": workload_rules.daemon_set,
    "Deployment": workload_rules.deployment,
    "ReplicaSet": workload_rules.replica_set,
}
_RULES: Mapping[tuple[str, str], Callable[[JSON, Judgement], ObjectHealth]] = MappingProxyType(
    {(group, kind): rule for group in ("apps", "extensions") for kind, rule in _WORKLOADS.items()}
    | {
        ("apps", "StatefulSet"): workload_rules.stateful_set,
        ("batch", "Job"): workload_rules.job,
        ("", "PersistentVolumeClaim"): _claim,
        ("", "Service"): _service,
        ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
        ("apiregistration.k8s.io", "APIService"): _api_service,
    }
)
_ALWAYS_CURRENT = frozenset(
    {("", "Secret"), ("", "ConfigMap"), ("batch", "CronJob"), ("policy", "PodDisruptionBudget")}
)
