"""A cluster and a simulated cloud, as a manager of either kind finds them, and what both look like in the end.

    world = World(cluster, directory)
    world.make(scene)
    with upstream(world): ...
    world.ends() == {"n1": {...}}

The cloud is `providers/simcloud`: both managers ask the same program, with a process for each call unless it serves.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simcloud_lib.state import changing

from tests.cloud.scenarios.documents import Document, machine
from tests.controlplane.cluster import RequestFailed
from tests.controlplane.rest import Reply

NAMESPACE = "default"
_NODES, _SERVICES = "/api/v1/nodes", f"/api/v1/namespaces/{NAMESPACE}/services"
_BY_CHANCE = {"UpdatedLoadBalancer"}
"""Whether a load balancer got its Nodes when it was made, or later, is a matter of milliseconds."""
_LOOPS = {"cloud-node-controller", "cloud-node-lifecycle-controller", "service-controller", "route_controller"}
"""Components whose Events count. The API server's own, about cluster IPs while it begins, come by chance."""
_FOUND, _CREATED = 200, 201


@dataclass(frozen=True, slots=True)
class Scene:
    """One Node or Service, and what happens to it. `instance` is its machine (None: it has no machine), `faults` are
    how calls about it fail at first, `routes` what the cloud has for it. `steps` are changes that are made one after
    the other, each when nothing moves any more: merge patches of the object, of its status, of the machine (None
    deletes), in that order."""

    name: str
    node: Document = field(default_factory=dict)
    service: Document = field(default_factory=dict)
    instance: Document | None = field(default_factory=dict)
    faults: tuple[Document, ...] = ()
    routes: tuple[Document, ...] = ()
    steps: tuple["Step", ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What changes at once; an empty document changes nothing, None deletes. `faults` take the place of earlier ones,
    before anything changes; `routes` are added to the cloud's."""

    spec: Document | None = field(default_factory=dict)
    status: Document = field(default_factory=dict)
    instance: Document | None = field(default_factory=dict)
    faults: tuple[Document, ...] = ()
    routes: tuple[Document, ...] = ()


class World:
    """A cluster for scenes alone, and the cloud's state in a file. `send` is one request to the API server: method,
    path, body (a merge patch with PATCH)."""

    def __init__(self, kubeconfig: Path, send: Callable[[str, str, object], Reply], directory: Path) -> None:
        self.kubeconfig = kubeconfig
        self.directory = directory
        self._request = send
        self.state = directory / "cloud.json"
        self.state.write_text(json.dumps({"instances": {}}))

    def make(self, scenes: Sequence[Scene]) -> None:
        """Create the objects and machines of all scenes."""
        self.change_cloud(lambda cloud: put_into(cloud, scenes))
        self.create(scenes)

    def create(self, scenes: Iterable[Scene]) -> None:
        """Create the objects alone."""
        for scene in scenes:
            self._send("POST", *self._place(scene))

    def advance(self, scenes: Iterable[Scene], number: int) -> None:
        """Make the change of this number in each scene that has so many."""
        changes = [(scene, scene.steps[number]) for scene in scenes if number < len(scene.steps)]
        faults = [fault for scene, step in changes for fault in _faults(scene, step.faults)]
        self.change_cloud(lambda cloud: cloud.update(faults=faults))
        for scene, step in changes:
            self.change(scene, step)

    def break_calls(self, chances: Iterable[tuple[str, float]]) -> None:
        """Let calls fail in these ways, each with its chance; nothing ends that."""
        faults = [{"verb": "*", "what": what, "chance": chance} for what, chance in chances]
        self.change_cloud(lambda cloud: cloud.update(faults=faults))

    def change_cloud(self, change: Callable[[Document], object]) -> None:
        """Change the state as simcloud does: its programs do so meanwhile for load balancers and routes."""
        with changing(str(self.state)) as cloud:
            change(cloud)

    @contextmanager
    def holding_calls(self) -> Iterator[Document]:
        """The cloud's state, to be changed in place. Calls that begin meanwhile are answered afterwards, and by it."""
        nothing = {"verb": "none", "what": "delay", "seconds": 0}  # where there are faults, calls wait for the lock
        self.change_cloud(lambda cloud: cloud["faults"].append(nothing))
        with changing(str(self.state)) as cloud:
            yield cloud

    def calls(self, verb: str = "") -> list[Document]:
        """What simcloud was asked, oldest first, as far as it has answered."""
        log = Path(f"{self.state}.calls")
        lines = log.read_text().split("\n")[:-1] if log.exists() else ()  # the last may be half written
        calls: list[Document] = [json.loads(line) for line in lines]
        return [call for call in calls if verb in ("", call["verb"])]

    def nodes(self) -> Mapping[str, Document]:
        """All Nodes, by name."""
        return self._objects(_NODES)

    def live(self, scene: Scene) -> Document:
        """The scene's object as it is, empty if it does not exist."""
        return self._objects(self._place(scene)[0]).get(scene.name, {})

    def ends(self, scenes: Iterable[Scene]) -> dict[str, Document]:
        """What each scene looks like now."""
        events = self._events()
        nodes, services = self._objects(_NODES), self._objects(_SERVICES)
        cloud = json.loads(self.state.read_text())
        ends = {}
        for scene in scenes:
            obj = (services if scene.service else nodes).get(scene.name)
            shown = self._shown(scene, obj) if obj else {"exists": False}
            found = sorted(map(list, events[scene.name]))
            ends[scene.name] = {**shown, **self._cloud_end(scene, cloud), "events": found}
        return ends

    def event_messages(self) -> list[str]:
        """What all Events say."""
        return [event.get("message", "") for event in self._request("GET", "/api/v1/events", None).body["items"]]

    def serve_calls(self) -> None:
        """Let one process of the cloud answer all calls, instead of one for each."""
        self.change_cloud(lambda cloud: cloud.update(capabilities={"features": {"serve": True}}))

    def _place(self, scene: Scene) -> tuple[str, Document]:
        if scene.service:
            return _SERVICES, scene.service
        return _NODES, scene.node

    def change(self, scene: Scene, step: Step) -> None:
        """Make one change."""
        collection, _ = self._place(scene)
        path = f"{collection}/{scene.name}"
        if step.instance is None:
            self.change_cloud(lambda cloud: cloud["instances"].pop(scene.name, None))
        elif step.instance:
            self._set_machine(scene.name, step.instance)
        if step.routes:
            self.change_cloud(lambda cloud: _add_routes(cloud, scene, step.routes))
        if step.status:
            self._send("PATCH", f"{path}/status", {"status": step.status})
        if step.spec is None:
            self._send("DELETE", path)
        elif step.spec:
            self._send("PATCH", path, step.spec)

    def patch(self, path: str, patch: Document) -> None:
        """Send a merge patch of any object."""
        self._send("PATCH", path, patch)

    def _send(self, method: str, path: str, body: Document | None = None) -> None:
        reply = self._request(method, path, body)
        if reply.status not in {_FOUND, _CREATED}:
            raise RequestFailed(f"{method} {path} → {reply.status}: {reply.body}")

    def _set_machine(self, name: str, changes: Document) -> None:
        self.change_cloud(lambda cloud: cloud["instances"].setdefault(name, machine(name)).update(changes))

    def _events(self) -> Mapping[str, set[tuple[str, str, str]]]:
        """Type, reason and component of the loops' Events about each object, by its name."""
        found: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
        for event in self._request("GET", "/api/v1/events", None).body["items"]:
            source = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
            if source in _LOOPS and event["reason"] not in _BY_CHANCE:
                found[event["involvedObject"]["name"]].add((event["type"], event["reason"], source))
        return found

    def _objects(self, collection: str) -> Mapping[str, Document]:
        """All objects of a kind, by their names."""
        return {obj["metadata"]["name"]: obj for obj in self._request("GET", collection, None).body["items"]}

    def _shown(self, scene: Scene, obj: Document) -> Document:
        return service_end(obj) if scene.service else node_end(obj)

    def _cloud_end(self, scene: Scene, cloud: Document) -> Document:
        """Its load balancers and routes."""
        if scene.service:
            key = f"{NAMESPACE}/{scene.name}"
            mine = [balancer for balancer in cloud.get("loadBalancers", {}).values() if balancer["service"] == key]
            return {"balancers": [[balancer["ports"], _of_services(balancer["nodes"])] for balancer in mine]}
        routes = cloud.get("routes", ())
        mine = [route["destinationCIDR"] for route in routes if scene.name in (route["targetNode"], route["name"])]
        return {"routes": sorted(mine)} if mine else {}


def put_into(cloud: Document, scenes: Sequence[Scene]) -> None:
    """Put into the cloud what the scenes begin with."""
    cloud["faults"] += [fault for scene in scenes for fault in _faults(scene, scene.faults)]
    for scene in scenes:
        _add_routes(cloud, scene, scene.routes)
        if scene.instance is not None:
            cloud["instances"].setdefault(scene.name, machine(scene.name)).update(scene.instance)


def _add_routes(cloud: Document, scene: Scene, routes: Iterable[Document]) -> None:
    for number, route in enumerate(routes):
        own = {"name": f"{scene.name}-{number}", "targetNode": scene.name, "blackhole": False}
        cloud["routes"].append({**own, "targetNodeAddresses": [], **route})


def _faults(scene: Scene, faults: Iterable[Document]) -> Iterable[Document]:
    """Faults for simcloud, each of calls about this Node or Service alone."""
    return [{"service" if scene.service else "node": scene.name, **fault} for fault in faults]


def _of_services(names: Iterable[str]) -> list[str]:
    """The Nodes that scenes of Services are about. Others come and go with their own scenes."""
    return sorted(name for name in names if name.startswith("s"))


def node_end(obj: Document) -> Document:
    """Of a Node what a manager may change. The taint of admission, and labels that the API server adds, do not
    count."""
    spec, metadata, status = obj["spec"], obj["metadata"], obj["status"]
    taints = [[taint["key"], taint.get("value", ""), taint["effect"]] for taint in spec.get("taints", ())]
    network = [c for c in status.get("conditions", ()) if c["type"] == "NetworkUnavailable"]
    return {
        "providerID": spec.get("providerID", ""),
        "taints": [taint for taint in taints if taint[0] != "node.kubernetes.io/not-ready"],
        "labels": metadata.get("labels", {}),
        "addresses": [[address["type"], address["address"]] for address in status.get("addresses", ())],
        **({"network": [network[0]["status"], network[0]["reason"]]} if network else {}),
    }


def service_end(obj: Document) -> Document:
    """Of a Service what a manager may change. Which address it has depends on who was first."""
    return {
        "finalizers": obj["metadata"].get("finalizers", []),
        "ingress": [{**entry, "ip": "of the pool"} for entry in obj["status"]["loadBalancer"].get("ingress", ())],
    }
