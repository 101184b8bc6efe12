"""Defaults of Services, Secrets and all the rest that depend on other fields. Each rule changes the object in place."""

import base64
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

RBAC_GROUP = "rbac.authorization.k8s.io"
METADATA_NAME = "kubernetes.io/metadata.name"
AFFINITY_SECONDS = 10800
POLICY = {"type": "Pods", "value": 4, "periodSeconds": 15}
PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}


def _service(service: Object) -> None:
    spec = service["spec"] = dict(service["spec"])
    kind = spec.get("type") or "ClusterIP"
    if spec.get("sessionAffinity") == "ClientIP":
        config = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS, **config}}
    elif spec.get("sessionAffinity") in (None, "", "None"):
        spec.pop("sessionAffinityConfig", None)
    if spec.get("ports"):
        spec["ports"] = [_port(one) for one in spec["ports"]]
    if kind in ("NodePort", "LoadBalancer") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind == "ClusterIP" and spec.get("externalIPs") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _port(port: Object) -> Object:
    result = {**port, "protocol": port.get("protocol") or "TCP"}
    if port.get("targetPort") in (None, 0, ""):
        result["targetPort"] = port["port"]
    return result


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
    """https://kubernetes.io/docs/concepts/policy/limit-range/: what is not said follows from what is."""
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


def _role_ref(binding: Object) -> None:
    reference = binding.get("roleRef", {})
    if not reference.get("apiGroup"):
        binding["roleRef"] = reference | {"apiGroup": RBAC_GROUP}


def _subject(subject: Object) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = RBAC_GROUP


def _autoscaler(obj: Object) -> None:
    spec = obj["spec"] = dict(obj["spec"])
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        up = {"selectPolicy": "Max", "policies": [POLICY, PERCENT], "stabilizationWindowSeconds": 0}
        down = {"selectPolicy": "Max", "policies": [PERCENT]}
        given = spec["behavior"]
        spec["behavior"] = {
            "scaleUp": {**up, **given.get("scaleUp", {})},
            "scaleDown": {**down, **given.get("scaleDown", {})},
        }


def _definition(spec: Object) -> None:
    names = spec["names"] = dict(spec.get("names", {}))
    kind = names.get("kind", "")
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    spec.setdefault("conversion", {"strategy": "None"})


RULES: dict[str, Callable[[Any], None]] = {
    "core/v1.Service": _service,
    "core/v1.Secret": _secret,
    "core/v1.Namespace": _namespace,
    "core/v1.Node": _node,
    "core/v1.LimitRangeItem": _limit,
    "networking/v1.NetworkPolicySpec": _network_policy,
    "rbac/v1.RoleBinding": _role_ref,
    "rbac/v1.ClusterRoleBinding": _role_ref,
    "rbac/v1.Subject": _subject,
    "autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
    "apiextensions/v1.CustomResourceDefinitionSpec": _definition,
}
