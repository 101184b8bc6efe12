"""What a kubelet does with the Pods of its node: init containers one after the other, containers, readiness, the end.

Containers do not run. They start, become ready, and end by themselves where the Pod does not restart them:
with exit code 0, or with the one that the annotation `sandbox.hookrunner.io/exit-code` says.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from uuid import uuid4
from zlib import crc32

from kubesandbox.simulate.owned_objects import is_ending, with_condition
from kubesandbox.simulate.world import Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.status import shown
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

EXIT_CODE = "sandbox.hookrunner.io/exit-code"
NETWORK = "10.244"


def step(pod: Object, world: World) -> PlannedStep | None:
    """The next thing that happens to a Pod, if it is on a node that there is."""
    node = world.one("nodes", "", pod["spec"].get("nodeName", ""))
    if node is None:
        return _lost(pod, world)
    if is_ending(pod):
        return _ending(pod, world)
    if pod["status"].get("phase") in ("Succeeded", "Failed"):
        return None
    kubelet = Kubelet(pod, node, world.now)
    if "startTime" not in pod["status"]:
        return PlannedStep(kubelet.accepted())
    return _next(kubelet, world)


def _lost(pod: Object, world: World) -> PlannedStep | None:
    """A Pod whose node is gone is deleted if it ever ran there or is being deleted anyway."""
    meta = pod["metadata"]
    if meta.get("deletionGracePeriodSeconds") or ("startTime" in pod["status"] and not is_ending(pod)):
        return PlannedStep((Delete(pod, 0),), world.pace.lost, "lost")
    return None


def _ending(pod: Object, world: World) -> PlannedStep | None:
    """A Pod goes when its containers have stopped; one with finalizers then waits for them."""
    if not pod["metadata"].get("deletionGracePeriodSeconds"):
        return None
    told = [
        Tell(pod, "Killing", f"Stopping container {one['name']}", field=f"spec.containers{{{one['name']}}}")
        for one in pod["status"].get("containerStatuses") or ()
        if "running" in one["state"]
    ]
    return PlannedStep((*told, Delete(pod, 0)), world.pace.stop, "stop")


def _next(kubelet: "Kubelet", world: World) -> PlannedStep | None:
    pace = world.pace
    for container, status in kubelet.each("init"):
        if "waiting" in status["state"]:
            return PlannedStep(kubelet.started("init", [container["name"]]), pace.pull, f"start {container['name']}")
        if "running" in status["state"] and container.get("restartPolicy") != "Always":
            return PlannedStep(kubelet.ended("init", [container["name"]], 0), pace.init, f"end {container['name']}")
    statuses = [status for _, status in kubelet.each("")]
    names = [status["name"] for status in statuses]
    if any("waiting" in status["state"] for status in statuses):
        return PlannedStep(kubelet.started("", names, _address(kubelet.pod, world)), pace.pull, "start")
    if not all(status["ready"] for status in statuses):
        return PlannedStep(kubelet.ready(), pace.ready, "ready")
    if kubelet.pod["spec"].get("restartPolicy") != "Always":
        return PlannedStep(kubelet.ended("", names, _exit_code(kubelet.pod)), pace.run, "end")
    return None


def _exit_code(pod: Object) -> int:
    """What the annotation says, at most 255; 1 for what is no number."""
    text = (pod["metadata"].get("annotations") or {}).get(EXIT_CODE, "0")
    return min(int(text), 255) if text.isdecimal() else 1


def _address(pod: Object, world: World) -> str:
    """An address of the Pods' network that no other Pod has."""
    taken = {other["status"].get("podIP") for other in world.all("pods")}
    start = crc32(pod["metadata"]["uid"].encode()) % 65_000
    every = (f"{NETWORK}.{number // 254 % 256}.{number % 254 + 1}" for number in range(start, start + 65_000))
    return next(address for address in every if address not in taken)


@dataclass(frozen=True, slots=True)
class Kubelet:
    """One on a node, about to do something with a Pod. Its actions give the writes."""

    pod: Object
    node: Object
    now: datetime

    def each(self, which: str) -> list[tuple[Object, Object]]:
        """Containers (`which` is "" or "init") with their statuses."""
        specs = self.pod["spec"].get("initContainers" if which else "containers") or []
        statuses = {one["name"]: one for one in self.pod["status"].get(KEYS[which]) or ()}
        return [(one, statuses[one["name"]]) for one in specs if one["name"] in statuses]

    def accepted(self) -> tuple[Write, ...]:
        """The node takes the Pod in."""
        spec = self.pod["spec"]
        init = [waiting(one, "PodInitializing") for one in spec.get("initContainers") or ()]
        reason = "PodInitializing" if init else "ContainerCreating"
        status = {
            **self.pod["status"],
            "startTime": rfc3339(self.now),
            "hostIP": self._host_ip(),
            "hostIPs": [{"ip": self._host_ip()}],
            "containerStatuses": [waiting(one, reason) for one in spec["containers"]],
            **({"initContainerStatuses": init} if init else {}),
        }
        return (self._written(status),)

    def started(self, which: str, names: list[str], address: str = "") -> tuple[Write, ...]:
        """Images are there, containers run. Without a readiness probe they are ready."""
        by_name = {spec["name"]: spec for spec, _ in self.each(which)}
        status = self._with(which, names, lambda one: running(one, by_name[one["name"]], which, self.now))
        if address:
            status |= {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        told = (event for name in names for event in self._start_told(by_name[name], which))
        return (self._written(status), *told)

    def ready(self) -> tuple[Write, ...]:
        """Readiness probes succeed."""
        names = [spec["name"] for spec, _ in self.each("")]
        return (self._written(self._with("", names, lambda one: {**one, "ready": True})),)

    def ended(self, which: str, names: list[str], code: int) -> tuple[Write, ...]:
        """Containers end by themselves."""
        status = self._with(which, names, lambda one: terminated(one, code, which, self.now))
        if not which:
            status["phase"] = "Failed" if code else "Succeeded"
        return (self._written(status),)

    def _with(self, which: str, names: list[str], change: Callable[[Object], Object]) -> Object:
        key = KEYS[which]
        statuses = [change(one) if one["name"] in names else one for one in self.pod["status"][key]]
        return {**self.pod["status"], key: statuses}

    def _start_told(self, container: Object, which: str) -> Iterator[Tell]:
        field = f"spec.{'initContainers' if which else 'containers'}{{{container['name']}}}"
        image = shown(container.get("image", ""))
        pulled = f"Successfully pulled image {image} in 400ms (400ms including waiting). Image size: 0 bytes."
        for reason, message in (
            ("Pulling", f"Pulling image {image}"),
            ("Pulled", pulled),
            ("Created", "Container created"),
            ("Started", "Container started"),
        ):
            yield Tell(self.pod, reason, message, field=field)

    def _written(self, status: Object) -> Update:
        generation = self.pod["metadata"].get("generation", 1)
        conditions = status.get("conditions")
        for type_, ok, reason, message in pod_conditions(self.pod, status):
            new = {"type": type_, "status": "True" if ok else "False", "observedGeneration": generation}
            new |= {"lastProbeTime": None, **({"reason": reason} if reason else {})}
            conditions = with_condition(conditions, new | ({"message": message} if message else {}), self.now)
        said = {**status, "conditions": conditions, "observedGeneration": generation}
        return Update({**self.pod, "status": said}, "status")

    def _host_ip(self) -> str:
        addresses = self.node.get("status", {}).get("addresses") or ()
        return str(next((one["address"] for one in addresses if one["type"] == "InternalIP"), "192.168.0.1"))


# ── statuses of containers ────────────────────────────────────────────────────────────────────────────────────────────

# Statuses of containers, and the conditions of a Pod that follow from them. Pure.
#
# https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus


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
    """It has started; without a readiness probe it is ready, unless it is an init container that has to end."""
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


def pod_conditions(pod: Object, status: Object) -> Iterator[tuple[str, bool, str, str]]:
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
