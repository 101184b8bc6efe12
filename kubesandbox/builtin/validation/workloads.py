"""Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers, PodTemplates."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    NOT_NEGATIVE,
    Causes,
    Object,
    empty_selector,
    given,
    label_selector,
    matches,
    named,
    not_negative,
    number_or_percent,
    one_of,
    percentage,
    unchanged,
    usable,
)
from kubesandbox.builtin.validation.templates import pods, volumes
from kubesandbox.status import forbidden_field, required, unsupported, wrong

MISMATCH = "`selector` does not match template `labels`"
SET_FIELDS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
SET_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def selector_and_template(spec: Object, called: str, template: Object | None = None) -> Causes:
    """A selector that says something and selects what the template makes; templates of Pods that run for good."""
    selector = spec.get("selector")
    template = template if template is not None else spec.get("template") or {}
    if selector is None:
        yield required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
        if empty_selector(selector):
            yield wrong("spec.selector", selector, f"empty selector is invalid for {called}")
        if not usable(selector):
            yield wrong("spec.selector", selector, "invalid label selector")
            return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector is None or (not empty_selector(selector) and not matches(selector, labels)):
        yield wrong("spec.template.metadata.labels", labels or None, MISMATCH)
    yield from pods.template(template, "spec.template")


def _forever(spec: Object, called: str) -> Causes:
    inner = (spec.get("template") or {}).get("spec") or {}
    if inner.get("restartPolicy") != "Always":
        yield unsupported("spec.template.spec.restartPolicy", inner.get("restartPolicy", ""), ("Always",))
    if "activeDeadlineSeconds" in inner:
        why = f"activeDeadlineSeconds in {called} is not Supported"
        yield forbidden_field("spec.template.spec.activeDeadlineSeconds", why)


def deployment(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/deployment/"""
    spec = obj.get("spec") or {}
    yield from not_negative(spec, "spec", "replicas")
    yield from selector_and_template(spec, "deployment")
    yield from _forever(spec, "ReplicaSet")
    yield from _strategy(spec.get("strategy") or {})
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    if spec.get("progressDeadlineSeconds", 1) <= spec.get("minReadySeconds", 0):
        why = "must be greater than minReadySeconds"
        yield wrong("spec.progressDeadlineSeconds", spec["progressDeadlineSeconds"], why)
    if old:
        yield from unchanged(spec, old["spec"], "spec", "selector")


def _strategy(strategy: Object) -> Causes:
    kind, rolling, path = strategy.get("type"), strategy.get("rollingUpdate"), "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            yield forbidden_field(path, "may not be specified when strategy `type` is 'Recreate'")
    elif kind != "RollingUpdate":
        yield unsupported("spec.strategy", strategy, ("Recreate", "RollingUpdate"))
    elif rolling is not None:
        for key in ("maxUnavailable", "maxSurge"):
            yield from number_or_percent(rolling.get(key, 0), f"{path}.{key}")
        if not _amount(rolling.get("maxUnavailable", 0)) and not _amount(rolling.get("maxSurge", 0)):
            yield wrong(f"{path}.maxUnavailable", rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
        yield from _at_most_all(rolling, path, "maxUnavailable")


def _amount(value: int | str) -> int:
    if isinstance(value, int):
        return value
    return percentage(value) or 0


def _at_most_all(rolling: Object, path: str, *keys: str) -> Causes:
    for key in keys:
        value = rolling.get(key, 0)
        if isinstance(value, str) and _amount(value) > 100:
            yield wrong(f"{path}.{key}", value, "must not be greater than 100%")


def replica_set(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/"""
    spec = obj.get("spec") or {}
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from selector_and_template(spec, "deployment")
    yield from _forever(spec, "ReplicaSet")
    if old:
        yield from unchanged(spec, old["spec"], "spec", "selector")


def daemon_set(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/"""
    spec, path = obj.get("spec") or {}, "spec.updateStrategy.rollingUpdate"
    if old:
        yield from unchanged(spec, old["spec"], "spec", "selector")
    selector, template = spec.get("selector"), spec.get("template") or {}
    yield from label_selector(selector, "spec.selector")
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector is None or (usable(selector) and not matches(selector, labels)):
        yield wrong("spec.template.metadata.labels", labels or None, MISMATCH)
    if selector is not None and empty_selector(selector):
        yield wrong("spec.selector", selector, "empty selector is invalid for daemonset")
    yield from pods.template(template, "spec.template")
    yield from _forever(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        yield unsupported("spec.updateStrategy", strategy, ("RollingUpdate", "OnDelete"))
    elif strategy["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        for key in ("maxUnavailable", "maxSurge"):
            yield from number_or_percent(rolling.get(key, 0), f"{path}.{key}")
        yield from _at_most_all(rolling, path, "maxUnavailable", "maxSurge")
        yield from _either(rolling, path)


def _either(rolling: Object, path: str) -> Causes:
    unavailable, surge = _amount(rolling.get("maxUnavailable", 0)), _amount(rolling.get("maxSurge", 0))
    if unavailable and surge:
        yield wrong(f"{path}.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero")
    if not unavailable and not surge:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def stateful_set(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/"""
    spec = obj.get("spec") or {}
    policies = ("OrderedReady", "Parallel")
    if spec.get("podManagementPolicy") not in policies:
        why = "must be 'OrderedReady' or 'Parallel'"
        yield wrong("spec.podManagementPolicy", spec.get("podManagementPolicy", ""), why)
    yield from _set_strategy(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled"):
        field = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
        yield from one_of(retention.get(key), field, ("Retain", "Delete"), needed=False)
    templates = spec.get("volumeClaimTemplates") or []
    if not old:
        for at, one in enumerate(templates):
            field = f"spec.volumeClaimTemplates[{at}]"
            yield from volumes.claim_spec(one.get("spec") or {}, f"{field}.spec")
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from not_negative(spec.get("ordinals") or {}, "spec.ordinals", "start")
    if spec.get("serviceName") and not old:
        yield from named(spec["serviceName"], "spec.serviceName", names.label)
    yield from selector_and_template(spec, "statefulset", _with_claims(spec, templates))
    yield from _forever(spec, "StatefulSet")
    if old and _apart_from(spec, SET_FIELDS) != _apart_from(old["spec"], SET_FIELDS):
        yield forbidden_field("spec", SET_UPDATE)


def _set_strategy(strategy: Object) -> Causes:
    kind = strategy.get("type")
    if kind not in ("RollingUpdate", "OnDelete"):
        yield wrong("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'")
    elif kind == "OnDelete" and strategy.get("rollingUpdate"):
        field = "spec.updateStrategy.rollingUpdate"
        yield wrong(field, strategy["rollingUpdate"], "only allowed for updateStrategy 'RollingUpdate'")
    else:
        path = "spec.updateStrategy.rollingUpdate"
        yield from not_negative(strategy.get("rollingUpdate") or {}, path, "partition")


def _with_claims(spec: Object, templates: list[Object]) -> Object:
    """The template as its Pods will be: each claim is a volume."""
    template: Object = spec.get("template") or {}
    named_so = list(dict.fromkeys((one.get("metadata") or {}).get("name", "") for one in templates))
    inner = template.get("spec") or {}
    own = [one for one in inner.get("volumes") or () if one.get("name") not in named_so]
    claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in named_so]
    volumes = [*claimed, *own]
    return {**template, "spec": {**inner, "volumes": volumes}} if templates else template


def _apart_from(spec: Object, keys: tuple[str, ...]) -> Object:
    return {key: value for key, value in spec.items() if key not in keys}


def replication_controller(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller/"""
    spec = obj.get("spec") or {}
    yield from not_negative(spec, "spec", "minReadySeconds", "replicas")
    selector, template = spec.get("selector") or {}, spec.get("template")
    yield from given(selector, "spec.selector")
    if template is None:
        yield required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not matches({"matchLabels": selector}, labels):
        yield wrong("spec.template.metadata.labels", labels or None, MISMATCH)
    yield from pods.template(template, "spec.template")
    yield from _forever(spec, "ReplicationController")


def pod_template(obj: Object, old: Object | None) -> Causes:
    """A template that stands alone."""
    yield from pods.template(obj.get("template"), "template")


def controller_revision(obj: Object, old: Object | None) -> Causes:
    """A state of a DaemonSet or StatefulSet that was."""
    if obj.get("revision", 0) < 0:
        yield wrong("revision", obj["revision"], NOT_NEGATIVE)
    if old is None and obj.get("data") is None:
        yield required("data", "data is mandatory")
    if old:
        yield from unchanged(obj, old, "", "data")


CHECKS = {
    "deployments.apps": deployment,
    "replicasets.apps": replica_set,
    "daemonsets.apps": daemon_set,
    "statefulsets.apps": stateful_set,
    "replicationcontrollers": replication_controller,
    "podtemplates": pod_template,
    "controllerrevisions.apps": controller_revision,
}
