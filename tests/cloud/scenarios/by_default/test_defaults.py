"""What hookrunner does otherwise than Kubernetes' own manager, with its defaults, for many Nodes at once, Services and
routes: on the sandbox and on a real API server, with a process for each call.

Level: control plane."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import is_calling, ours, read_status
from tests.cloud.scenarios.scenes import FINALIZER, NOT_READY, READY, initialized, service
from tests.cloud.scenarios.stages import proxied
from tests.cloud.scenarios.world import Scene, Step, World, put_into
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

NEVER = "10000h"
PAUSE = 5.0
NETWORKS = {"first": "10.244.1.0/24", "second": "10.244.2.0/24"}
CALICO = {"type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp"}
OTHER = Scene("other", service=service("other"))


def ingress(world: World, scene: Scene) -> list[Document]:
    """The addresses of a Service."""
    found: list[Document] = world.live(scene)["status"]["loadBalancer"].get("ingress", [])
    return found


def balancer(world: World, scene: Scene) -> str:
    """The name of a Service's load balancer, empty if it has none."""
    balancers = json.loads(world.state.read_text())["loadBalancers"]
    return next((name for name, kept in balancers.items() if kept["service"] == f"default/{scene.name}"), "")


def events(world: World, scene: Scene) -> set[str]:
    """The reasons of the loops' Events."""
    return {reason for _, reason, _ in world.ends([scene])[scene.name]["events"]}


def verbs_about(world: World, scene: Scene) -> list[str]:
    """What was asked about a Service, in order."""
    return [call["verb"] for call in world.calls() if call.get("service") == f"default/{scene.name}"]


def routes(world: World) -> dict[str, str]:
    """The target of each route, by its destination."""
    return {route["destinationCIDR"]: route["targetNode"] for route in json.loads(world.state.read_text())["routes"]}


def network(world: World, name: str) -> list[Any]:
    """The status and the reason of a Node's NetworkUnavailable."""
    conditions = world.nodes()[name]["status"]["conditions"]
    return [(found["status"], found["reason"]) for found in conditions if found["type"] == "NetworkUnavailable"]


async def test_two_hundred_nodes_at_once_cost_two_calls_and_their_addresses_one(each_world: World) -> None:
    scenes = [Scene(f"n-{number}", node(f"n-{number}")) for number in range(200)]
    names = {scene.name for scene in scenes}
    with ours(each_world, f"--node-status-update-frequency={NEVER}"):
        await until(lambda: read_status(each_world).get("loops"), "the loops at work")
        with each_world.holding_calls() as cloud:
            put_into(cloud, scenes)
            each_world.create(scenes)
            await until(lambda: {known["name"] for known in read_status(each_world)["nodes"]} == names, "all are known")
        await until(lambda: all(obj["spec"].get("providerID") for obj in each_world.nodes().values()), "initialised")
        assert len(each_world.calls("instances")) <= 2
    asked = len(each_world.calls("instances"))
    with ours(each_world):
        await until(lambda: len(each_world.calls("instances")) >= asked + 3, "three questions about addresses")
        assert all(set(call["nodes"]) == names for call in each_world.calls("instances")[asked:])


@pytest.mark.parametrize("what", ["exit", "hang"])
async def test_node_at_which_the_provider_fails_holds_up_no_other(each_world: World, what: str) -> None:
    bad = Scene("bad", node("bad"), faults=({"verb": "instances", "what": what},))
    others = [Scene(f"n-{number}", node(f"n-{number}")) for number in range(9)]
    each_world.change_cloud(lambda cloud: cloud.update(capabilities={"limits": {"timeoutSeconds": {"instances": 3}}}))
    with ours(each_world):
        each_world.make([bad, *others])
        await until(lambda: initialized_names(each_world) == {scene.name for scene in others}, "all but one")
        each_world.make([Scene("late", node("late"))])
        await until(lambda: "late" in initialized_names(each_world), "one that comes later")
        assert "bad" not in initialized_names(each_world)
        each_world.break_calls(())
        await until(lambda: "bad" in initialized_names(each_world), "when the provider is well again")


def initialized_names(world: World) -> set[str]:
    """The Nodes that are initialised."""
    return {name for name, obj in world.nodes().items() if obj["spec"].get("providerID")}


async def test_node_that_goes_during_its_question_is_no_error(each_world: World) -> None:
    brief, after = Scene("brief", node("brief")), Scene("after", node("after"))
    with ours(each_world) as manager:
        await until(lambda: read_status(each_world).get("loops"), "the loops at work")
        with each_world.holding_calls() as cloud:
            put_into(cloud, [brief, after])
            each_world.create([brief])
            await until(lambda: is_calling(manager, "instances"), "the question about it")
            each_world.change(brief, Step(spec=None))
        each_world.create([after])
        await until(lambda: initialized_names(each_world) == {"after"}, "a Node that came later")
        assert each_world.live(brief) == {}
    log = [json.loads(line) for line in (each_world.directory / "ours.log").read_text().splitlines()]
    assert [line for line in log if line.get("node") == "brief" and line["level"] != "info"] == []


async def test_new_node_gets_its_addresses_before_its_taint_goes(each_world: World, tmp_path: Path) -> None:
    new = Scene("new", node("new"))
    with proxied(each_world, tmp_path) as proxy, ours(each_world, f"--kube-config={proxy.kubeconfig}"):
        each_world.make([new])
        await until(lambda: initialized_names(each_world), "the Node initialised")
        writes = [request.path for request in tuple(proxy.requests) if request.method == "PATCH"]
        assert [path for path in writes if "/nodes/" in path] == ["/api/v1/nodes/new/status", "/api/v1/nodes/new"]


async def test_throttled_load_balancer_pauses_questions_about_nodes(each_world: World) -> None:
    throttled = {"verb": "lb-ensure", "what": "Throttled", "retryAfter": PAUSE, "times": 1}
    busy, waiting = Scene("busy", service=service("busy"), faults=(throttled,)), Scene("waiting", node("waiting"))
    with ours(each_world):
        each_world.make([busy])
        await until(lambda: "SyncLoadBalancerFailed" in events(each_world, busy), "the refusal, and so the pause")
        each_world.make([waiting])
        await until(lambda: initialized_names(each_world) and ingress(each_world, busy), "both looked after")
    refused = each_world.calls("lb-ensure")[0]
    first = next(call for call in each_world.calls("instances") if "waiting" in call["nodes"])
    assert first["time"] - first["seconds"] > refused["time"] + PAUSE - 0.1


async def test_service_of_another_class_keeps_the_shared_finalizer(each_world: World) -> None:
    body = service("foreign", loadBalancerClass="example.com/other")
    foreign = Scene("foreign", service={**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}})
    with ours(each_world):
        each_world.make([foreign])
        each_world.change(foreign, Step(spec=None))
        each_world.make([OTHER])
        await until(lambda: ingress(each_world, OTHER), "a Service that came later has its address")
        assert each_world.live(foreign)["metadata"]["finalizers"] == [FINALIZER]
        assert verbs_about(each_world, foreign) == []


async def test_service_that_hangs_holds_up_no_other(each_world: World) -> None:
    hanging = Scene("hanging", service=service("hanging"), faults=({"verb": "lb-ensure", "what": "hang"},))
    others = [Scene(f"s-{number}", service=service(f"s-{number}")) for number in range(5)]
    with ours(each_world, "--shutdown-grace=1s") as manager:
        each_world.make([hanging])
        await until(lambda: is_calling(manager, "lb-ensure"), "the call that hangs")
        each_world.make(others)
        await until(lambda: all(ingress(each_world, scene) for scene in others), "the others have addresses")
        assert ingress(each_world, hanging) == []


async def test_addresses_that_the_api_server_would_refuse_are_not_written(each_world: World) -> None:
    scene = Scene("odd", service=service("odd"))
    with ours(each_world):
        each_world.make([scene])
        before = await until(lambda: ingress(each_world, scene), "an address")
        each_world.change_cloud(lambda cloud: use_up_addresses(cloud, balancer(each_world, scene)))
        each_world.change(scene, Step(spec={"metadata": {"annotations": {"example.com/changed": "1"}}}))
        await until(lambda: "SyncLoadBalancerFailed" in events(each_world, scene), "the Warning")
        each_world.make([OTHER])
        await until(lambda: ingress(each_world, OTHER), "another Service has its address")
        assert ingress(each_world, scene) == before


def use_up_addresses(cloud: Document, name: str) -> None:
    """Let the next address of a load balancer be beyond those of IPv4."""
    cloud["numbers"]["loadBalancer"][name] = 10**6


async def test_finalizer_taken_away_by_hand_leaves_no_load_balancer_behind(each_world: World) -> None:
    scene = Scene("forced", service=service("forced"))
    with ours(each_world):
        each_world.make([scene])
        await until(lambda: ingress(each_world, scene), "an address")
        each_world.change(scene, Step(spec={"metadata": {"finalizers": None}}))
        each_world.change(scene, Step(spec=None))
        await until(lambda: not balancer(each_world, scene), "the load balancer deleted")
        assert each_world.live(scene) == {}
        assert verbs_about(each_world, scene)[-1] == "lb-delete"


async def test_idle_cluster_lists_its_routes_once_in_a_period(each_world: World) -> None:
    first, second = (Scene(name, initialized(name, podCIDRs=[cidr])) for name, cidr in NETWORKS.items())
    with ours(each_world, f"--route-reconciliation-period={NEVER}"):
        each_world.make([first])
        await until(lambda: network(each_world, "first") == [("False", "RouteCreated")], "the route")
        listed = len(each_world.calls("routes-list"))
        for status in (NOT_READY, READY) * 5:
            each_world.change(first, Step(status=status))
        asked = len(each_world.calls("instances"))
        await until(lambda: len(each_world.calls("instances")) >= asked + 5, "other loops at work")
        assert len(each_world.calls("routes-list")) == listed
        each_world.make([second])
        await until(lambda: routes(each_world).keys() == set(NETWORKS.values()), "a new Node has its route before then")
        assert len(each_world.calls("routes-list")) == listed + 1


async def test_condition_of_a_network_plugin_is_kept_where_that_is_on(each_world: World) -> None:
    plugged, plain = (Scene(name, initialized(name, podCIDRs=[cidr])) for name, cidr in NETWORKS.items())
    plugged.node["status"]["conditions"].append(CALICO)
    with ours(each_world, "--route-keep-foreign-condition"):
        each_world.make([plugged, plain])
        await until(lambda: network(each_world, "second") == [("False", "RouteCreated")], "the route of the other")
        await until(lambda: routes(each_world).keys() == set(NETWORKS.values()), "both routes")
        await list_again(each_world)
        assert network(each_world, "first") == [("False", "CalicoIsUp")]


async def list_again(world: World) -> None:
    """Wait until all has been done that a pass decided until now: a pass lists when the one before it has ended."""
    listed = len(world.calls("routes-list"))
    await until(lambda: len(world.calls("routes-list")) >= listed + 3, "three more passes")


async def test_no_route_is_deleted_while_no_node_has_a_network(each_world: World) -> None:
    kept = [{"destinationCIDR": "10.244.99.0/24"}]
    bare = Scene("bare", initialized("bare"), routes=tuple(kept))
    with ours(each_world):
        each_world.make([bare])
        await list_again(each_world)
        assert routes(each_world) == {"10.244.99.0/24": "bare"}
        each_world.make([Scene("first", initialized("first", podCIDRs=[NETWORKS["first"]]))])
        await until(lambda: routes(each_world) == {NETWORKS["first"]: "first"}, "deleted as soon as one has")
