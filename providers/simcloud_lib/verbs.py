"""What the simulated cloud answers: a function for each verb of the wire format, on the state and the `params`.

Each returns a `result`, and raises `Refusal` for an `error`. They change the state in place.
"""

from typing import Any

from simcloud_lib.state import Document, pool_address, take_number

PREFIX = "simcloud://"


class Refusal(Exception):
    """An `error` of the wire format."""

    def __init__(self, code: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.document: Document = {"code": code, "message": message}
        if retry_after:
            self.document["retryAfterSeconds"] = retry_after


def capabilities(state: Document, params: Document) -> Document:
    """Everything is supported; `simcloud set` changes it."""
    answer: Document = {
        "providerName": "simcloud",
        "providerIDPrefixes": [PREFIX],
        "interfaces": {"instances": True, "loadBalancer": True, "routes": True},
        "features": {"routeNodeAddresses": False, "serve": False},
        "limits": {"maxParallel": 4, "maxBatch": 500},
    }
    for key, value in state["capabilities"].items():
        both = isinstance(value, dict) and isinstance(answer.get(key), dict)
        answer[key] = {**answer[key], **value} if both else value
    return answer


def instances(state: Document, params: Document) -> Document:
    """Looks for an instance by its providerID, without one by the Node's name. Only an id of this cloud that does not
    exist is `notFound`."""
    by_id = {PREFIX + instance["id"]: instance for instance in state["instances"].values()}
    with_metadata = "metadata" in params.get("want", ())
    answers = []
    for node in params["nodes"]:
        provider_id = node.get("providerID") or ""
        instance = by_id.get(provider_id) if provider_id else state["instances"].get(node["name"])
        if instance:
            metadata = _metadata(instance) if with_metadata else {}
            answers.append({"name": node["name"], "state": instance["state"], **metadata})
        else:
            answers.append({"name": node["name"], **_without_instance(node["name"], provider_id)})
    return {"instances": answers}


def _without_instance(name: str, provider_id: str) -> Document:
    if not provider_id:
        return {"state": "unknown", "message": f"this cloud has no instance named {name}"}
    if provider_id.startswith(PREFIX):
        return {"state": "notFound", "message": f"there is no {provider_id}"}
    return {"state": "skip", "message": f"{provider_id} is of another cloud"}


def _metadata(instance: Document) -> Document:
    return {
        "providerID": instance.get("providerID", PREFIX + instance["id"]),
        "instanceType": instance["type"],
        "zone": instance["zone"],
        "region": instance["region"],
        "addresses": instance["addresses"],
        "additionalLabels": instance["labels"],
    }


def lb_get(state: Document, params: Document) -> Document:
    """Changes nothing."""
    balancer = state["loadBalancers"].get(params["name"])
    return {"exists": True, "status": {"ingress": balancer["ingress"]}} if balancer else {"exists": False}


def lb_ensure(state: Document, params: Document) -> Document:
    """One address of each family that the Service has; `spec.loadBalancerIP` cannot be wished for."""
    service, name = params["service"], params["name"]
    spec, metadata = service.get("spec") or {}, service["metadata"]
    if wished := spec.get("loadBalancerIP"):
        raise Refusal("Invalid", f"spec.loadBalancerIP {wished} cannot be chosen in this cloud: remove it")
    number = take_number(state, "loadBalancer", name)
    pools = {"IPv4": pool_address("198.18", number), "IPv6": f"2001:db8::{number + 1:x}"}
    families = spec.get("ipFamilies") or ["IPv4"]
    state["loadBalancers"][name] = {
        "service": f"{metadata['namespace']}/{metadata['name']}",
        "uid": metadata["uid"],
        "ports": [port["port"] for port in spec.get("ports") or ()],
        "nodes": _names(params),
        "ingress": [{"ip": pools[family], "ipMode": "VIP"} for family in families],
    }
    return {"status": {"ingress": state["loadBalancers"][name]["ingress"]}}


def lb_update(state: Document, params: Document) -> Document:
    """Changes the nodes."""
    if params["name"] not in state["loadBalancers"]:
        raise Refusal("NotFound", f"there is no load balancer {params['name']}")
    state["loadBalancers"][params["name"]]["nodes"] = _names(params)
    return {}


def lb_delete(state: Document, params: Document) -> Document:
    """One that does not exist is as good as deleted."""
    state["loadBalancers"].pop(params["name"], None)
    return {}


def lb_list(state: Document, params: Document) -> Document:
    """All load balancers."""
    listed = [
        {"name": name, "service": balancer["service"], "uid": balancer["uid"]}
        for name, balancer in state["loadBalancers"].items()
    ]
    return {"loadBalancers": listed}


def _names(params: Document) -> list[str]:
    return [node["name"] for node in params["nodes"]]


def routes_list(state: Document, params: Document) -> Document:
    """All routes."""
    return {"routes": state["routes"]}


def routes_apply(state: Document, params: Document) -> Document:
    """Deletes first. Deleting what does not exist and creating what exists are no errors."""
    wanted, unwanted = params.get("create", []), params.get("delete", [])
    names = {route["name"] for route in unwanted}
    state["routes"] = [route for route in state["routes"] if route["name"] not in names]
    created = [_create_route(state["routes"], route) for route in wanted]
    return {"create": created, "delete": [{"ok": True}] * len(unwanted)}


def _create_route(routes: list[Document], wanted: Document) -> Document:
    target, cidr = wanted["targetNode"], wanted["destinationCIDR"]
    for route in routes:
        if route["destinationCIDR"] == cidr and route["targetNode"] != target:
            message = f"{cidr} leads to {route['targetNode']} already"
            return {"error": Refusal("Unavailable", message).document}
        if route["destinationCIDR"] == cidr:
            route["targetNodeAddresses"] = wanted.get("targetNodeAddresses", [])
            return {"ok": True}
    name = f"{wanted.get('nameHint') or target}-{cidr.replace('/', '-').replace(':', '-')}"
    new = {"name": name, "targetNode": target, "destinationCIDR": cidr, "blackhole": False}
    routes.append({**new, "targetNodeAddresses": wanted.get("targetNodeAddresses", [])})
    return {"ok": True}


ANSWERS: dict[str, Any] = {
    "capabilities": capabilities,
    "instances": instances,
    "lb-get": lb_get,
    "lb-ensure": lb_ensure,
    "lb-update": lb_update,
    "lb-delete": lb_delete,
    "lb-list": lb_list,
    "routes-list": routes_list,
    "routes-apply": routes_apply,
}
CHANGING = frozenset({"lb-ensure", "lb-update", "lb-delete", "routes-apply"})
