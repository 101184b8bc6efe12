"""The columns of services, endpoints, ingresses, and of other network kinds."""

from datetime import datetime

from kubesandbox.columns.parts import (
    NONE,
    UNSET,
    Cells,
    Object,
    age,
    annotation,
    at,
    labels,
    name,
    selector,
    shortened,
)

DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"


def service(obj: Object, now: datetime) -> Cells:
    spec = at(obj, "spec", {})
    own = (spec.get("clusterIPs") or [NONE])[0]
    ports = ",".join(map(_service_port, spec.get("ports") or ())) or NONE
    return [name(obj), spec.get("type", ""), own, _outside(obj), ports, age(obj, now), labels(spec.get("selector"))]


def _service_port(port: Object) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', '')}"


def _outside(obj: Object) -> str:
    """Where a service is reached from outside."""
    spec = at(obj, "spec", {})
    given: list[str] = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            balancer = _balancer(obj)
            return ",".join([*([balancer] if balancer else []), *given]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def _balancer(obj: Object) -> str:
    """Addresses, or else host names, of a load balancer."""
    points = at(obj, "status.loadBalancer.ingress", [])
    return ",".join(
        sorted({one.get("ip") or one["hostname"] for one in points if one.get("ip") or one.get("hostname")})
    )


def endpoints(obj: Object, now: datetime) -> Cells:
    subsets = obj.get("subsets") or []
    return [
        name(obj),
        shortened([one for subset in subsets for one in _subset(subset)]) if subsets else NONE,
        age(obj, now),
    ]


def _subset(subset: Object) -> list[str]:
    """`10.0.0.1:80` for each port and address; addresses alone if there are no ports."""
    addresses = [one["ip"] for one in subset.get("addresses") or ()]
    ports = [one["port"] for one in subset.get("ports") or ()]
    return [_host_port(address, port) for port in ports for address in addresses] if ports else addresses


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def endpoint_slice(obj: Object, now: datetime) -> Cells:
    ports = [str(one.get("port") or one.get("name", "*")) for one in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    shown = [shortened(ports) or UNSET, shortened(addresses) or UNSET]
    return [name(obj), obj.get("addressType", ""), *shown, age(obj, now)]


def ingress(obj: Object, now: datetime) -> Cells:
    spec = at(obj, "spec", {})
    ports = "80, 443" if spec.get("tls") else "80"
    return [name(obj), spec.get("ingressClassName") or NONE, _hosts(spec), _balancer(obj), ports, age(obj, now)]


def _hosts(spec: Object) -> str:
    """The first three hosts, and the number of further rules, with a host or without."""
    rules: list[Object] = spec.get("rules") or []
    named = [index for index, rule in enumerate(rules) if rule.get("host")]
    if not named:
        return "*"
    first, more = named[:3], len(named) >= 3 and len(rules) > named[2] + 1
    return ",".join(rules[index]["host"] for index in first) + (f" + {len(rules) - 3} more..." if more else "")


def ingress_class(obj: Object, now: datetime) -> Cells:
    default = " (default)" if annotation(obj, DEFAULT_INGRESS_CLASS) == "true" else ""
    given = at(obj, "spec.parameters")
    return [name(obj) + default, at(obj, "spec.controller", ""), _reference(given) if given else NONE, age(obj, now)]


def _reference(parameters: Object) -> str:
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
    return f"{parameters['kind']}{group}/{parameters['name']}"


def network_policy(obj: Object, now: datetime) -> Cells:
    return [name(obj), selector(at(obj, "spec.podSelector")) or NONE, age(obj, now)]


def service_cidr(obj: Object, now: datetime) -> Cells:
    return [name(obj), ",".join(at(obj, "spec.cidrs", [])), age(obj, now)]


def ip_address(obj: Object, now: datetime) -> Cells:
    """One cell more than columns, as in a real server."""
    parent = at(obj, "spec.parentRef")
    return [name(obj), _parent(parent) if parent else NONE, age(obj, now)]


def _parent(reference: Object) -> str:
    group = f".{reference['group']}" if reference.get("group") else ""
    namespace = f"/{reference['namespace']}" if reference.get("namespace") else ""
    return f"{reference.get('resource', '')}{group}".lower() + f"{namespace}/{reference.get('name', '')}"


CELLS = {
    "services": service,
    "endpoints": endpoints,
    "endpointslices.discovery.k8s.io": endpoint_slice,
    "ingresses.networking.k8s.io": ingress,
    "ingressclasses.networking.k8s.io": ingress_class,
    "networkpolicies.networking.k8s.io": network_policy,
    "servicecidrs.networking.k8s.io": service_cidr,
    "ipaddresses.networking.k8s.io": ip_address,
}
