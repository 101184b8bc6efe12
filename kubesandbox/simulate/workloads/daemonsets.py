"""DaemonSets: one Pod on each node that it may be on.

https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
"""

from kubesandbox.simulate import owned_objects, scheduler
from kubesandbox.simulate.owned_objects import claimed, is_active, is_available, is_ending, is_ready
from kubesandbox.simulate.workloads.rollouts import resolved
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.verbs.rules import Object

HASH = "controller-revision-hash"
GENERATION = "pod-template-generation"
OWN_GENERATION = "deprecated.daemonset.template.generation"
TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


def step(daemons: Object, world: World) -> PlannedStep | None:
    """Make and end Pods, then write the status."""
    if is_ending(daemons):
        return None
    if claims := claimed(daemons, world, "pods"):
        return PlannedStep(claims)
    revision = owned_objects.newest(daemons, world, HASH)
    if revision.writes:
        return PlannedStep(revision.writes)
    template = _template(daemons)
    nodes = [node["metadata"]["name"] for node in world.all("nodes") if _may_run(template, node)]
    pods = world.owned("pods", daemons)
    writes = [*_placed(daemons, template, nodes, pods, revision.hash), *_rolled(daemons, nodes, pods, revision.hash)]
    status = _status(daemons, nodes, pods, revision.hash, world)
    if writes:
        return PlannedStep(tuple(writes))
    if status != daemons["status"]:
        return PlannedStep((Update({**daemons, "status": status}, "status"),))
    waiting = any(is_ready(pod) and not _available(daemons, pod, world) for pod in pods)
    return PlannedStep((), 1, "wait") if waiting else None


def _template(daemons: Object) -> Object:
    """With the tolerations that such Pods have."""
    template = daemons["spec"]["template"]
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in TOLERATED]
    return {
        **template,
        "spec": {**template["spec"], "tolerations": [*(template["spec"].get("tolerations") or []), *added]},
    }


def _may_run(template: Object, node: Object) -> bool:
    taints = node.get("spec", {}).get("taints") or ()
    hard = [taint for taint in taints if taint["effect"] != "PreferNoSchedule"]
    return scheduler.matches(template["spec"], node) and all(
        scheduler.tolerated(template["spec"], taint) for taint in hard
    )


def _placed(daemons: Object, template: Object, nodes: list[str], pods: list[Object], short: str) -> list[Write]:
    """Pods that are missing on a node, and those that are on a wrong one, ended, or one too many."""
    writes: list[Write] = []
    seen = set()
    for pod in sorted(pods, key=owned_objects.age):
        node = place(pod)
        if is_active(pod) and node in nodes and node not in seen:
            seen.add(node)
        elif not is_ending(pod):
            writes.append(Delete(pod))
            writes.append(Tell(daemons, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}"))
        else:
            seen.add(node)
    meta = {
        "generateName": f"{daemons['metadata']['name']}-",
        "labels": {HASH: short, GENERATION: _generation(daemons)},
    }
    missing = [node for node in nodes if node not in seen]
    return writes + [Create(owned_objects.pod(daemons, _pinned(template, node), meta), daemons) for node in missing]


def _generation(daemons: Object) -> str:
    annotations = daemons["metadata"].get("annotations") or {}
    return str(annotations.get(OWN_GENERATION, daemons["metadata"]["generation"]))


def _pinned(template: Object, node: str) -> Object:
    """The template for one node; what it required of nodes is met by that one."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = template["spec"].get("affinity") or {}
    on_node = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
    }
    return {**template, "spec": {**template["spec"], "affinity": {**affinity, "nodeAffinity": on_node}}}


def place(pod: Object) -> str:
    """The node that a Pod is, or has to be, on."""
    if "nodeName" in pod["spec"]:
        return str(pod["spec"]["nodeName"])
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def _rolled(daemons: Object, nodes: list[str], pods: list[Object], short: str) -> list[Write]:
    """Pods of an old template that may end now."""
    strategy = daemons["spec"]["updateStrategy"]
    old = [pod for pod in pods if is_active(pod) and pod["metadata"]["labels"].get(HASH) != short]
    if strategy["type"] != "RollingUpdate" or not old:
        return []
    most = resolved((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(nodes), up=True) or 1
    missing = len(nodes) - sum(is_active(pod) and is_ready(pod) for pod in pods)
    idle = [pod for pod in old if not is_ready(pod)]
    ready = [pod for pod in old if is_ready(pod)][: max(0, most - missing)]
    return [Delete(pod) for pod in (*idle, *ready)]


def _status(daemons: Object, nodes: list[str], pods: list[Object], short: str, world: World) -> Object:
    there = {place(pod): pod for pod in pods if is_active(pod)}
    right = [there[node] for node in nodes if node in there]
    available = sum(_available(daemons, pod, world) for pod in right)
    status = {
        "currentNumberScheduled": len(right),
        "desiredNumberScheduled": len(nodes),
        "numberMisscheduled": sum(node not in nodes for node in there),
        "numberReady": sum(map(is_ready, right)),
        "observedGeneration": daemons["metadata"]["generation"],
    }
    more = {
        "numberAvailable": available,
        "numberUnavailable": len(nodes) - available,
        "updatedNumberScheduled": sum(pod["metadata"]["labels"].get(HASH) == short for pod in right),
    }
    return {**status, **{key: number for key, number in more.items() if number}}


def _available(daemons: Object, pod: Object, world: World) -> bool:
    return is_available(pod, daemons["spec"].get("minReadySeconds", 0), world.now)
