"""The columns of what makes pods, and of what says how many there may be."""

from datetime import datetime

from kubesandbox.columns.ages import between, since
from kubesandbox.columns.parts import (
    NONE,
    UNSET,
    Cells,
    Object,
    age,
    at,
    containers,
    has_condition,
    labels,
    name,
    selector,
    shortened,
)

# What a Job's STATUS is, by the first of these conditions that holds; deletion comes after the two that are final.
JOB_ENDS = {"Complete": "Complete", "Failed": "Failed"}
JOB_STATES = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def deployment(obj: Object, now: datetime) -> Cells:
    spec, status = at(obj, "spec", {}), at(obj, "status", {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [name(obj), ready, *counts, age(obj, now), *containers(spec), selector(spec.get("selector"))]


def replica_set(obj: Object, now: datetime) -> Cells:
    return [*_replicas(obj, now), *containers(at(obj, "spec", {})), selector(at(obj, "spec.selector")) or NONE]


def replication_controller(obj: Object, now: datetime) -> Cells:
    return [*_replicas(obj, now), *containers(at(obj, "spec", {})), labels(at(obj, "spec.selector"))]


def _replicas(obj: Object, now: datetime) -> Cells:
    status = at(obj, "status", {})
    counts = [at(obj, "spec.replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [name(obj), *counts, age(obj, now)]


def stateful_set(obj: Object, now: datetime) -> Cells:
    ready = f"{at(obj, 'status.readyReplicas', 0)}/{at(obj, 'spec.replicas', 0)}"
    return [name(obj), ready, age(obj, now), *containers(at(obj, "spec", {}))]


def daemon_set(obj: Object, now: datetime) -> Cells:
    spec, status = at(obj, "spec", {}), at(obj, "status", {})
    keys = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    counts = [status.get(key, 0) for key in (*keys, "updatedNumberScheduled", "numberAvailable")]
    nodes = labels(at(spec, "template.spec.nodeSelector"))
    return [name(obj), *counts, nodes, age(obj, now), *containers(spec), selector(spec.get("selector")) or NONE]


def controller_revision(obj: Object, now: datetime) -> Cells:
    owner = next((one for one in at(obj, "metadata.ownerReferences", []) if one.get("controller")), None)
    return [name(obj), _owner(owner) if owner else NONE, obj.get("revision", 0), age(obj, now)]


def _owner(reference: Object) -> str:
    """`statefulset.apps/web`."""
    group = reference["apiVersion"].rpartition("/")[0]
    return f"{reference['kind']}{'.' if group else ''}{group}".lower() + f"/{reference['name']}"


def pod_template(obj: Object, now: datetime) -> Cells:
    return [name(obj), *containers(obj), labels(at(obj, "template.metadata.labels"))]


def job(obj: Object, now: datetime) -> Cells:
    spec = at(obj, "spec", {})
    cells = [name(obj), _job_status(obj), _completions(obj), _job_duration(obj, now), age(obj, now)]
    return [*cells, *containers(spec), selector(spec.get("selector")) or NONE]


def _job_status(obj: Object) -> str:
    for kind, status in JOB_ENDS.items():
        if has_condition(obj, kind):
            return status
    if at(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    return next((kind for kind in JOB_STATES if has_condition(obj, kind)), "Running")


def _completions(obj: Object) -> str:
    done, wanted = at(obj, "status.succeeded", 0), at(obj, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = at(obj, "spec.parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: Object, now: datetime) -> str:
    start, end = at(obj, "status.startTime"), at(obj, "status.completionTime")
    if not start:
        return ""
    return between(start, end) if end else since(start, now)


def cron_job(obj: Object, now: datetime) -> Cells:
    spec, last = at(obj, "spec", {}), at(obj, "status.lastScheduleTime")
    suspended = {None: UNSET, True: "True", False: "False"}[spec.get("suspend")]
    active = len(at(obj, "status.active", []))
    when = [spec.get("schedule", ""), spec.get("timeZone") or NONE, suspended, active]
    inner = at(spec, "jobTemplate.spec", {})
    cells = [name(obj), *when, since(last, now) if last else NONE, age(obj, now)]
    return [*cells, *containers(inner), selector(inner.get("selector")) or NONE]


def disruption_budget(obj: Object, now: datetime) -> Cells:
    limits = [str(at(obj, f"spec.{key}", "N/A")) for key in ("minAvailable", "maxUnavailable")]
    return [name(obj), *limits, at(obj, "status.disruptionsAllowed", 0), age(obj, now)]


def autoscaler(obj: Object, now: datetime) -> Cells:
    spec, status = at(obj, "spec", {}), at(obj, "status", {})
    target = f"{at(spec, 'scaleTargetRef.kind', '')}/{at(spec, 'scaleTargetRef.name', '')}"
    current = status.get("currentMetrics") or []
    metrics = [_metric(one, current[index] if index < len(current) else {}) for index, one in enumerate(_metrics(spec))]
    counts = [str(spec.get("minReplicas", UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    return [name(obj), target, shortened(metrics, 2, ", ") or NONE, *counts, age(obj, now)]


def _metrics(spec: Object) -> list[Object]:
    found: list[Object] = spec.get("metrics") or []
    return found


def _metric(spec: Object, status: Object) -> str:
    """`cpu: 10%/80%`, `5/10`, `100m/1 (avg)`."""
    source = spec["type"][0].lower() + spec["type"][1:]
    wanted, current = at(spec, f"{source}.target", {}), at(status, f"{source}.current", {})
    average = wanted.get("averageValue")
    if source in ("resource", "containerResource"):
        shown = _plain(current, "averageValue", average) if average else _share(current, wanted)
        return f"{at(spec, f'{source}.name')}: {shown}"
    if source == "pods":
        return _plain(current, "averageValue", average)
    if average:
        return f"{current.get('averageValue', '<unknown>')}/{average} (avg)"
    return _plain(current, "value", wanted.get("value"))


def _plain(current: Object, key: str, wanted: object) -> str:
    """What is known of the current value; "0" if there is a status without it."""
    return f"{current.get(key, '0') if current else '<unknown>'}/{wanted or '0'}"


def _share(current: Object, wanted: Object) -> str:
    shares = [one.get("averageUtilization") for one in (current, wanted)]
    known = "<unknown>" if shares[0] is None else f"{shares[0]}%"
    return f"{known}/{'<auto>' if shares[1] is None else f'{shares[1]}%'}"


CELLS = {
    "deployments.apps": deployment,
    "replicasets.apps": replica_set,
    "replicationcontrollers": replication_controller,
    "statefulsets.apps": stateful_set,
    "daemonsets.apps": daemon_set,
    "controllerrevisions.apps": controller_revision,
    "podtemplates": pod_template,
    "jobs.batch": job,
    "cronjobs.batch": cron_job,
    "poddisruptionbudgets.policy": disruption_budget,
    "horizontalpodautoscalers.autoscaling": autoscaler,
}
