"""The node of a Pod: one that its rules allow, with the fewest Pods. Without such a node the Pod's status says why.

Node selector, required node affinity, taints, resources and unbound claims are looked at; preferences, spreading and
affinity between Pods are not. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from kubesandbox.simulate.owned_objects import condition, is_ending, is_ready, with_condition
from kubesandbox.simulate.world import Bind, PlannedStep, Tell, Update, World
from kubesandbox.verbs.rules import Object
from kubetypes.quantities import quantity
from kubetypes.selectors import Requirement, failed_label

NAME = "default-scheduler"
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<"}

Amounts = Mapping[str, Fraction]


def step(pod: Object, world: World) -> PlannedStep | None:
    """Bind a Pod that has no node, or tell why not."""
    spec = pod["spec"]
    if spec.get("nodeName") or is_ending(pod) or spec.get("schedulerName", NAME) != NAME:
        return None
    if spec.get("schedulingGates"):
        return _refused(pod, world, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
    pods = world.all("pods")
    used = _used(pods)
    faults = {node["metadata"]["name"]: fault(pod, node, used) for node in world.all("nodes")}
    allowed = [name for name, why in faults.items() if not why]
    if _unbound(pod, world):
        return _refused(pod, world, "Unschedulable", f"0/{len(faults)} nodes are available: {UNBOUND}.")
    if not allowed:
        return _refused(pod, world, "Unschedulable", _no_node(faults))
    busy = Counter(other["spec"].get("nodeName", "") for other in pods)
    node = min(allowed, key=lambda name: (busy[name], name))
    meta = pod["metadata"]
    told = Tell(pod, "Scheduled", f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}")
    return PlannedStep((Bind(pod, node), told), world.pace.schedule, "bind")


def fault(pod: Object, node: Object, used: Mapping[str, Amounts]) -> str:
    """Why a Pod cannot be on a node; "" if it can."""
    if not matches(pod["spec"], node):
        return NO_MATCH
    taints = [*(node.get("spec", {}).get("taints") or ())]
    if node.get("spec", {}).get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    if not is_ready(node):
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    for taint in taints:
        if taint["effect"] != "PreferNoSchedule" and not tolerated(pod["spec"], taint):
            return f"node(s) had untolerated taint(s) {{{taint['key']}: {taint.get('value', '')}}}"
    free = node.get("status", {}).get("allocatable") or {}
    taken = used.get(node["metadata"]["name"], {})
    for name, amount in requests(pod).items():
        if amount and taken.get(name, 0) + amount > quantity(str(free.get(name, "0"))):
            return f"Insufficient {name}"
    return ""


def matches(spec: Object, node: Object) -> bool:
    """Whether a Pod's node selector and required node affinity name a node."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _all(term.get("matchExpressions"), labels)
        and _all(term.get("matchFields"), fields)
        for term in required["nodeSelectorTerms"]
    )


def _all(expressions: Iterable[Object] | None, labels: Mapping[str, str]) -> bool:
    wanted = (
        Requirement(one["key"], OPERATORS[one["operator"]], tuple(one.get("values") or ())) for one in expressions or ()
    )
    return failed_label(wanted, labels) is None


def tolerated(spec: Object, taint: Object) -> bool:
    """Whether one of a Pod's tolerations is for a taint."""
    for one in spec.get("tolerations") or ():
        key, effect = one.get("key", ""), one.get("effect", "")
        same = one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")
        if same and key in ("", taint["key"]) and effect in ("", taint["effect"]):
            return True
    return False


def requests(pod: Object) -> dict[str, Fraction]:
    """What a Pod asks for, summed over its containers."""
    total: defaultdict[str, Fraction] = defaultdict(Fraction)
    for container in pod["spec"]["containers"]:
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            total[name] += quantity(str(amount))
    return dict(total)


def _used(pods: Iterable[Object]) -> dict[str, dict[str, Fraction]]:
    """What is asked for already, by node."""
    used: defaultdict[str, defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for pod in pods:
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            for name, amount in requests(pod).items():
                used[pod["spec"].get("nodeName", "")][name] += amount
    return {node: dict(amounts) for node, amounts in used.items()}


def _unbound(pod: Object, world: World) -> bool:
    claims = [
        one["persistentVolumeClaim"]["claimName"]
        for one in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in one
    ]
    found = [world.one("persistentvolumeclaims", pod["metadata"]["namespace"], claim) for claim in claims]
    return any(claim is None or claim["status"].get("phase") != "Bound" for claim in found)


def _no_node(faults: Mapping[str, str]) -> str:
    counted = ", ".join(f"{number} {why}" for why, number in sorted(Counter(faults.values()).items()))
    nodes = f"0/{len(faults)} nodes are available"
    if not faults:
        return "no nodes available to schedule pods"
    return (
        f"{nodes}: {counted}. no new claims to deallocate, preemption: {nodes}: "
        f"{len(faults)} Preemption is not helpful for scheduling."
    )


def _refused(pod: Object, world: World, reason: str, message: str) -> PlannedStep | None:
    """Written once, until the reason changes."""
    known = condition(pod["status"].get("conditions"), "PodScheduled")
    if (known.get("reason"), known.get("message")) == (reason, message):
        return None
    new = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message, "lastProbeTime": None}
    new["observedGeneration"] = pod["metadata"].get("generation", 1)
    conditions = with_condition(pod["status"].get("conditions"), new, world.now)
    told = () if reason == "SchedulingGated" else (Tell(pod, "FailedScheduling", message, warning=True),)
    return PlannedStep(
        (Update({**pod, "status": {**pod["status"], "conditions": conditions}}, "status"), *told),
        world.pace.schedule,
        "refuse",
    )
