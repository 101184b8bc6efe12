"""Jobs: Pods until enough have succeeded, or too many failed.

https://kubernetes.io/docs/concepts/workloads/controllers/job/
"""

from kubesandbox.simulate import owned_objects
from kubesandbox.simulate.owned_objects import condition, is_active, is_ending, is_ready, when
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

INDEX = "batch.kubernetes.io/job-completion-index"
REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
EXCEEDED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


@dataclass(frozen=True, slots=True)
class Progress:
    """A Job's Pods, sorted."""

    active: list[Object]
    succeeded: list[Object]
    failed: list[Object]


def step(job: Object, world: World) -> PlannedStep | None:
    """Create Pods, count them, report the end; a finished Job is deleted after `ttlSecondsAfterFinished`."""
    if is_ending(job):
        return None
    over = _over(job)
    if over:
        return _forgotten(job, over, world)
    pods = _progress(world.owned("pods", job))
    if "startTime" not in job["status"] and not job["spec"].get("suspend"):
        return PlannedStep((_written(job, {**job["status"], "startTime": rfc3339(world.now)}),))
    end = _end(job, pods, world)
    if end:
        return PlannedStep(tuple(_finished(job, pods, end, world)))
    if writes := _pods(job, pods):
        return PlannedStep(tuple(writes))
    status = _status(job, pods)
    if status != job["status"]:
        return PlannedStep((_written(job, status),))
    left = _seconds_left(job, world)
    return PlannedStep((), max(1, left), "deadline") if left is not None else None


def _progress(pods: list[Object]) -> Progress:
    def phase(name: str) -> list[Object]:
        return [pod for pod in pods if pod["status"].get("phase") == name]

    return Progress([pod for pod in pods if is_active(pod)], phase("Succeeded"), phase("Failed"))


def _over(job: Object) -> Object:
    conditions = job["status"].get("conditions")
    ends = (condition(conditions, type_) for type_ in ("Complete", "Failed"))
    return next((one for one in ends if one.get("status") == "True"), {})


def _forgotten(job: Object, over: Object, world: World) -> PlannedStep | None:
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return None
    left = seconds - (world.now - when(over["lastTransitionTime"])).total_seconds()
    return PlannedStep((Delete(job),)) if left <= 0 else PlannedStep((), left, "forget")


def _end(job: Object, pods: Progress, world: World) -> tuple[str, str] | None:
    """Why it is over, if it is."""
    spec, left = job["spec"], _seconds_left(job, world)
    if len(pods.failed) > spec.get("backoffLimit", 6):
        return EXCEEDED
    if left is not None and left <= 0:
        return LATE
    enough = spec.get("completions") or (1 if not pods.active else len(pods.succeeded) + 1)
    return REACHED if _counted(job, pods) >= enough else None


def _counted(job: Object, pods: Progress) -> int:
    """How many successes there are; of an indexed Job each index counts once."""
    if job["spec"].get("completionMode") != "Indexed":
        return len(pods.succeeded)
    return len({_index(pod) for pod in pods.succeeded})


def _index(pod: Object) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(INDEX, -1))


def _seconds_left(job: Object, world: World) -> float | None:
    limit, start = job["spec"].get("activeDeadlineSeconds"), job["status"].get("startTime")
    if limit is None or start is None or job["spec"].get("suspend"):
        return None
    return float(limit - (world.now - when(start)).total_seconds())


def _pods(job: Object, pods: Progress) -> list[Write]:
    """Pods that are missing, or too many."""
    spec = job["spec"]
    parallel = 0 if spec.get("suspend") else spec.get("parallelism", 1)
    done = _counted(job, pods)
    rest = spec["completions"] - done if spec.get("completions") is not None else (0 if done else parallel)
    wanted = min(parallel, rest) if spec.get("completions") is not None else max(rest, len(pods.active) if done else 0)
    if len(pods.active) > wanted:
        return [Delete(pod) for pod in sorted(pods.active, key=is_ready)[: len(pods.active) - wanted]]
    if spec.get("completionMode") != "Indexed":
        return [_pod(job, None) for _ in range(wanted - len(pods.active))]
    taken = {_index(pod) for pod in (*pods.active, *pods.succeeded)}
    free = [index for index in range(spec["completions"]) if index not in taken]
    return [_pod(job, index) for index in free[: wanted - len(pods.active)]]


def _pod(job: Object, index: int | None) -> Create:
    name, template = job["metadata"]["name"], job["spec"]["template"]
    if index is None:
        return Create(owned_objects.pod(job, template, {"generateName": f"{name}-"}), job)
    said = {INDEX: str(index)}
    metadata = {"generateName": f"{name}-{index}-", "annotations": said, "labels": said}
    env = {"name": "JOB_COMPLETION_INDEX", "value": str(index)}
    containers = [{**one, "env": [*(one.get("env") or ()), env]} for one in template["spec"]["containers"]]
    spec = {**template["spec"], "containers": containers, "hostname": f"{name}-{index}"}
    return Create(owned_objects.pod(job, {**template, "spec": spec}, metadata), job)


def _status(job: Object, pods: Progress) -> Object:
    kept = {key: job["status"][key] for key in ("conditions", "startTime", "completionTime") if key in job["status"]}
    counts = {"active": len(pods.active), "succeeded": len(pods.succeeded), "failed": len(pods.failed)}
    status = {**kept, **{key: number for key, number in counts.items() if number}}
    status |= {"ready": sum(map(is_ready, pods.active)), "terminating": 0, "uncountedTerminatedPods": {}}
    if job["spec"].get("completionMode") == "Indexed":
        status["completedIndexes"] = ",".join(str(one) for one in sorted({_index(pod) for pod in pods.succeeded}))
    return {key: value for key, value in status.items() if value != ""}


def _finished(job: Object, pods: Progress, end: tuple[str, str], world: World) -> list[Write]:
    """What is still active ends; the Job is Complete, or Failed."""
    reason, message = end
    done = end == REACHED
    said = {"status": "True", "reason": reason, "message": message, "lastProbeTime": rfc3339(world.now)}
    types = ("SuccessCriteriaMet", "Complete") if done else ("FailureTarget", "Failed")
    conditions = job["status"].get("conditions") or []
    for type_ in types:
        conditions = owned_objects.with_condition(conditions, {"type": type_, **said}, world.now)
    status = _status(job, Progress([], pods.succeeded, pods.failed)) | {"conditions": conditions}
    if done:
        status["completionTime"] = rfc3339(world.now)
    told = Tell(job, "Completed", "Job completed") if done else Tell(job, reason, message, warning=True)
    return [_written(job, status), *(Delete(pod) for pod in pods.active), told]


def _written(job: Object, status: Object) -> Update:
    return Update({**job, "status": status}, "status")
