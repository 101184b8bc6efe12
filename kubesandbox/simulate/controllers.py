"""Who looks after what: each resource with the function that says what happens to it next, and whose changes matter."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from kubesandbox.simulate import endpoints, kubelet, nodes, scheduler, volumes
from kubesandbox.simulate.workloads import daemonsets, deployments, jobs, replicasets, statefulsets
from kubesandbox.simulate.world import PlannedStep, World, controller
from kubesandbox.store import Key
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

MANAGER = "kube-controller-manager"

Look = Callable[[Object, World], PlannedStep | None]
Concerned = Callable[[Object, World], Iterable[Key]]


@dataclass(frozen=True, eq=False, slots=True)
class Controller:
    """`concerns` maps other resources to the objects of `resource` that have to be looked at when one of them changes.
    `component` stands in Events, `manager` in managed fields."""

    resource: str
    step: Look
    component: str
    manager: str = MANAGER
    concerns: Mapping[str, Concerned] = field(default_factory=dict)


def _owner_in(resource: str) -> Concerned:
    """The controller of the changed object, in `resource`; for an object without one all that could adopt it."""
    kind = resource.partition(".")[0].removesuffix("s")

    def owner(obj: Object, world: World) -> Iterator[Key]:
        reference, namespace = controller(obj), obj["metadata"]["namespace"]
        if reference is None:
            yield from (stored.key for stored in world.store.select(resource, namespace))
        elif reference["kind"].lower() == kind:
            yield Key(resource, namespace, reference["name"])

    return owner


def _all_of(resource: str) -> Concerned:
    """All objects in the namespace of the changed one; for one without a namespace, in all namespaces."""

    def every(obj: Object, world: World) -> Iterator[Key]:
        namespace = obj["metadata"].get("namespace", "")
        yield from (stored.key for stored in world.store.select(resource, namespace))

    return every


def _same_name_in(resource: str) -> Concerned:
    def same(obj: Object, world: World) -> Iterator[Key]:
        yield Key(resource, obj["metadata"]["namespace"], obj["metadata"]["name"])

    return same


def _services_of(pod: Object, world: World) -> Iterator[Key]:
    labels = (pod["metadata"].get("labels") or {}).items()
    for service in world.all("services", pod["metadata"]["namespace"]):
        if (service["spec"].get("selector") or {"": ""}).items() <= labels:
            meta = service["metadata"]
            yield Key("services", meta["namespace"], meta["name"])


def _waiting(obj: Object, world: World) -> Iterator[Key]:
    """Pods without a node, wherever they are."""
    return (_pod(pod) for pod in world.all("pods") if not pod["spec"].get("nodeName"))


def _pods_of(node: Object, world: World) -> Iterator[Key]:
    name = node["metadata"]["name"]
    return (_pod(pod) for pod in world.all("pods") if pod["spec"].get("nodeName") == name)


def _pod(pod: Object) -> Key:
    return Key("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])


def _volume_of(claim: Object, world: World) -> Iterator[Key]:
    if name := claim["spec"].get("volumeName"):
        yield Key("persistentvolumes", "", name)


NODES = Controller("nodes", nodes.step, "kubelet", "kubelet")
CONTROLLERS = (
    NODES,
    Controller(
        "pods",
        scheduler.step,
        scheduler.NAME,
        "kube-scheduler",
        {"nodes": _waiting, "persistentvolumeclaims": _waiting},
    ),
    Controller("pods", kubelet.step, "kubelet", "kubelet", {"nodes": _pods_of}),
    Controller(
        "replicasets.apps",
        replicasets.step,
        "replicaset-controller",
        concerns={"pods": _owner_in("replicasets.apps")},
    ),
    Controller(
        "deployments.apps",
        deployments.step,
        "deployment-controller",
        concerns={"replicasets.apps": _owner_in("deployments.apps")},
    ),
    Controller(
        "statefulsets.apps",
        statefulsets.step,
        "statefulset-controller",
        concerns={"pods": _owner_in("statefulsets.apps"), "controllerrevisions.apps": _owner_in("statefulsets.apps")},
    ),
    Controller(
        "daemonsets.apps",
        daemonsets.step,
        "daemonset-controller",
        concerns={
            "pods": _owner_in("daemonsets.apps"),
            "controllerrevisions.apps": _owner_in("daemonsets.apps"),
            "nodes": _all_of("daemonsets.apps"),
        },
    ),
    Controller("jobs.batch", jobs.step, "job-controller", concerns={"pods": _owner_in("jobs.batch")}),
    Controller(
        "services",
        endpoints.slice_step,
        "endpoint-slice-controller",
        concerns={"pods": _services_of, endpoints.SLICES: _owner_in("services")},
    ),
    Controller(
        "services",
        endpoints.endpoints_step,
        "endpoint-controller",
        concerns={"pods": _services_of, "endpoints": _same_name_in("services")},
    ),
    Controller(
        "endpoints",
        endpoints.orphan_step,
        "endpoint-controller",
        concerns={"services": _same_name_in("endpoints")},
    ),
    Controller(
        "persistentvolumeclaims",
        volumes.claim_step,
        "persistentvolume-controller",
        concerns={"pods": _all_of("persistentvolumeclaims")},
    ),
    Controller(
        "persistentvolumes",
        volumes.volume_step,
        "persistentvolume-controller",
        concerns={"persistentvolumeclaims": _volume_of},
    ),
)
