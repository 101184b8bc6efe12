"""Services: an EndpointSlice and an Endpoints object that name the Pods behind each.

https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/
"""

from collections.abc import Iterable, Iterator

from kubesandbox.simulate import owned_objects
from kubesandbox.simulate.owned_objects import is_ending, is_ready
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Update, World, Write
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object

SLICES = "endpointslices.discovery.k8s.io"
SERVICE, MANAGED = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
TRIGGERED = "endpoints.kubernetes.io/last-change-trigger-time"
OLD_MANAGED, OLD_MANAGER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"


def slice_step(service: Object, world: World) -> PlannedStep | None:
    """Keep one slice as it should be."""
    if not service["spec"].get("selector") or is_ending(service):
        return None
    pods = _pods(service, world)
    ports = [{"name": name, "protocol": protocol, "port": port} for name, protocol, port in _ports(service, pods)]
    headless = {HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    labels = {**(service["metadata"].get("labels") or {}), SERVICE: service["metadata"]["name"], MANAGED: MANAGER}
    new = {"labels": {**labels, **headless}}, {"endpoints": [_endpoint(pod) for pod in pods], "ports": ports}
    known = world.owned(SLICES, service)
    return _kept(_slice(service, *new), known, world, ("endpoints", "ports"))


def endpoints_step(service: Object, world: World) -> PlannedStep | None:
    """The same for clients that do not know slices."""
    meta = service["metadata"]
    if not service["spec"].get("selector") or is_ending(service):
        return None
    pods = _pods(service, world)
    headless = {HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    labels = {**(meta.get("labels") or {}), OLD_MANAGED: OLD_MANAGER, **headless}
    named = {"name": meta["name"], "namespace": meta["namespace"], "labels": labels}
    made: Object = {"apiVersion": "v1", "kind": "Endpoints", "metadata": named}
    if subset := _subset(service, pods):
        made["subsets"] = [subset]
    known = world.one("endpoints", meta["namespace"], meta["name"])
    return _kept(made, [known] if known else [], world, ("subsets",))


def orphan_step(endpoints: Object, world: World) -> PlannedStep | None:
    """Endpoints go with their Service; they have no owner reference that would see to it."""
    meta = endpoints["metadata"]
    if (meta.get("labels") or {}).get(OLD_MANAGED) != OLD_MANAGER:
        return None
    gone = world.one("services", meta["namespace"], meta["name"]) is None
    return PlannedStep((Delete(endpoints),)) if gone else None


def _kept(made: Object, known: list[Object], world: World, fields: Iterable[str]) -> PlannedStep | None:
    """Create it, or write what has changed."""
    annotated = {**made["metadata"], "annotations": {TRIGGERED: rfc3339(world.now)}}
    if not known:
        return PlannedStep((Create({**made, "metadata": annotated}),))
    old = known[0]
    labels = made["metadata"]["labels"]
    if labels == (old["metadata"].get("labels") or {}) and all(made.get(one) == old.get(one) for one in fields):
        return None
    kept = {key: value for key, value in old.items() if key not in fields}
    meta = {**old["metadata"], "labels": labels, "annotations": annotated["annotations"]}
    changed = {one: made[one] for one in fields if one in made}
    writes: tuple[Write, ...] = (Update({**kept, **changed, "metadata": meta}),)
    return PlannedStep(writes)


def _pods(service: Object, world: World) -> list[Object]:
    """The Pods behind a Service that have an address."""
    selector = service["spec"]["selector"].items()
    pods = world.all("pods", service["metadata"]["namespace"])
    chosen = [pod for pod in pods if selector <= (pod["metadata"].get("labels") or {}).items()]
    return [pod for pod in chosen if pod["status"].get("podIP") and _runs(pod)]


def _runs(pod: Object) -> bool:
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def _ports(service: Object, pods: list[Object]) -> Iterator[tuple[str, str, int]]:
    """Name, protocol and the Pods' port. A port's name is looked up in the first Pod that has it."""
    for port in service["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else next(_named(target, pods), None)
        if number is not None:
            yield port.get("name", ""), port.get("protocol", "TCP"), number


def _named(name: str, pods: list[Object]) -> Iterator[int]:
    containers = (container for pod in pods for container in pod["spec"]["containers"])
    ports = (port for container in containers for port in container.get("ports") or ())
    return (port["containerPort"] for port in ports if port.get("name") == name)


def _slice(service: Object, metadata: Object, content: Object) -> Object:
    generate = {"generateName": f"{service['metadata']['name']}-", **metadata}
    made = owned_objects.child(service, "discovery.k8s.io/v1", "EndpointSlice", generate)
    return {**made, "addressType": "IPv4", **{key: value for key, value in content.items() if value}}


def _endpoint(pod: Object) -> Object:
    ready, ending = is_ready(pod), is_ending(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready and not ending, "serving": ready, "terminating": ending},
        "targetRef": _target(pod),
        "nodeName": pod["spec"]["nodeName"],
    }


def _subset(service: Object, pods: list[Object]) -> Object:
    named = list(_ports(service, pods))
    ports = [{**({"name": name} if name else {}), "port": port, "protocol": protocol} for name, protocol, port in named]
    said = [
        (is_ready(pod), {"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": _target(pod)})
        for pod in pods
        if not is_ending(pod)
    ]
    addresses = {
        "addresses": [address for ready, address in said if ready],
        "notReadyAddresses": [address for ready, address in said if not ready],
    }
    filled = {key: value for key, value in addresses.items() if value}
    return {**filled, **({"ports": ports} if ports else {})} if filled else {}


def _target(pod: Object) -> Object:
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
