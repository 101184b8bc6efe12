"""Random objects of the kinds that kstatus knows, near the borders of its rules: small numbers, few conditions."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

KINDS = (
    *(("apps/v1", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet") for _ in range(3)),
    ("extensions/v1beta1", "Deployment"),
    ("extensions/v1beta1", "DaemonSet"),
    *(("v1", kind) for kind in ("Pod", "Pod", "Pod", "Service", "PersistentVolumeClaim", "Secret", "ConfigMap")),
    ("batch/v1", "Job"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("example.com/v1", "Widget"),
)
COUNTS = (
    *("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas", "fullyLabeledReplicas"),
    *("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"),
)
CONDITIONS = {
    "Deployment": ("Available", "Progressing"),
    "ReplicaSet": ("ReplicaFailure",),
    "Pod": ("Ready", "PodScheduled"),
    "Job": ("Complete", "Failed"),
    "CustomResourceDefinition": ("NamesAccepted", "Established"),
    "Widget": ("Ready", "Other"),
}
REASONS = ("NewReplicaSetAvailable", "ProgressDeadlineExceeded", "Unschedulable", "Installing", "Other", "")
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Bound", "Lost", "")


def random_objects(seed: int, count: int) -> Iterator[Any]:
    """As many objects; the same for each seed."""
    random = Random(seed)
    for _ in range(count):
        yield random_object(random)


def random_object(random: Random) -> Any:
    """One object. Rare parts have their chance: without it most objects would end at the first rule."""
    api_version, kind = random.choice(KINDS)
    metadata: dict[str, Any] = {"name": "x", "creationTimestamp": _created(random)}
    if random.random() < 0.8:
        metadata["generation"] = random.choice((1, 2, 2, 2))
    if random.random() < 0.03:
        metadata["deletionTimestamp"] = metadata["creationTimestamp"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": _spec(random),
        "status": _status(random, kind) if random.random() < 0.95 else {},
    }


def _created(random: Random) -> str:
    age = timedelta(seconds=random.choice((-3600, 3600)))  # far from the 15 s that a Pod has
    return (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spec(random: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if random.random() < 0.8:
        spec["replicas"] = random.randint(0, 3)
    if random.random() < 0.5:
        spec["progressDeadlineSeconds"] = random.choice((600, 2**31 - 1))
    if random.random() < 0.3:
        strategy = {"type": random.choice(("RollingUpdate", "RollingUpdate", "OnDelete"))}
        spec["updateStrategy"] = strategy | random.choice(({}, {"rollingUpdate": {"partition": random.randint(0, 2)}}))
    if random.random() < 0.3:
        spec["type"] = random.choice(("LoadBalancer", "ClusterIP"))
    if random.random() < 0.5:
        spec["clusterIP"] = random.choice(("10.0.0.1", ""))
    return spec


def _status(random: Random, kind: str) -> dict[str, Any]:
    low = random.randint(0, 3)
    status: dict[str, Any] = {name: random.randint(low, 3) for name in COUNTS if random.random() < 0.9}
    if random.random() < 0.9:
        status["observedGeneration"] = random.choice((2, 2, 2, 2, 1))
    if random.random() < 0.9:
        status["phase"] = random.choice(PHASES)
    if random.random() < 0.5:
        status["startTime"] = "2026-01-01T00:00:00Z"
    for name in ("currentRevision", "updateRevision"):
        status[name] = random.choice("aab")
    if random.random() < 0.4:
        waiting = {"reason": random.choice(("CrashLoopBackOff", "ContainerCreating"))}
        status["containerStatuses"] = [{"name": "c", "state": random.choice(({"waiting": waiting}, {"running": {}}))}]
    if random.random() < 0.9:
        status["conditions"] = [_condition(random, kind) for _ in range(random.randint(0, 3))]
    return status


def _condition(random: Random, kind: str) -> dict[str, str]:
    usual = CONDITIONS.get(kind, ("Other",))
    name = random.choice(("Reconciling", "Stalled")) if random.random() < 0.05 else random.choice(usual)
    condition = {"type": name, "status": random.choice(("True", "True", "False", "Unknown"))}
    return condition | {"reason": random.choice(REASONS), "message": "told"}
