"""What limits and scales: PodDisruptionBudgets, autoscalers, PriorityClasses, ResourceQuotas, LimitRanges."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    Causes,
    Object,
    given,
    given_and_named,
    label_selector,
    named,
    number_or_percent,
    one_of,
    percentage,
    quantities,
    unchanged,
)
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity

SOURCES = {
    "Resource": "resource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
    "ContainerResource": "containerResource",
}
HIGHEST_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
QUOTA_SCOPES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
)
STANDARD_QUOTA = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "storage", "pods", "services", "replicationcontrollers"),
        *("resourcequotas", "secrets", "configmaps", "persistentvolumeclaims", "services.nodeports"),
        *("services.loadbalancers", "requests.storage"),
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")),
    }
)
BELOW: tuple[tuple[str, str, str], ...] = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
"""Amounts in a LimitRange: the first may not be above the second; the third is the field that the error names."""
WORDS = {"min": "min", "max": "max", "default": "default", "defaultRequest": "default request"}


def disruption_budget(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/tasks/run-application/configure-pdb/"""
    spec = obj.get("spec") or {}
    there = [key for key in ("minAvailable", "maxUnavailable") if key in spec]
    if len(there) == 2:
        yield wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for key in there:
        yield from number_or_percent(spec[key], f"spec.{key}")
        if (percentage(spec[key]) or 0) > 100:
            yield wrong(f"spec.{key}", spec[key], "must not be greater than 100%")
    yield from label_selector(spec.get("selector"), "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    yield from one_of(spec.get("unhealthyPodEvictionPolicy"), "spec.unhealthyPodEvictionPolicy", policies, needed=False)


def autoscaler(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/"""
    spec = obj.get("spec") or {}
    yield from _replicas(spec)
    yield from _scaled(spec.get("scaleTargetRef") or {})
    if not old or _grouped(old["spec"]["scaleTargetRef"]):
        yield from _group(spec.get("scaleTargetRef") or {})
    for at, metric in enumerate(spec.get("metrics") or ()):
        yield from _metric(metric, f"spec.metrics[{at}]")
    behavior = spec.get("behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        yield from _scaling(behavior.get(key) or {}, f"spec.behavior.{key}")


def _replicas(spec: Object) -> Causes:
    low, high = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if low < 1:
        yield wrong("spec.minReplicas", low, "must be greater than or equal to 1")
    if high == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 1:
        yield wrong("spec.maxReplicas", high, "must be greater than 0")
    if high < low:
        yield wrong("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    if low == 0 and not any(one.get("type") in ("Object", "External") for one in spec.get("metrics") or ()):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_field("spec.metrics", why)


def _scaled(reference: Object) -> Causes:
    for key in ("kind", "name"):
        yield from given_and_named(reference.get(key), f"spec.scaleTargetRef.{key}", names.path_segment)


def _group(reference: Object) -> Causes:
    if not _grouped(reference):
        version = reference.get("apiVersion", "")
        yield wrong("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")


def _grouped(reference: Object) -> bool:
    """Whether an `apiVersion` has a group."""
    return all(reference.get("apiVersion", "").partition("/"))


def _metric(metric: Object, path: str) -> Causes:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in SOURCES:
        yield unsupported(f"{path}.type", kind, sorted(SOURCES))
        return
    key = SOURCES[kind]
    source = metric.get(key)
    if source is None:
        yield required(f"{path}.{key}", "must populate information for the given metric source")
        return
    if kind in ("Resource", "ContainerResource"):
        yield from given(source.get("name"), f"{path}.{key}.name", "must specify a resource name")
    yield from _target(source.get("target") or {}, f"{path}.{key}.target", kind)


def _target(target: Object, path: str, kind: str) -> Causes:
    if not target.get("type"):
        yield required(f"{path}.type", "must specify a metric target type")
    if target.get("type") not in ("Utilization", "Value", "AverageValue"):
        why = "must be either Utilization, Value, or AverageValue"
        yield wrong(f"{path}.type", target.get("type", ""), why)
    if kind == "Resource" and not any(name in target for name in ("averageUtilization", "averageValue")):
        why = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", why)
    for name in ("averageValue", "value"):
        if name in target and quantity(target[name]) <= 0:
            yield wrong(f"{path}.{name}", target[name], "must be positive")
    if target.get("averageUtilization", 1) < 1:
        yield wrong(f"{path}.averageUtilization", target["averageUtilization"], "must be greater than 0")


def _scaling(rules: Object, path: str) -> Causes:
    seconds = rules.get("stabilizationWindowSeconds", 0)
    if seconds < 0:
        yield wrong(f"{path}.stabilizationWindowSeconds", seconds, "must be greater than or equal to zero")
    if seconds > 3600:
        yield wrong(f"{path}.stabilizationWindowSeconds", seconds, "must be less than or equal to 3600")
    yield from one_of(rules.get("selectPolicy"), f"{path}.selectPolicy", ("Disabled", "Max", "Min"), needed=False)
    if rules and not rules.get("policies"):
        yield required(f"{path}.policies", "must specify at least one Policy")
    for at, one in enumerate(rules.get("policies") or ()):
        field = f"{path}.policies[{at}]"
        if one.get("type") not in ("Percent", "Pods"):
            yield unsupported(f"{field}.type", one.get("type", ""), ("Percent", "Pods"))
        for key in ("value", "periodSeconds"):
            if one.get(key, 0) <= 0:
                yield wrong(f"{field}.{key}", one.get(key, 0), "must be greater than zero")
        if one.get("periodSeconds", 0) > 1800:
            yield wrong(f"{field}.periodSeconds", one["periodSeconds"], "must be less than or equal to 1800")


def priority_class(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/"""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if old:
        if value != old.get("value", 0):
            yield forbidden_field("value", "may not be changed in an update.")
        yield from unchanged(obj, old, "", "preemptionPolicy")
        return
    if name.startswith("system-"):
        if SYSTEM_PRIORITIES.get(name) != value:
            why = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden_field("metadata.name", f"{why}{name} is not a known system priority class")
    elif value > HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        yield forbidden_field("value", why)
    policies = ("PreemptLowerPriority", "Never")
    yield from one_of(obj.get("preemptionPolicy"), "preemptionPolicy", policies, needed=False)


def resource_quota(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/policy/resource-quotas/"""
    spec = obj.get("spec") or {}
    for key in spec.get("hard") or {}:
        field = f"spec.hard[{key}]"
        broken = names.qualified(key)
        yield from (wrong(field, key, said) for said in broken)
        if "/" not in key and key not in STANDARD_QUOTA and "hugepages-" not in key:
            if not broken:
                yield wrong(field, key, "must be a standard resource type or fully qualified")
            yield wrong(field, key, "must be a standard resource for quota")
    yield from quantities(spec.get("hard") or {}, "spec.hard")
    for scope in spec.get("scopes") or ():
        if scope not in QUOTA_SCOPES:
            yield wrong("spec.scopes", spec["scopes"], "unsupported scope")
    if old and sorted(spec.get("scopes") or ()) != sorted(old["spec"].get("scopes") or ()):
        yield wrong("spec.scopes", spec.get("scopes"), "field is immutable")


def limit_range(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/policy/limit-range/"""
    seen = set()
    for at, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{at}]", limit.get("type", "")
        yield from named(kind, f"{path}.type", names.qualified)
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        if kind == "Pod":
            why = "may not be specified when `type` is 'Pod'"
            yield from (
                forbidden_field(f"{path}.{key}", why) for key in ("default", "defaultRequest") if limit.get(key)
            )
        if kind == "PersistentVolumeClaim" and not any("storage" in limit.get(key, {}) for key in ("min", "max")):
            why = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{path}.limits", why)
        yield from _limits(limit, path)


def _limits(limit: Object, path: str) -> Causes:
    keys = {key for kind in ("max", "min", "default", "defaultRequest") for key in limit.get(kind) or ()}
    for key in sorted(keys):
        for low, high, field in BELOW:
            less, more = (limit.get(low) or {}).get(key), (limit.get(high) or {}).get(key)
            if less is None or more is None or quantity(less) <= quantity(more):
                continue
            top = "default limit" if (low, high) == ("defaultRequest", "default") else WORDS[high]
            if low == "min":
                why = f"min value {less} is greater than {top} value {more}"
            else:
                why = f"{WORDS[low]} value {less} is greater than {top} value {more}"
            shown = {"min": less, "defaultRequest": limit.get("defaultRequest", {}).get(key)}.get(field, less)
            yield wrong(f"{path}.{field}[{key}]", shown, why)


CHECKS = {
    "poddisruptionbudgets.policy": disruption_budget,
    "horizontalpodautoscalers.autoscaling": autoscaler,
    "priorityclasses.scheduling.k8s.io": priority_class,
    "resourcequotas": resource_quota,
    "limitranges": limit_range,
}
