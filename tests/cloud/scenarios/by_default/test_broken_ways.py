"""Lives of Nodes and Services while requests to the API server fail: of each write the first attempt in one way, all
watches between two stages of life. They come to the ends of lives whose requests arrive.

With our defaults, on the sandbox and on a real API server, with a process for each call. A Node and a Service have the
name of each fault, so that all lives take place at once.

Level: control plane.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import SHUTDOWN, Document, machine, node
from tests.cloud.scenarios.managers import OLD_ENOUGH, UNBOUNDED, ours
from tests.cloud.scenarios.scenes import FINALIZER, NOT_READY, READY, initialized, service
from tests.cloud.scenarios.stages import disconnect, proxied, resume, run_in
from tests.cloud.scenarios.world import Scene, Step, World
from tests.faults.proxy import Proxy
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

CAREFUL = (OLD_ENOUGH, *UNBOUNDED)
REFUSALS, LOSSES, STALLED = (409, 429, 500, 503), ("lost", "unsent"), "stalled"
REPEATED = (*map(str, REFUSALS), *LOSSES)
FAULTS = ("nothing", *REPEATED, STALLED)
NODES = [Scene(f"n-{fault}", node(f"n-{fault}", podCIDRs=[f"10.244.{i}.0/24"])) for i, fault in enumerate(FAULTS)]
SERVICES = [Scene(f"s-{fault}", service=service(f"s-{fault}")) for fault in FAULTS]
ALL = (*NODES, *SERVICES)
WITNESS = Scene("witness", initialized("witness", podCIDRs=["10.244.99.0/24"]))
"""A Node that stays: without any, or without networks, no other is deleted, and no route."""

ADDRESSES = machine("")["addresses"]
OFF = Step(status=NOT_READY, instance={"state": "shutdown", "addresses": ADDRESSES[:1]})
ON = Step(status=READY, instance={"state": "running", "addresses": ADDRESSES})
TERMINATED = Step(status=NOT_READY, instance=None)
AWAY, BACK = Step(spec={"spec": {"type": "ClusterIP"}}), Step(spec={"spec": {"type": "LoadBalancer"}})
DELETED = Step(spec=None)

Look = tuple[list[object], list[object]]
"""What a Node and a Service look like: `_look`."""
SERVING: Look = ([True, [], 2, ["False", "RouteCreated"], 1], [[FINALIZER], 1, 1])
RESTING: Look = ([True, [SHUTDOWN["key"]], 1, ["False", "RouteCreated"], 1], [[], 0, 0])
GONE: Look = ([False, [], 0, None, 0], [None, 0, 0])


@pytest.fixture
def proxy(each_world: World, tmp_path: Path) -> Iterator[Proxy]:
    with proxied(each_world, tmp_path) as proxy:
        yield proxy


async def test_lives_with_broken_requests_end_as_others(each_world: World, proxy: Proxy) -> None:
    _break_writes(proxy)
    with ours(each_world, f"--kube-config={proxy.kubeconfig}", *CAREFUL):
        _stall(proxy)
        each_world.make([WITNESS, *ALL])
        await _come_to(each_world, SERVING, *REPEATED)
        await until(lambda: len(_writes(proxy, f"s-{STALLED}")) > 1, "a stalled write is given up and repeated")
        await _come_to(each_world, SERVING, STALLED, end_of_stall=proxy)

        run_in(proxy, proxy.expire())
        _stall(proxy)
        _change(each_world, OFF, AWAY)
        await _come_to(each_world, RESTING, *REPEATED)
        await _come_to(each_world, RESTING, STALLED, end_of_stall=proxy)

        run_in(proxy, disconnect(proxy))
        _stall(proxy)
        _change(each_world, ON, BACK)
        run_in(proxy, proxy.accept())
        await _come_to(each_world, SERVING, *REPEATED)
        await _come_to(each_world, SERVING, STALLED, end_of_stall=proxy)

        proxy.stall("watch=")
        _change(each_world, TERMINATED, DELETED)
        await _come_to(each_world, GONE, *FAULTS, end_of_stall=proxy)
    assert _cloud(each_world) == ([], ["witness"])
    assert {fault for fault in REPEATED if not _is_troubled(proxy, fault)} <= {"lost"}


def _break_writes(proxy: Proxy) -> None:
    """From now on the first attempt of each write of one of these objects fails, and each third Event."""
    for prefix in ("nodes/n", "services/s"):
        for verb in ("PATCH", "DELETE"):
            for status in REFUSALS:
                pause = 1 if status == 429 else None
                proxy.answer(status, f"{verb} {prefix}-{status}", times=1000, every=2, retry_after=pause)
            for fault in LOSSES:
                proxy.lose(f"{verb} {prefix}-{fault}", times=1000, every=2, forwarded=fault == "lost")
    proxy.answer(503, "POST events", times=1000, every=3)


def _stall(proxy: Proxy) -> None:
    """Hold the requests about one Node and one Service."""
    proxy.stall(f"nodes/n-{STALLED}")
    proxy.stall(f"services/s-{STALLED}")


def _change(world: World, of_node: Step, of_service: Step) -> None:
    for scene in ALL:
        world.change(scene, of_service if scene.service else of_node)


async def _come_to(world: World, wanted: Look, *faults: str, end_of_stall: Proxy | None = None) -> None:
    """Wait until the lives with these faults, and those without, look so."""
    if end_of_stall:
        run_in(end_of_stall, resume(end_of_stall))
    awaited = ("nothing", *faults)

    def others() -> dict[str, Look]:
        ends = world.ends(ALL)
        looks = {fault: _look(ends[f"n-{fault}"], ends[f"s-{fault}"]) for fault in awaited}
        return {fault: look for fault, look in looks.items() if look != wanted}

    try:
        await until(lambda: not others(), "all look so")
    except TimeoutError:
        pytest.fail(f"wanted {wanted}, but {others()}")


def _look(of_node: Document, of_service: Document) -> Look:
    """Of a Node whether it is initialised, its taints, addresses, network and routes; of a Service its finalizers,
    addresses and load balancers."""
    taints = [taint[0] for taint in of_node.get("taints", ())]
    is_initialized = bool(of_node.get("providerID"))
    counts = [len(of_node.get(key, ())) for key in ("addresses", "routes")]
    seen = [is_initialized, taints, counts[0], of_node.get("network"), counts[1]]
    return seen, [of_service.get("finalizers"), len(of_service.get("ingress", ())), len(of_service["balancers"])]


def _cloud(world: World) -> tuple[list[str], list[str]]:
    """Its load balancers, and the targets of its routes."""
    cloud = json.loads(world.state.read_text())
    return list(cloud["loadBalancers"]), [route["targetNode"] for route in cloud["routes"]]


def _writes(proxy: Proxy, name: str) -> list[str]:
    """The requests that wanted to change an object, in order."""
    requests = [request for request in tuple(proxy.requests) if request.method in ("PATCH", "DELETE")]
    return [request.line for request in requests if name in request.path.split("/")]


def _is_troubled(proxy: Proxy, fault: str) -> bool:
    """Did both objects need more requests than those whose requests arrive? Where only answers were lost, the watch
    may have shown that no write is missing."""
    return all(len(_writes(proxy, f"{kind}-{fault}")) > len(_writes(proxy, f"{kind}-nothing")) for kind in "ns")
