"""Is an object as its kind's controller is to make it? Pure functions over one object, by the rules of kstatus.

    verdict(deployment) -> Verdict(ready=False, message="1 of 3 replicas are updated")

Kinds without a status are ready as soon as they are there. Differences from kstatus, each in favour of waiting: a Pod
that cannot be scheduled or crashes may recover, so it is not given up; a paused Deployment is as its manifest says.
Source: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from hookrunner.model.resources import JSON
from hookrunner.releases.kstatus import pods, workloads
from hookrunner.releases.kstatus.verdicts import (
    READY,
    Verdict,
    condition,
    fails,
    holds,
    spec_of,
    status_of,
    waits,
    words,
)

_K8S_IO = (
    *("admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates"),
    *("coordination", "discovery", "events", "flowcontrol.apiserver", "networking", "node", "rbac.authorization"),
    *("resource", "scheduling", "storage"),
)
_SERVED_BY_KUBERNETES = frozenset({"", "apps", "autoscaling", "batch", "extensions", "policy"}) | {
    f"{group}.k8s.io" for group in _K8S_IO
}
_Rule = Callable[[JSON], Verdict]


def verdict(obj: JSON) -> Verdict:
    """How it stands with a complete object."""
    generic = _generic(obj)
    if not generic.ready:
        return generic
    return _RULES.get(_group_kind(obj), _by_ready_condition)(obj)


def may_wait(obj: JSON) -> bool:
    """May an object of this kind be there and not be ready? A manifest is enough to tell."""
    group, _ = key = _group_kind(obj)
    return key in _RULES or group not in _SERVED_BY_KUBERNETES


def _group_kind(obj: JSON) -> tuple[str, str]:
    return obj["apiVersion"].rpartition("/")[0], obj["kind"]


def _generic(obj: JSON) -> Verdict:
    """What holds for every kind."""
    if obj["metadata"].get("deletionTimestamp"):
        return waits("is being deleted")
    observed = status_of(obj).get("observedGeneration")
    if observed is not None and observed != obj["metadata"].get("generation"):
        return waits("its controller has not seen its latest change")
    if holds(reconciling := condition(obj, "Reconciling")):
        return waits(f"is being reconciled: {words(reconciling)}")
    if holds(stalled := condition(obj, "Stalled")):
        return fails(f"has stalled: {words(stalled)}")
    return READY


def _by_ready_condition(obj: JSON) -> Verdict:
    """A kind that says nothing of being ready is so."""
    found = condition(obj, "Ready")
    return READY if not found or holds(found) else waits(f"is not ready: {words(found)}")


def _claim(obj: JSON) -> Verdict:
    phase = status_of(obj).get("phase", "Pending")
    return READY if phase == "Bound" else waits(f"is {phase}, not Bound")


def _service(obj: JSON) -> Verdict:
    spec = spec_of(obj)
    lacks = spec.get("type") == "LoadBalancer" and not spec.get("clusterIP")
    return waits("has no cluster IP") if lacks else READY


def _definition(obj: JSON) -> Verdict:
    names, established = condition(obj, "NamesAccepted"), condition(obj, "Established")
    if names.get("status") == "False":
        return fails(f"its names are not accepted: {words(names)}")
    return READY if holds(established) else waits(f"is not established: {words(established)}")


def _api_service(obj: JSON) -> Verdict:
    available = condition(obj, "Available")
    return READY if holds(available) else waits(f"is not available: {words(available)}")


_RULES: Mapping[tuple[str, str], _Rule] = MappingProxyType(
    {
        ("apps", "Deployment"): workloads.deployment,
        ("apps", "ReplicaSet"): workloads.replica_set,
        ("apps", "StatefulSet"): workloads.stateful_set,
        ("apps", "DaemonSet"): workloads.daemon_set,
        ("batch", "Job"): pods.job,
        ("", "Pod"): pods.pod,
        ("", "PersistentVolumeClaim"): _claim,
        ("", "Service"): _service,
        ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
        ("apiregistration.k8s.io", "APIService"): _api_service,
    }
)
