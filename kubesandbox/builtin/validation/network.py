"""Ingresses and their classes, NetworkPolicies, and addresses anywhere."""

import ipaddress

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    Causes,
    Object,
    given,
    given_and_named,
    label_selector,
    named,
    one_of,
    port,
    unchanged,
)
from kubesandbox.status import Cause, forbidden_field, required, unsupported, wrong

NOT_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
BAD_ENDS = ("/..", "/.")
PROTOCOLS = ("TCP", "UDP", "SCTP")


def address(value: str, field: str) -> Causes:
    """An IP address of either family."""
    if not is_address(value):
        yield wrong(field, value, NOT_ADDRESS)


def is_address(value: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def network(value: str, field: str) -> Causes:
    """A network as address and prefix length."""
    try:
        ipaddress.ip_network(value, strict=False)
        ok = "/" in value
    except ValueError:
        ok = False
    if not ok:
        yield wrong(field, value, NOT_NETWORK)


def ingress(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/ingress/"""
    spec = obj.get("spec") or {}
    rules = spec.get("rules") or []
    if not rules and "defaultBackend" not in spec:
        yield wrong("spec", rules or None, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for at, rule in enumerate(rules):
        yield from _host(rule.get("host", ""), f"spec.rules[{at}].host")
        if "http" in rule:
            yield from _paths(rule["http"], f"spec.rules[{at}].http")
    for at, one in enumerate(spec.get("tls") or ()):
        for index, host in enumerate(one.get("hosts") or ()):
            yield from _tls_host(host, f"spec.tls[{at}].hosts[{index}]")
        if one.get("secretName"):
            yield from named(one["secretName"], f"spec.tls[{at}].secretName", names.subdomain)
    if "ingressClassName" in spec:
        yield from named(spec["ingressClassName"], "spec.ingressClassName", names.subdomain)


def _host(host: str, field: str) -> Causes:
    if not host:
        return
    if is_address(host):
        yield wrong(field, host, "must be a DNS name, not an IP address")
    yield from _tls_host(host, field)


def _tls_host(host: str, field: str) -> Causes:
    yield from named(host, field, names.wildcard_subdomain if "*" in host else names.subdomain)


def _paths(http: Object, path: str) -> Causes:
    paths = http.get("paths") or []
    yield from given(paths, f"{path}.paths")
    for at, one in enumerate(paths):
        field = f"{path}.paths[{at}]"
        kind, value = one.get("pathType"), one.get("path", "")
        if kind is None:
            yield required(f"{field}.pathType", "pathType must be specified")
            continue
        elif kind not in PATH_TYPES:
            yield unsupported(f"{field}.pathType", kind, PATH_TYPES)
        elif kind == "ImplementationSpecific":
            if value and not value.startswith("/"):
                yield wrong(f"{field}.path", value, "must be an absolute path")
        else:
            yield from _exact_path(value, f"{field}.path")
        yield from _backend(one.get("backend") or {}, f"{field}.backend")


def _exact_path(value: str, field: str) -> Causes:
    if not value.startswith("/"):
        yield wrong(field, value, "must be an absolute path")
    for bad in BAD_SEQUENCES:
        if bad in value:
            yield wrong(field, value, f"must not contain '{bad}'")
    for bad in BAD_ENDS:
        if value.endswith(bad):
            yield wrong(field, value, f"cannot end with '{bad}'")


def _group(reference: Object, path: str) -> Causes:
    if reference.get("apiGroup") is not None:
        yield from named(reference["apiGroup"], f"{path}.apiGroup", names.subdomain)


def _backend(backend: Object, path: str) -> Causes:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield wrong(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _group(resource, f"{path}.resource")
        for key in ("kind", "name"):
            yield from given(resource.get(key), f"{path}.resource.{key}")
    elif service is None:
        yield wrong(path, "", "resource or service backend is required")
    else:
        yield from _service(service, path)


def _service(service: Object, path: str) -> Causes:
    yield from given_and_named(service.get("name"), f"{path}.service.name", names.label)
    which = service.get("port") or {}
    name, number = which.get("name"), which.get("number")
    if name and number:
        yield wrong(path, "", "cannot set both port name & port number")
    elif name:
        yield from named(name, f"{path}.service.port.name", names.port_name)
    elif number:
        yield from port(number, f"{path}.service.port.number")
    else:
        yield required(path, "port name or number is required")


def ingress_class(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class"""
    spec = obj.get("spec") or {}
    if old:
        yield from unchanged(spec, old["spec"], "spec", "controller")
    if not spec.get("controller"):
        yield required("spec.controller")
    elif not all(spec["controller"].partition("/")):
        yield wrong("spec.controller", spec["controller"], 'must be a domain-prefixed path (such as "acme.io/foo")')
    parameters = spec.get("parameters")
    if parameters is None:
        return
    yield from _group(parameters, "spec.parameters")
    for key in ("kind", "name"):
        yield from given(parameters.get(key), f"spec.parameters.{key}")
    scope = parameters.get("scope")
    yield from one_of(scope, "spec.parameters.scope", ("Cluster", "Namespace"))
    if scope == "Namespace":
        yield from given(
            parameters.get("namespace"), "spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'"
        )
    elif scope == "Cluster" and parameters.get("namespace"):
        yield forbidden_field("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'")


def network_policy(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/services-networking/network-policies/"""
    spec = obj.get("spec") or {}
    yield from label_selector(spec.get("podSelector"), "spec.podSelector")
    for kind, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in enumerate(spec.get(kind) or ()):
            path = f"spec.{kind}[{at}]"
            for index, one in enumerate(rule.get("ports") or ()):
                yield from _policy_port(one, f"{path}.ports[{index}]")
            for index, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{path}.{peers}[{index}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        yield wrong("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for at, one in enumerate(types):
        yield from one_of(one, f"spec.policyTypes[{at}]", ("Ingress", "Egress"), needed=False)


def _policy_port(one: Object, path: str) -> Causes:
    yield from one_of(one.get("protocol"), f"{path}.protocol", PROTOCOLS, needed=False)
    first, last = one.get("port"), one.get("endPort")
    if first is not None:
        yield from port(first, f"{path}.port")
    if last is None:
        return
    if first is None:
        yield wrong(f"{path}.endPort", last, "may not be specified when `port` is not specified")
    elif isinstance(first, str):
        yield wrong(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
    else:
        if last < first:
            yield wrong(f"{path}.endPort", last, "must be greater than or equal to `port`")
        yield from port(last, f"{path}.endPort")


def _peer(peer: Object, path: str) -> Causes:
    block = peer.get("ipBlock")
    for key in ("podSelector", "namespaceSelector"):
        yield from label_selector(peer.get(key), f"{path}.{key}")
    if not peer:
        yield required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        yield forbidden_field(path, "may not specify both ipBlock and another peer")
    if block is not None:
        yield from _block(block, f"{path}.ipBlock")


def _block(block: Object, path: str) -> Causes:
    if not block.get("cidr"):
        yield required(f"{path}.cidr")
        return
    broken: list[Cause] = list(network(block["cidr"], f"{path}.cidr"))
    yield from broken
    for at, one in enumerate(block.get("except") or ()):
        inside: list[Cause] = list(network(one, f"{path}.except[{at}]"))
        yield from inside
        if not broken and not inside and not _strictly_inside(one, block["cidr"]):
            yield wrong(f"{path}.except[{at}]", one, "must be a strict subset of `cidr`")


def _strictly_inside(one: str, whole: str) -> bool:
    inner, outer = ipaddress.ip_network(one, strict=False), ipaddress.ip_network(whole, strict=False)
    if inner.version != outer.version or inner == outer:
        return False
    return outer.prefixlen < inner.prefixlen and inner.network_address in outer


CHECKS = {
    "ingresses.networking.k8s.io": ingress,
    "ingressclasses.networking.k8s.io": ingress_class,
    "networkpolicies.networking.k8s.io": network_policy,
}
