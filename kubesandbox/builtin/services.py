"""Addresses and ports of Services.

A real cluster hands out what is free; here they follow from the Service's uid, so that nothing else must be known: two
Services could, very rarely, get the same ones.
"""

import ipaddress
import zlib
from typing import Any

Object = dict[str, Any]

NETWORK = ipaddress.ip_network("10.96.0.0/16")
RESERVED = 256
NODE_PORTS = range(30000, 32768)
WITH_NODE_PORTS = ("NodePort", "LoadBalancer")
CLUSTER_FIELDS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


def created(service: Object) -> Object:
    """A new Service with what it needs. A new object."""
    return {**service, "spec": _allocated(service["spec"], service["metadata"]["uid"])}


def updated(service: Object, old: Object) -> Object:
    """A changed Service keeps what it has and gets what it lacks. A new object."""
    spec, known = dict(service["spec"]), old["spec"]
    if spec.get("clusterIP") != known.get("clusterIP") and spec.get("clusterIPs") == known.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else []
    if _on_cluster(spec) and _on_cluster(known) and not spec.get("clusterIP"):
        spec |= {key: known[key] for key in ("clusterIP", "clusterIPs") if key in known and not spec.get(key)}
    if _on_cluster(spec) and _on_cluster(known):
        spec |= {key: known[key] for key in ("ipFamilies", "ipFamilyPolicy") if key in known and spec.get(key) is None}
    if _with_node_ports(spec) and _with_node_ports(known):
        have = {_number(port): port["nodePort"] for port in known.get("ports") or () if port.get("nodePort")}
        spec["ports"] = [
            {**port, "nodePort": have[_number(port)]} if not port.get("nodePort") and _number(port) in have else port
            for port in spec.get("ports") or ()
        ]
        if _local(spec) and _local(known) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = known.get("healthCheckNodePort", 0)
    _dropped(spec, known)
    return {**service, "spec": _allocated(spec, old["metadata"]["uid"]), **_status(spec, service)}


def _status(spec: Object, service: Object) -> Object:
    """Without addresses of a load balancer that the Service no longer is; its finalizer stays."""
    status = service.get("status") or {}
    if spec.get("type") == "LoadBalancer" or not status.get("loadBalancer"):
        return {}
    return {"status": {**status, "loadBalancer": {}}}


def _dropped(spec: Object, known: Object) -> None:
    """In place: what the old type needed, the new one does not, and the client did not change."""
    if _on_cluster(known) and not _on_cluster(spec):
        for key in (*CLUSTER_FIELDS, "sessionAffinityConfig"):
            if spec.get(key) == known.get(key):
                spec.pop(key, None)
    if _with_node_ports(known) and not _with_node_ports(spec):
        had = {port.get("nodePort") for port in known.get("ports") or ()}
        spec["ports"] = [
            {key: value for key, value in port.items() if key != "nodePort" or value not in had}
            for port in spec.get("ports") or ()
        ]
        if spec.get("externalTrafficPolicy") == known.get("externalTrafficPolicy") and not spec.get("externalIPs"):
            spec.pop("externalTrafficPolicy", None)
    if _local(known) and not _local(spec) and spec.get("healthCheckNodePort") == known.get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
    if known.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(key) == known.get(key):
                spec.pop(key, None)


def _allocated(spec: Object, uid: str) -> Object:
    spec = dict(spec)
    if _on_cluster(spec):
        _addresses(spec, uid)
    if _with_node_ports(spec):
        taken = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        spec["ports"] = [_with_port(port, uid, taken) for port in spec.get("ports") or ()]
    if _local(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _free(f"{uid}/health", set())
    return spec


def _addresses(spec: Object, uid: str) -> None:
    address = spec.get("clusterIP") or (spec.get("clusterIPs") or [""])[0] or _address(uid)
    spec["clusterIP"] = address
    spec["clusterIPs"] = spec.get("clusterIPs") or [address]
    headless_without = address == "None" and not spec.get("selector")
    if not spec.get("ipFamilies"):
        families = ["IPv6" if ":" in one else "IPv4" for one in spec["clusterIPs"]]
        spec["ipFamilies"] = ["IPv4", "IPv6"] if headless_without and not spec.get("ipFamilyPolicy") else families
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = "RequireDualStack" if len(spec["ipFamilies"]) > 1 else "SingleStack"


def _address(uid: str) -> str:
    return str(NETWORK[RESERVED + zlib.crc32(uid.encode()) % (NETWORK.num_addresses - RESERVED - 1)])


def _with_port(port: Object, uid: str, taken: set[int]) -> Object:
    if port.get("nodePort"):
        return port
    number = _free(f"{uid}/{_number(port)}", taken)
    taken.add(number)
    return {**port, "nodePort": number}


def _free(seed: str, taken: set[int]) -> int:
    at = zlib.crc32(seed.encode())
    while NODE_PORTS[at % len(NODE_PORTS)] in taken:
        at += 1
    return NODE_PORTS[at % len(NODE_PORTS)]


def _number(port: Object) -> tuple[str, int]:
    return port.get("protocol", "TCP"), port["port"]


def _on_cluster(spec: Object) -> bool:
    return bool(spec.get("type") != "ExternalName")


def _with_node_ports(spec: Object) -> bool:
    if spec.get("type") == "LoadBalancer":
        return bool(spec.get("allocateLoadBalancerNodePorts", True))
    return bool(spec.get("type") == "NodePort")


def _local(spec: Object) -> bool:
    return bool(spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")
