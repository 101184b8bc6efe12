"""Defaults of built-in kinds that depend on other fields or on the kind that a type stands in, by Go type.

Each rule changes the object in place, after the values that depend on nothing (`defaults`). Here: Pods and their
containers and volumes, then workloads, then Services and the rest. `test_types` lists the fields that need a rule.
"""

import base64
import re
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

LATEST = "latest"
DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?/)?"
PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
TAGGED = r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-fA-F]{32,})?"
IMAGE = re.compile(f"{DOMAIN}{PATH}(?:/{PATH})*{TAGGED}")
SOURCELESS = frozenset({"name"})
UNLIMITED = 2**31 - 1
METADATA_NAME = "kubernetes.io/metadata.name"
RBAC_GROUP = "rbac.authorization.k8s.io"
AFFINITY_SECONDS = 10800
FOUR_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}


def _container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))


def _pull_policy(image: str) -> str:
    """`Always` for an image without a tag or digest and for `latest`, https://kubernetes.io/docs/concepts/containers/images/."""
    found = IMAGE.fullmatch(image)
    if not found:
        return "IfNotPresent"
    return "Always" if (found["tag"] or ("" if found["digest"] else LATEST)) == LATEST else "IfNotPresent"


def _with_host_ports(container: Object) -> Object:
    if "ports" not in container:
        return container
    return container | {
        "ports": [port | {"hostPort": port.get("hostPort") or port["containerPort"]} for port in container["ports"]]
    }


def _pod(pod: Object) -> None:
    spec = pod["spec"] = dict(pod["spec"])
    spec.setdefault("enableServiceLinks", True)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [one | {"resources": _requested(one.get("resources", {}))} for one in spec[kind]]
            if spec.get("hostNetwork"):
                spec[kind] = [_with_host_ports(one) for one in spec[kind]]
    if spec.get("resources"):
        spec["resources"] = _requested(spec["resources"])


def _requested(resources: Object) -> Object:
    """What is limited and not requested is requested up to the limit."""
    limits = resources.get("limits")
    return resources | {"requests": {**limits, **resources.get("requests", {})}} if limits else resources


def _volume(volume: Object) -> None:
    if not volume.keys() - SOURCELESS:
        volume["emptyDir"] = {}
    elif "image" in volume:
        policy = volume["image"].get("pullPolicy") or _pull_policy(volume["image"].get("reference", ""))
        volume["image"] = volume["image"] | {"pullPolicy": policy}


def _persistent_volume(volume: Object) -> None:
    """Not the same spec inside a VolumeAttachment."""
    spec = volume["spec"] = dict(volume["spec"])
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")


def _rolling(**values: Any) -> Callable[[Object], None]:
    """The parameters of a rolling update, only where there is one."""

    def rule(strategy: Object) -> None:
        if strategy["type"] == "RollingUpdate":
            strategy["rollingUpdate"] = {**values, **strategy.get("rollingUpdate", {})}

    return rule


def _stateful_set(spec: Object) -> None:
    """The strategy gets parameters of a rolling update only if it names no type at all."""
    strategy = spec.get("updateStrategy", {})
    if not strategy.get("type"):
        spec["updateStrategy"] = {"rollingUpdate": {}, **strategy}
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [
            {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **claim} for claim in spec["volumeClaimTemplates"]
        ]


def _stateful_set_strategy(strategy: Object) -> None:
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, **strategy["rollingUpdate"]}


def _template_labels(obj: Object) -> Object:
    labels: Object = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    return labels


def _labelled(obj: Object) -> None:
    """Without labels of its own it has those of its Pods: the very same map, by which `prepare` recognises them."""
    if not obj["metadata"].get("labels") and _template_labels(obj):
        obj["metadata"] = obj["metadata"] | {"labels": _template_labels(obj)}


def _replication_controller(obj: Object) -> None:
    labels = _template_labels(obj)
    _labelled(obj)
    if labels and not obj["spec"].get("selector"):
        obj["spec"] = obj["spec"] | {"selector": dict(labels)}


def _job(job: Object) -> None:
    _labelled(job)
    spec = job["spec"] = dict(job["spec"])
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    for key, value in (
        ("parallelism", 1),
        ("backoffLimit", UNLIMITED if "backoffLimitPerIndex" in spec else 6),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("manualSelector", False),
        ("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"),
    ):
        spec.setdefault(key, value)


def _service(service: Object) -> None:
    spec = service["spec"] = dict(service["spec"])
    kind = spec.get("type") or "ClusterIP"
    if spec.get("sessionAffinity") == "ClientIP":
        config = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS, **config}}
    elif spec.get("sessionAffinity") in (None, "", "None"):
        spec.pop("sessionAffinityConfig", None)
    if kind in ("NodePort", "LoadBalancer") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind == "ClusterIP" and spec.get("externalIPs") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        _load_balancer_status(service)


def _load_balancer_status(service: Object) -> None:
    """https://kubernetes.io/docs/concepts/services-networking/service/#load-balancer-ip-mode"""
    status = service.get("status") or {}
    if points := (status.get("loadBalancer") or {}).get("ingress"):
        filled = [{**point, "ipMode": point.get("ipMode") or "VIP"} if point.get("ip") else point for point in points]
        service["status"] = {**status, "loadBalancer": {**status["loadBalancer"], "ingress": filled}}


def _service_port(port: Object) -> None:
    if port.get("targetPort") in (None, 0, ""):
        port["targetPort"] = port["port"]


def _secret(secret: Object) -> None:
    plain = secret.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        secret["data"] = {**secret.get("data", {}), **coded}


def _namespace(namespace: Object) -> None:
    name = namespace["metadata"].get("name")
    if name:
        labels = {**namespace["metadata"].get("labels", {}), METADATA_NAME: name}
        namespace["metadata"] = namespace["metadata"] | {"labels": labels}


def _node(node: Object) -> None:
    status = node.get("status", {})
    if "capacity" in status and "allocatable" not in status:
        node["status"] = status | {"allocatable": dict(status["capacity"])}


def _limit(item: Object) -> None:
    """https://kubernetes.io/docs/concepts/policy/limit-range/: missing values follow from those that are given."""
    if item.get("type") != "Container":
        return
    default = {**item.get("max", {}), **item.get("default", {})}
    requested = {**item.get("min", {}), **default, **item.get("defaultRequest", {})}
    for key, value in (("default", default), ("defaultRequest", requested)):
        if value:
            item[key] = value


def _network_policy(spec: Object) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def _subject(subject: Object) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = RBAC_GROUP


def _behavior(behavior: Object) -> None:
    """Both directions exist by now; one that the object states itself may lack policies."""
    behavior["scaleUp"] = {"policies": [FOUR_PODS, DOUBLE], "stabilizationWindowSeconds": 0, **behavior["scaleUp"]}
    behavior["scaleDown"] = {"policies": [DOUBLE], **behavior["scaleDown"]}


def _definition(spec: Object) -> None:
    names = spec["names"] = dict(spec.get("names", {}))
    kind = names.get("kind", "")
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"


RULES: dict[str, Callable[[Any], None]] = {
    "core/v1.Pod": _pod,
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.Volume": _volume,
    "core/v1.PersistentVolume": _persistent_volume,
    "apps/v1.DeploymentStrategy": _rolling(maxUnavailable="25%", maxSurge="25%"),
    "apps/v1.DaemonSetUpdateStrategy": _rolling(maxUnavailable=1, maxSurge=0),
    "apps/v1.StatefulSetSpec": _stateful_set,
    "apps/v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "core/v1.ReplicationController": _replication_controller,
    "batch/v1.Job": _job,
    "core/v1.Service": _service,
    "core/v1.ServicePort": _service_port,
    "core/v1.Secret": _secret,
    "core/v1.Namespace": _namespace,
    "core/v1.Node": _node,
    "core/v1.LimitRangeItem": _limit,
    "networking/v1.NetworkPolicySpec": _network_policy,
    "rbac/v1.Subject": _subject,
    "autoscaling/v2.HorizontalPodAutoscalerBehavior": _behavior,
    "apiextensions/v1.CustomResourceDefinitionSpec": _definition,
}
