"""StatefulSets: Pods with numbers and claims of their own, made and ended in order.

https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
"""

from kubesandbox.simulate import owned_objects
from kubesandbox.simulate.owned_objects import claimed, is_available, is_ending, is_ready
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

HASH = "controller-revision-hash"
REVISION_LABEL = "controller.kubernetes.io/hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class Members:
    """The Pods of a set by number, and the numbers that it should have."""

    owner: Object
    pods: dict[int, Object]
    wanted: range

    @property
    def parallel(self) -> bool:
        """Whether the order does not matter."""
        return bool(self.owner["spec"].get("podManagementPolicy") == "Parallel")

    def name(self, number: int) -> str:
        """Of the Pod with a number."""
        return f"{self.owner['metadata']['name']}-{number}"


def step(owner: Object, world: World) -> PlannedStep | None:
    """Make, end or renew Pods, then write the status."""
    if is_ending(owner):
        return None
    if claims := claimed(owner, world, "pods"):
        return PlannedStep(claims)
    revision = owned_objects.newest(owner, world, REVISION_LABEL)
    if revision.writes:
        return PlannedStep(revision.writes)
    members = _members(owner, world)
    writes = _made(members, revision.name, world) or _surplus(members) or _renewed(members, revision.name)
    if writes:
        return PlannedStep(tuple(writes))
    status = _status(members, revision.name, world)
    if status != owner["status"]:
        return PlannedStep((Update({**owner, "status": status}, "status"),))
    seconds = owner["spec"].get("minReadySeconds", 0)
    waiting = any(is_ready(pod) and not is_available(pod, seconds, world.now) for pod in members.pods.values())
    return PlannedStep((), 1, "wait") if waiting else None


def _members(owner: Object, world: World) -> Members:
    pods = {}
    for pod in world.owned("pods", owner):
        number = pod["metadata"]["name"].rpartition("-")[2]
        if number.isdecimal():
            pods[int(number)] = pod
    start = (owner["spec"].get("ordinals") or {}).get("start", 0)
    return Members(owner, pods, range(start, start + owner["spec"].get("replicas", 1)))


def _made(members: Members, revision: str, world: World) -> list[Write]:
    """Pods that are missing: all at once, or the first, when those before it are Ready. Ended ones are made anew."""
    writes: list[Write] = []
    for number in members.wanted:
        pod = members.pods.get(number)
        if pod is None:
            writes += [
                *_claims(members, number, world),
                _pod(members, number, _revision_for(members, number, revision)),
            ]
        elif pod["status"].get("phase") in ("Succeeded", "Failed") and not is_ending(pod):
            writes.append(Delete(pod))
        elif is_ready(pod) and not is_ending(pod):
            continue
        if not members.parallel:
            return writes
    return writes


def _revision_for(members: Members, number: int, revision: str) -> str:
    """Those below the partition stay with the revision that the set had before."""
    rolling = members.owner["spec"].get("updateStrategy", {}).get("rollingUpdate") or {}
    current = members.owner["status"].get("currentRevision")
    return current if current and number < rolling.get("partition", 0) else revision


def _pod(members: Members, number: int, revision: str) -> Create:
    owner, name = members.owner, members.name(number)
    labels = {POD_NAME: name, POD_INDEX: str(number), HASH: revision}
    metadata = {"name": name, "generateName": f"{owner['metadata']['name']}-", "labels": labels}
    made = owned_objects.pod(owner, owner["spec"]["template"], metadata)
    claims = [one["metadata"]["name"] for one in owner["spec"].get("volumeClaimTemplates") or ()]
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
    given = [volume for volume in made["spec"].get("volumes") or () if volume["name"] not in claims]
    spec = {**made["spec"], "hostname": name, "subdomain": owner["spec"].get("serviceName", "")}
    if volumes or given:
        spec["volumes"] = [*volumes, *given]
    said = f"Create Pod {name} in StatefulSet {owner['metadata']['name']} successful"
    return Create({**made, "spec": {key: value for key, value in spec.items() if value != ""}}, owner, said)


def _claims(members: Members, number: int, world: World) -> list[Write]:
    """Missing claims of the Pod's templates. Claims outlive Pod and set."""
    owner, name = members.owner, members.name(number)
    writes: list[Write] = []
    for template in owner["spec"].get("volumeClaimTemplates") or ():
        meta = template["metadata"]
        claim, namespace = f"{meta['name']}-{name}", owner["metadata"]["namespace"]
        if world.one("persistentvolumeclaims", namespace, claim) is None:
            labels = {**(meta.get("labels") or {}), **(owner["spec"]["selector"].get("matchLabels") or {})}
            made = {"name": claim, "namespace": namespace, "labels": labels}
            said = f"Create Claim {claim} Pod {name} in StatefulSet {owner['metadata']['name']} success"
            kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
            writes.append(Create({**kind, "metadata": made, "spec": template["spec"]}, owner, said))
    return writes


def _surplus(members: Members) -> list[Write]:
    """Pods that are not wanted end, the highest first; one at a time, unless the order does not matter."""
    surplus = sorted((number for number in members.pods if number not in members.wanted), reverse=True)
    ending = [number for number in surplus if is_ending(members.pods[number])]
    chosen = surplus if members.parallel else surplus[: 0 if ending else 1]
    return [write for number in chosen if number not in ending for write in _ended(members, number)]


def _renewed(members: Members, revision: str) -> list[Write]:
    """The highest Pod of an old revision ends, when all others are Ready."""
    strategy = members.owner["spec"].get("updateStrategy", {})
    if strategy.get("type") != "RollingUpdate":
        return []
    least = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    for number in sorted(members.wanted, reverse=True):
        pod = members.pods.get(number)
        if pod is None or is_ending(pod):
            return []
        if number >= least and pod["metadata"]["labels"].get(HASH) != revision:
            return _ended(members, number)
        if not is_ready(pod):
            return []
    return []


def _ended(members: Members, number: int) -> list[Write]:
    name = members.name(number)
    said = f"Delete Pod {name} in StatefulSet {members.owner['metadata']['name']} successful"
    return [Delete(members.pods[number]), Tell(members.owner, "SuccessfulDelete", said)]


def _status(members: Members, revision: str, world: World) -> Object:
    owner, pods = members.owner, members.pods.values()
    alive = [pod for pod in pods if not is_ending(pod)]
    updated = [pod for pod in alive if pod["metadata"]["labels"].get(HASH) == revision]
    ready = [pod for pod in pods if is_ready(pod)]
    done = len(updated) == len(members.wanted) == len([pod for pod in updated if is_ready(pod)]) == len(members.pods)
    current = owner["status"].get("currentRevision") or revision
    current = revision if done else current
    of_current = sum(pod["metadata"]["labels"].get(HASH) == current for pod in alive)
    seconds = owner["spec"].get("minReadySeconds", 0)
    counts = {"readyReplicas": len(ready), "currentReplicas": of_current, "updatedReplicas": len(updated)}
    return {
        "replicas": len(members.pods),
        **{key: number for key, number in counts.items() if number},
        "availableReplicas": sum(is_available(pod, seconds, world.now) for pod in pods),
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
        "observedGeneration": owner["metadata"]["generation"],
    }
