"""Statuses of containers, and the conditions of a Pod that follow from them. Pure.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import uuid4

from kubesandbox.rules import Object
from kubesandbox.times import rfc3339

KEYS = {"": "containerStatuses", "init": "initContainerStatuses"}
"""Where the statuses of containers, and of init containers, stand."""


def waiting(container: Object, reason: str) -> Object:
    """Before it starts."""
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": False,
        "started": False,
        "restartCount": 0,
    }


def running(status: Object, container: Object, which: str, now: datetime) -> Object:
    """It has started; without a readiness probe it is ready, unless it is an init container that is to end."""
    to_end = which == "init" and container.get("restartPolicy") != "Always"
    return {
        **status,
        "imageID": container.get("image", ""),
        "containerID": f"sandbox://{uuid4().hex}",
        "state": {"running": {"startedAt": rfc3339(now)}},
        "ready": not to_end and "readinessProbe" not in container,
        "started": not to_end,
    }


def terminated(status: Object, code: int, which: str, now: datetime) -> Object:
    """It has ended."""
    ended = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": status["state"]["running"]["startedAt"],
        "finishedAt": rfc3339(now),
        "containerID": status["containerID"],
    }
    return {**status, "state": {"terminated": ended}, "ready": which == "init" and not code, "started": False}


def conditions(pod: Object, status: Object) -> Iterator[tuple[str, bool, str, str]]:
    """Type, whether it is so, reason and message of each condition."""
    init, main = status.get(KEYS["init"]) or [], status[KEYS[""]]
    phase = status.get("phase", "Pending")
    over = phase in ("Succeeded", "Failed")
    restarted = {one["name"] for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"}
    incomplete = [one["name"] for one in init if not one["ready"] and not (one["name"] in restarted and one["started"])]
    yield "PodReadyToStartContainers", not over and any("waiting" not in one["state"] for one in init + main), "", ""
    yield _named("Initialized", "ContainersNotInitialized", "incomplete", incomplete)
    for type_ in ("Ready", "ContainersReady"):
        if over:
            yield type_, False, "PodCompleted" if phase == "Succeeded" else "PodFailed", ""
        else:
            unready = [one["name"] for one in main if not one["ready"]]
            yield _named(type_, "ContainersNotReady", "unready", unready)
    yield "PodScheduled", True, "", ""


def _named(type_: str, reason: str, what: str, names: list[str]) -> tuple[str, bool, str, str]:
    """A condition that holds if it names no container."""
    if not names:
        return type_, True, "", ""
    return type_, False, reason, f"containers with {what} status: [{' '.join(names)}]"
