"""Services, Endpoints, EndpointSlices."""

import ipaddress

from hookrunner.sandbox import names
from hookrunner.sandbox.builtin import metadata
from hookrunner.sandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    named,
    one_of,
    port,
    too_many,
)
from hookrunner.sandbox.builtin.validation.network import NOT_ADDRESS, address, is_address, network
from hookrunner.sandbox.status import duplicate, forbidden_field, required, unsupported, wrong

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
CLUSTER_ONLY = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
LONGEST_AFFINITY = 86400
FAMILIES, FAMILY_POLICIES = ("IPv4", "IPv6"), ("PreferDualStack", "RequireDualStack", "SingleStack")
ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
MOST_ENDPOINTS, MOST_ADDRESSES, MOST_PORTS = 1000, 100, 20000


def service(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/service/"""
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    headless = spec.get("clusterIP") == "None"
    if old:
        yield from _addresses_changed(spec, old["spec"])
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
    for at, one in enumerate(spec.get("externalIPs") or ()):
        yield from _endpoint_address(one, f"spec.externalIPs[{at}]")
    yield from one_of(kind, "spec.type", TYPES)
    yield from _balancer(spec, kind)
    yield from _traffic(spec, kind)


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
    yield from one_of(inside, "spec.internalTrafficPolicy", ("Cluster", "Local"), needed=kind != "ExternalName")
    near = ("PreferClose", "PreferSameZone", "PreferSameNode")
    yield from one_of(spec.get("trafficDistribution"), "spec.trafficDistribution", near, needed=False)


def endpoints(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/service/#endpoints"""
    for at, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{at}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for index, one in enumerate(subset.get(key) or ()):
                field = f"{path}.{key}[{index}].ip"
                if not is_address(one.get("ip", "")):
                    yield wrong(field, one.get("ip", ""), NOT_ADDRESS)
                yield from _endpoint_address(one.get("ip", ""), field, "must be a valid IP address")
                if one.get("hostname"):
                    yield from named(one["hostname"], f"{path}.{key}[{index}].hostname", names.label)
        ports = subset.get("ports") or []
        for index, one in enumerate(ports):
            field = f"{path}.ports[{index}]"
            if one.get("name"):
                yield from named(one["name"], f"{field}.name", names.label)
            elif len(ports) > 1:
                yield required(f"{field}.name")
            yield from port(one.get("port", 0), f"{field}.port")
            yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS)


def _endpoint_address(value: str, field: str, why: str = NOT_ADDRESS) -> Causes:
    """An address of something other than the machine itself."""
    if not is_address(value):
        yield wrong(field, value, why)
        return
    parsed = ipaddress.ip_address(value)
    if parsed.is_unspecified:
        yield wrong(field, value, f"may not be unspecified ({value})")
    if parsed.is_loopback:
        yield wrong(field, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        yield wrong(field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if parsed.is_multicast and str(parsed).startswith(("224.0.0.", "ff02")):
        yield wrong(field, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def endpoint_slice(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/"""
    kind = obj.get("addressType", "")
    if old and kind != old.get("addressType"):
        yield wrong("addressType", kind, UNCHANGEABLE)
    if not old:
        yield from one_of(kind, "addressType", ADDRESS_TYPES)
    every = obj.get("endpoints") or []
    if len(every) > MOST_ENDPOINTS:
        yield too_many("endpoints", len(every), MOST_ENDPOINTS)
        return
    for at, one in enumerate(every):
        yield from _endpoint(one, f"endpoints[{at}]", kind)
    seen = set()
    for at, one in enumerate(obj.get("ports") or ()):
        field, name = f"ports[{at}]", one.get("name") or ""
        if name:
            yield from named(name, f"{field}.name", names.label)
        if name in seen:
            yield duplicate(f"{field}.name", name)
        seen.add(name)
        yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS)
        if one.get("appProtocol"):
            yield from named(one["appProtocol"], f"{field}.appProtocol", names.qualified)


def _endpoint(one: Object, path: str, kind: str) -> Causes:
    addresses = one.get("addresses") or []
    yield from given(addresses, f"{path}.addresses", "must contain at least 1 address")
    if len(addresses) > MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), MOST_ADDRESSES)
    for at, value in enumerate(addresses):
        field = f"{path}.addresses[{at}]"
        if kind == "FQDN":
            yield from named(value, field, names.subdomain)
        elif kind in FAMILIES:
            if not is_address(value):
                yield wrong(field, value, NOT_ADDRESS)
            elif (":" in value) != (kind == "IPv6"):
                yield wrong(f"{path}.addresses", value, f"must be an {kind} address")
            yield from _endpoint_address(value, field, "must be a valid IP address")
    if one.get("nodeName"):
        yield from named(one["nodeName"], f"{path}.nodeName", names.subdomain)
    if one.get("hostname"):
        yield from named(one["hostname"], f"{path}.hostname", names.label)


CHECKS = {"services": service, "endpoints": endpoints, "endpointslices.discovery.k8s.io": endpoint_slice}
