"""Deployments: a ReplicaSet for each template that there was, and the Pods moved from the old ones to the newest.

`rollouts.py` has how many each may have, and the status.
https://kubernetes.io/docs/concepts/workloads/controllers/deployment/
"""

from kubesandbox.simulate import owned_objects
from kubesandbox.simulate.owned_objects import claimed, is_ending
from kubesandbox.simulate.workloads import rollouts
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

SETS = "replicasets.apps"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
NOT_COPIED = frozenset(
    {owned_objects.LAST_APPLIED, REVISION, HISTORY, DESIRED, MOST, "deprecated.deployment.rollback.to"}
)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A Deployment with the set of its template, if there is one, and the others, oldest first."""

    deployment: Object
    new: Object | None
    old: list[Object]


def step(deployment: Object, world: World) -> PlannedStep | None:
    """The next thing to do for a Deployment."""
    if is_ending(deployment):
        return None
    if claims := claimed(deployment, world, SETS):
        return PlannedStep(claims)
    rollout = seen(deployment, world.owned(SETS, deployment))
    paused = deployment["spec"].get("paused", False)
    made = () if paused else _new_set(rollout)
    writes = made or _scaled(rollout, world, paused) or _revision(rollout) or _forgotten(rollout)
    if writes:
        return PlannedStep(tuple(writes))
    status = rollouts.of(deployment, rollout.new, rollout.old, world.now)
    if status != deployment["status"]:
        return PlannedStep((Update({**deployment, "status": status}, "status"),))
    left = rollouts.seconds_left(deployment, world.now)
    return PlannedStep((), max(1, left), "deadline") if left is not None else None


def seen(deployment: Object, sets: list[Object]) -> Rollout:
    """Which of its ReplicaSets is the newest."""
    sets = sorted(sets, key=owned_objects.age)
    template = deployment["spec"]["template"]
    new = next((one for one in sets if _without_hash(one["spec"]["template"]) == template), None)
    return Rollout(deployment, new, [one for one in sets if one is not new])


def _without_hash(template: Object) -> Object:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def revision(obj: Object | None) -> int:
    """The revision that a ReplicaSet or a Deployment is marked with, 0 without."""
    text = ((obj or {"metadata": {}})["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _new_set(rollout: Rollout) -> tuple[Write, ...]:
    """Make the set of the template, or bring an old one to the front again."""
    number = max(map(revision, rollout.old), default=0) + 1
    if rollout.new is None:
        made = _made(rollout, number)
        size, name = made["spec"]["replicas"], made["metadata"]["name"]
        return (Create(made), *((_told(rollout.deployment, "up", name, 0, size),) if size else ()))
    if revision(rollout.new) >= number or not rollout.old:
        return ()
    annotations = rollout.new["metadata"].get("annotations") or {}
    history = [*filter(None, annotations.get(HISTORY, "").split(",")), annotations.get(REVISION, "")]
    return (Update(_annotated(rollout.new, {REVISION: str(number), HISTORY: ",".join(history)})),)


def _made(rollout: Rollout, number: int) -> Object:
    deployment, spec = rollout.deployment, rollout.deployment["spec"]
    template = spec["template"]
    short = owned_objects.template_hash(template)
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), HASH: short}
    metadata = {
        "name": f"{deployment['metadata']['name']}-{short}",
        "labels": labels,
        "annotations": {**_copied(deployment), **_sizes(deployment), REVISION: str(number)},
    }
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH: short}}
    made = owned_objects.child(deployment, "apps/v1", "ReplicaSet", metadata)
    made["spec"] = {
        "replicas": rollouts.first_size(deployment, rollout.old),
        "selector": selector,
        "template": {**template, "metadata": {**meta, "labels": labels}},
        "minReadySeconds": spec.get("minReadySeconds", 0),
    }
    return made


def _scaled(rollout: Rollout, world: World, paused: bool) -> list[Write]:
    """Sets that must have another size."""
    sizes = rollouts.sizes(rollout.deployment, rollout.new, rollout.old, _has_pods(rollout, world), paused)
    writes: list[Write] = []
    for one in (*rollout.old, *((rollout.new,) if rollout.new else ())):
        name, size = one["metadata"]["name"], one["spec"].get("replicas", 1)
        wanted = sizes.get(name, size)
        if wanted != size:
            scaled = _annotated(one, _sizes(rollout.deployment))
            writes.append(Update({**scaled, "spec": {**one["spec"], "replicas": wanted}}))
            how = "up" if wanted > size else "down"
            writes.append(_told(rollout.deployment, how, name, size, wanted))
    return writes


def _has_pods(rollout: Rollout, world: World) -> bool:
    """Whether old sets still have Pods, ending ones included."""
    return any(world.owned("pods", one) for one in rollout.old)


def _told(deployment: Object, how: str, name: str, size: int, wanted: int) -> Tell:
    return Tell(deployment, "ScalingReplicaSet", f"Scaled {how} replica set {name} from {size} to {wanted}")


def _revision(rollout: Rollout) -> tuple[Write, ...]:
    """The Deployment has the revision of its newest set."""
    number = revision(rollout.new)
    if not number or revision(rollout.deployment) == number:
        return ()
    # Through the status: an annotation that a user changes counts as a new generation.
    return (Update(_annotated(rollout.deployment, {REVISION: str(number)}), "status"),)


def _forgotten(rollout: Rollout) -> list[Write]:
    """Old sets without Pods, beyond the `revisionHistoryLimit`."""
    limit = rollout.deployment["spec"].get("revisionHistoryLimit", 10)
    if not rollouts.complete(rollout.deployment, rollout.new, rollout.old):
        return []
    empty = [one for one in rollout.old if not one["spec"].get("replicas") and not one["status"].get("replicas")]
    surplus = sorted(empty, key=revision)[: max(0, len(empty) - limit)]
    return [Delete(one) for one in surplus if not is_ending(one)]


def _sizes(deployment: Object) -> dict[str, str]:
    replicas = deployment["spec"].get("replicas", 1)
    return {DESIRED: str(replicas), MOST: str(replicas + rollouts.surge(deployment))}


def _copied(deployment: Object) -> dict[str, str]:
    annotations = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in annotations.items() if key not in NOT_COPIED}


def _annotated(obj: Object, annotations: dict[str, str]) -> Object:
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **annotations}}}
