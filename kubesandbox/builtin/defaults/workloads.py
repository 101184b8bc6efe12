"""Defaults of Deployments, Jobs and their like that depend on other fields. Each rule changes the object in place."""

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

UNLIMITED = 2**31 - 1


def _rolling(**values: Any) -> Callable[[Object], None]:
    """The parameters of a rolling update, only where there is one."""

    def rule(strategy: Object) -> None:
        if strategy["type"] == "RollingUpdate":
            strategy["rollingUpdate"] = {**values, **strategy.get("rollingUpdate", {})}

    return rule


def _set_strategy(strategy: Object) -> None:
    """A StatefulSet's has parameters by itself only if the whole strategy goes without saying."""
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}


def _template_labels(obj: Object) -> Object:
    labels: Object = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    return labels


def _labelled(obj: Object) -> None:
    """No labels of its own: those of its Pods, the very same map: `prepare` tells by that whose labels they were."""
    if not obj["metadata"].get("labels") and _template_labels(obj):
        obj["metadata"] = obj["metadata"] | {"labels": _template_labels(obj)}


def _replication_controller(obj: Object) -> None:
    labels = _template_labels(obj)
    _labelled(obj)
    if labels and not obj["spec"].get("selector"):
        obj["spec"] = obj["spec"] | {"selector": dict(labels)}


def _job(job: Object) -> None:
    _labelled(job)
    spec = job["spec"] = dict(job["spec"])
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    for key, value in (
        ("parallelism", 1),
        ("backoffLimit", UNLIMITED if "backoffLimitPerIndex" in spec else 6),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("manualSelector", False),
        ("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"),
    ):
        spec.setdefault(key, value)


def _claim_templates(spec: Object) -> None:
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [
            {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **one} for one in spec["volumeClaimTemplates"]
        ]


RULES: dict[str, Callable[[Any], None]] = {
    "apps/v1.DeploymentStrategy": _rolling(maxUnavailable="25%", maxSurge="25%"),
    "apps/v1.DaemonSetUpdateStrategy": _rolling(maxUnavailable=1, maxSurge=0),
    "apps/v1.StatefulSetUpdateStrategy": _set_strategy,
    "apps/v1.StatefulSetSpec": _claim_templates,
    "core/v1.ReplicationController": _replication_controller,
    "batch/v1.Job": _job,
}
