"""Why a workload does not become ready, as its Pods say it. Pure functions over objects that were read.

    pods = current_pods(workload, pods, replica_sets)        # those of its present template
    finding = find_obstacle(pods, now)                       # Obstacle("Pod web-1: …", is_fatal=True), or None

A container that crashes again and again and a Pod that fits no node are fatal: a Deployment would only say so when its
progress deadline has passed, a DaemonSet never. What the kubelet may still fetch, such as an image, is only named.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from hookrunner.releases.health.object_status import MalformedObject, conditions_of, field_of, text_of, time_of, words
from kubetypes.json_values import JSON

_SCHEDULED_WITHIN = timedelta(seconds=15)
_CRASHES = "CrashLoopBackOff"
_NAMED = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"}
)
"""Why a container waits, in the kubelet's words, if more than patience may be needed."""

_POD = "Pod "
_AND_POD = f"; {_POD}"
_REVISION = "deployment.kubernetes.io/revision"
_GENERATION = "deprecated.daemonset.template.generation"


class PodObstacle(NamedTuple):
    """What keeps a workload from being ready. `is_fatal`: waiting does not help."""

    message: str
    is_fatal: bool


def with_pod(message: str, obstacle: PodObstacle) -> str:
    """What a workload says of itself, and what its Pod says."""
    return f"{message}{_AND_POD}{obstacle.message.removeprefix(_POD)}"


def names_pod(message: str) -> bool:
    """Whether a message was made by `with_pod`, also by an earlier process."""
    return _AND_POD in message


def current_pods(workload: JSON, pods: Iterable[JSON], replica_sets: Sequence[JSON] = ()) -> list[JSON]:
    """The Pods of the workload's present template that are not being deleted: an earlier one may be the reason for the
    change. `replica_sets` are those of a Deployment, of which metadata is enough."""
    name, value = _template_label(workload, replica_sets)
    return [
        pod
        for pod in pods
        if not text_of(pod, "metadata", "deletionTimestamp")
        and (not name or text_of(pod, "metadata", "labels", name) == value)
    ]


def _template_label(workload: JSON, replica_sets: Sequence[JSON]) -> tuple[str, str]:
    """The label by which Pods of the present template are known, empty if all Pods are."""
    match workload["kind"]:
        case "Deployment":
            revision = text_of(workload, "metadata", "annotations", _REVISION)
            hashes = [
                text_of(owned, "metadata", "labels", "pod-template-hash")
                for owned in replica_sets
                if text_of(owned, "metadata", "annotations", _REVISION) == revision
            ]
            return "pod-template-hash", hashes[0] if hashes else ""
        case "StatefulSet":
            return "controller-revision-hash", text_of(workload, "status", "updateRevision")
        case "DaemonSet":
            return "pod-template-generation", text_of(workload, "metadata", "annotations", _GENERATION)
    return "", ""


def find_obstacle(pods: Iterable[JSON], now: datetime) -> PodObstacle | None:
    """The most serious obstacle of these Pods, by name."""
    obstacles = [obstacle for pod in pods for obstacle in _obstacles(pod, now)]
    return min(obstacles, key=lambda obstacle: (not obstacle.is_fatal, obstacle.message), default=None)


def _obstacles(pod: JSON, now: datetime) -> Iterator[PodObstacle]:
    name = f"{_POD}{text_of(pod, 'metadata', 'name')}"
    for container in _containers(pod):
        reason = text_of(container, "state", "waiting", "reason")
        where = f"{name}: container {text_of(container, 'name')}"
        if reason == _CRASHES:
            yield PodObstacle(f"{where} crashes again and again{_last_exit(container)}", is_fatal=True)
        elif reason in _NAMED:
            yield PodObstacle(f"{where}: {reason}: {text_of(container, 'state', 'waiting', 'message')}", is_fatal=False)
    if message := _unscheduled(pod, now):
        yield PodObstacle(f"{name} cannot be scheduled: {message}", is_fatal=True)


def describe_end(pod: JSON) -> str:
    """Which containers of a failed Pod failed with which exit codes, or why the Pod did."""
    ended = [(text_of(c, "name"), field_of(c, "state", "terminated")) for c in _containers(pod)]
    codes = [(name, field_of(end, "exitCode"), _words(end)) for name, end in ended]
    ends = [f"container {name} ended with {code} ({reason})" for name, code, reason in codes if code]
    return ", ".join(ends) or _words(field_of(pod, "status"))


def describe_progress(pod: JSON) -> str:
    """A Pod's phase, with the containers that cannot start and the scheduler's message."""
    stuck = [
        f"container {text_of(container, 'name')}: {_words(field_of(container, 'state', 'waiting'))}"
        for container in _containers(pod)
        if text_of(container, "state", "waiting", "reason")
    ]
    unscheduled = [c.words for c in conditions_of(pod) if c.type == "PodScheduled" and c.status == "False"]
    return ", ".join([f"is {text_of(pod, 'status', 'phase', default='Pending')}", *stuck, *unscheduled])


def _words(state: JSON) -> str:
    return words(text_of(state, "reason"), text_of(state, "message")) or "no reason is given"


def _containers(pod: JSON) -> Iterator[JSON]:
    for part in ("initContainerStatuses", "containerStatuses"):
        statuses = field_of(pod, "status", part)
        yield from statuses if isinstance(statuses, list) else ()


def _last_exit(container: JSON) -> str:
    """How the container ended last, in parentheses; empty if it is not known."""
    ended = field_of(container, "lastState", "terminated")
    if not ended:
        return ""
    return f" (exit code {field_of(ended, 'exitCode')}, {text_of(ended, 'reason', default='no reason')})"


def _unscheduled(pod: JSON, now: datetime) -> str:
    """The scheduler's message about a Pod that fits no node; empty if it may still be scheduled."""
    created = time_of(pod, "metadata", "creationTimestamp")
    if created is None or now - created < _SCHEDULED_WITHIN:
        return ""
    try:
        conditions = conditions_of(pod)
    except MalformedObject:
        return ""
    refused = (
        c for c in conditions if c.type == "PodScheduled" and c.status == "False" and c.reason == "Unschedulable"
    )
    return next((condition.message or "no node fits it" for condition in refused), "")
