"""Services, https://kubernetes.io/docs/concepts/services-networking/service/."""

import ipaddress

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.builtin.services import NETWORK, NODE_PORTS, WITH_NODE_PORTS
from kubesandbox.builtin.validation.common import (
    Causes,
    Object,
    named,
    one_of,
    port,
)
from kubesandbox.builtin.validation.endpoints import endpoint_address
from kubesandbox.builtin.validation.network import address, is_address, network
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
CLUSTER_ONLY = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
LONGEST_AFFINITY = 86400
FAMILIES, FAMILY_POLICIES = ("IPv4", "IPv6"), ("PreferDualStack", "RequireDualStack", "SingleStack")


def service(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/service/"""
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    headless = spec.get("clusterIP") == "None"
    if old:
        yield from _addresses_changed(spec, old["spec"])
    if not old and spec.get("clusterIP", "None") not in ("None", "") and not is_address(spec["clusterIP"]):
        yield from _addresses(spec)
        return
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and headless:
        yield wrong("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        yield from _external(spec)
    yield from _ports(ports, kind)
    yield from metadata.labels(spec.get("selector") or {}, "spec.selector")
    yield from _affinity(spec)
    if kind != "ExternalName":
        yield from _addresses(spec)
    known = (old or {}).get("spec") or {}
    yield from _allocatable(spec, known)
    for at, one in enumerate(spec.get("externalIPs") or ()):
        yield from endpoint_address(one, f"spec.externalIPs[{at}]")
    yield from one_of(kind, "spec.type", TYPES)
    yield from _balancer(spec, kind)
    yield from _traffic(spec, kind)
    yield from _load_balancer_status(obj.get("status") or {}, kind)


def _addresses_changed(spec: Object, known: Object) -> Causes:
    if "ExternalName" in (spec.get("type"), known.get("type")):
        return
    if spec.get("clusterIPs") and known.get("clusterIPs") and spec["clusterIPs"][0] != known["clusterIPs"][0]:
        yield wrong("spec.clusterIPs[0]", spec["clusterIPs"], "may not change once set")
    if (
        spec.get("clusterIP") == "None"
        and spec.get("ipFamilies")
        and known.get("ipFamilies")
        and spec["ipFamilies"][0] != known["ipFamilies"][0]
    ):
        yield wrong("spec.ipFamilies[0]", spec["ipFamilies"], "may not change once set")
    if {spec.get("type"), known.get("type")} == {"LoadBalancer"} and spec.get("loadBalancerClass") != known.get(
        "loadBalancerClass"
    ):
        yield wrong("spec.loadBalancerClass", spec.get("loadBalancerClass"), "may not change once set")


def _external(spec: Object) -> Causes:
    for key in CLUSTER_ONLY:
        if spec.get(key):
            yield forbidden_field(f"spec.{key}", "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    if name:
        yield from named(name, "spec.externalName", names.subdomain)
    else:
        yield required("spec.externalName")


def _ports(ports: list[Object], kind: str) -> Causes:
    taken: set[str] = set()
    node_ports: set[tuple[str, int]] = set()
    numbers: set[tuple[str, int]] = set()
    for at, one in enumerate(ports):
        field, protocol = f"spec.ports[{at}]", one.get("protocol", "")
        yield from _port(one, field, taken, several=len(ports) > 1)
        if one.get("nodePort"):
            if kind == "ClusterIP":
                yield forbidden_field(f"{field}.nodePort", "may not be used when `type` is 'ClusterIP'")
            if (protocol, one["nodePort"]) in node_ports:
                yield duplicate(f"{field}.nodePort", one["nodePort"])
            node_ports.add((protocol, one["nodePort"]))
        if (protocol, one.get("port")) in numbers:
            yield duplicate(field, {"protocol": protocol, "port": one.get("port"), "targetPort": 0})
        numbers.add((protocol, one.get("port", 0)))


def _port(one: Object, field: str, taken: set[str], several: bool) -> Causes:
    name = one.get("name")
    if name:
        yield from named(name, f"{field}.name", names.label)
        if name in taken:
            yield duplicate(f"{field}.name", name)
        taken.add(name)
    elif several:
        yield required(f"{field}.name")
    yield from port(one.get("port", 0), f"{field}.port")
    yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS)
    yield from port(one.get("targetPort", 0), f"{field}.targetPort")
    if "appProtocol" in one:
        yield from named(one["appProtocol"], f"{field}.appProtocol", names.qualified)


def _affinity(spec: Object) -> Causes:
    kind, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    yield from one_of(kind, "spec.sessionAffinity", ("ClientIP", "None"))
    if kind == "None" and config is not None:
        yield forbidden_field("spec.sessionAffinityConfig", "must not be set when session affinity is None")
    if kind == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= LONGEST_AFFINITY:
            why = f"must be greater than 0 and less than {LONGEST_AFFINITY}"
            yield wrong("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)


def _addresses(spec: Object) -> Causes:
    addresses = spec.get("clusterIPs") or []
    if addresses and spec.get("clusterIP") != addresses[0]:
        yield wrong("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    for at, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in FAMILIES:
            yield unsupported(f"spec.ipFamilies[{at}]", family, FAMILIES)
    policy = spec.get("ipFamilyPolicy")
    yield from one_of(policy, "spec.ipFamilyPolicy", FAMILY_POLICIES, needed=False)
    for at, one in enumerate(addresses):
        if one != "None":
            yield from address(one, f"spec.clusterIPs[{at}]")
            family = (spec.get("ipFamilies") or [])[at : at + 1]
            if is_address(one) and family and (":" in one) != (family[0] == "IPv6"):
                why = f"expected an {family[0]} value as indicated by `ipFamilies[{at}]`"
                yield wrong(f"spec.clusterIPs[{at}]", one, why)
        elif len(addresses) > 1:
            yield wrong("spec.clusterIPs", addresses, "'None' must be the first and only value")
    if len(addresses) > 2:
        yield wrong("spec.clusterIPs", addresses, "may only hold up to 2 values")


def _allocatable(spec: Object, known: Object) -> Causes:
    """What a cluster could not hand out: addresses and ports that are not of its ranges."""
    address_ = (spec.get("clusterIPs") or [spec.get("clusterIP")])[0]
    new = address_ != known.get("clusterIP") and spec.get("type") != "ExternalName"
    if new and address_ and is_address(address_) and ":" in address_:
        yield wrong("spec.clusterIPs[0]", spec["clusterIPs"], "IPv6 is not configured on this cluster")
    elif new and address_ and is_address(address_) and not _assignable(address_):
        why = f"the provided IP ({address_}) is not in the valid range. The range of valid IPs is {NETWORK}"
        yield wrong("spec.clusterIPs", spec["clusterIPs"], f"failed to allocate IP {address_}: {why}")
    had = {one.get("nodePort") for one in known.get("ports") or ()}
    low, high = NODE_PORTS[0], NODE_PORTS[-1]
    for at, one in enumerate(spec.get("ports") or ()):
        number = one.get("nodePort")
        if number and number not in had and number not in NODE_PORTS and spec.get("type") in WITH_NODE_PORTS:
            why = f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
            yield wrong(f"spec.ports[{at}].nodePort", number, why)


def _assignable(address_: str) -> bool:
    parsed = ipaddress.ip_address(address_)
    return parsed in NETWORK and parsed not in (NETWORK.network_address, NETWORK.broadcast_address)


def _balancer(spec: Object, kind: str) -> Causes:
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges and kind != "LoadBalancer":
        yield forbidden_field("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for at, one in enumerate(ranges):
        yield from network(one.strip(), f"spec.LoadBalancerSourceRanges[{at}]")
    for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
        if key in spec and kind != "LoadBalancer":
            yield forbidden_field(f"spec.{key}", "may only be used when `type` is 'LoadBalancer'")


def _traffic(spec: Object, kind: str) -> Causes:
    policy = spec.get("externalTrafficPolicy", "")
    accessible = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if not accessible and policy:
        why = "may only be set for externally-accessible services"
        yield wrong("spec.externalTrafficPolicy", policy, why)
    if accessible:
        yield from one_of(policy, "spec.externalTrafficPolicy", ("Cluster", "Local"))
    if spec.get("healthCheckNodePort") and not (kind == "LoadBalancer" and policy == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield wrong("spec.healthCheckNodePort", spec["healthCheckNodePort"], why)
    inside = spec.get("internalTrafficPolicy")
    if inside is None and kind != "ExternalName":
        yield required("spec.internalTrafficPolicy")
    yield from one_of(inside, "spec.internalTrafficPolicy", ("Cluster", "Local"), needed=False)
    near = ("PreferClose", "PreferSameZone", "PreferSameNode")
    yield from one_of(spec.get("trafficDistribution"), "spec.trafficDistribution", near, needed=False)


def _load_balancer_status(status: Object, kind: str) -> Causes:
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    if points and kind != "LoadBalancer":
        yield forbidden_field("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")
    else:
        for at, point in enumerate(points):
            yield from _ingress(point, f"status.loadBalancer.ingress[{at}]")


def _ingress(point: Object, field: str) -> Causes:
    ip, hostname, mode = point.get("ip"), point.get("hostname"), point.get("ipMode")
    if ip:
        yield from address(ip, f"{field}.ip")
    if hostname:
        yield from named(hostname, f"{field}.hostname", names.subdomain)
    if hostname and is_address(hostname):
        yield wrong(f"{field}.hostname", hostname, "must be a DNS name, not an IP address")
    if mode is not None and not ip:
        yield forbidden_field(f"{field}.ipMode", "may not be specified when `ip` is not set")
    elif mode is not None:
        yield from one_of(mode, f"{field}.ipMode", ("Proxy", "VIP"))


CHECKS = {"services": service}
