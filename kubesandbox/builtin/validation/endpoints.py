"""Endpoints and EndpointSlices."""

import ipaddress

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    named,
    one_of,
    port,
    too_many,
)
from kubesandbox.builtin.validation.network import NOT_ADDRESS, is_address
from kubesandbox.status import duplicate, required, wrong

PROTOCOLS = ("SCTP", "TCP", "UDP")
FAMILIES, ADDRESS_TYPES = ("IPv4", "IPv6"), ("FQDN", "IPv4", "IPv6")
MOST_ENDPOINTS, MOST_ADDRESSES = 1000, 100


def endpoints(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/service/#endpoints"""
    for at, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{at}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for index, one in enumerate(subset.get(key) or ()):
                yield from _address(one, f"{path}.{key}[{index}]")
        yield from _ports(subset.get("ports") or [], f"{path}.ports")


def _address(one: Object, path: str) -> Causes:
    ip = one.get("ip", "")
    if not is_address(ip):
        yield wrong(f"{path}.ip", ip, NOT_ADDRESS)
    yield from endpoint_address(ip, f"{path}.ip", "must be a valid IP address")
    if one.get("hostname"):
        yield from named(one["hostname"], f"{path}.hostname", names.label)


def _ports(ports: list[Object], path: str) -> Causes:
    for at, one in enumerate(ports):
        field = f"{path}[{at}]"
        if one.get("name"):
            yield from named(one["name"], f"{field}.name", names.label)
        elif len(ports) > 1:
            yield required(f"{field}.name")
        yield from port(one.get("port", 0), f"{field}.port")
        yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS)


def endpoint_address(value: str, field: str, why: str = NOT_ADDRESS) -> Causes:
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
        yield from one_of(one.get("protocol"), f"{field}.protocol", PROTOCOLS, needed=False)
        if one.get("appProtocol") is not None:
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
            yield from endpoint_address(value, field, "must be a valid IP address")
    if one.get("nodeName") is not None:
        yield from named(one["nodeName"], f"{path}.nodeName", names.subdomain)
    if one.get("hostname") is not None:
        yield from named(one["hostname"], f"{path}.hostname", names.label)


CHECKS = {"endpoints": endpoints, "endpointslices.discovery.k8s.io": endpoint_slice}
