"""Routes whose Nodes move, that cannot be listed, and that cannot be made.

As `test_writes_and_calls.py`: with Kubernetes' own manager, and with ours under --compat upstream on two servers.

Level: control plane.
"""

import pytest

from tests.cloud.scenarios.documents import machine, node
from tests.cloud.scenarios.scenes import initialized
from tests.cloud.scenarios.stages import Stage
from tests.cloud.scenarios.world import Scene, Step
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

FAILING_LISTS = 3
ADDRESSES, OTHER_ADDRESSES = machine("")["addresses"], [{"type": "InternalIP", "address": "10.240.0.99"}]


async def test_routes_with_addresses_of_nodes(stage: Stage) -> None:
    stage.world.change_cloud(lambda cloud: cloud.update(capabilities={"features": {"routeNodeAddresses": True}}))
    with stage.run():
        await follow_addresses(stage)
        await change_nothing_without_a_list(stage)
        await heal_what_could_not_be_made(stage)


async def follow_addresses(stage: Stage) -> None:
    """A route to a Node that has other addresses is made anew."""
    scene = Scene("r15-moves", initialized("r15-moves", podCIDRs=["10.244.15.0/24"]))
    stage.world.make([scene])
    await until(lambda: stage.routes() == {"10.244.15.0/24": ADDRESSES}, "a route to the Node's addresses")
    stage.world.change(scene, Step(instance={"addresses": OTHER_ADDRESSES}))
    await until(lambda: stage.routes() == {"10.244.15.0/24": OTHER_ADDRESSES}, "a route to the new addresses")
    await until(lambda: stage.end(scene).get("network") == ["False", "RouteCreated"], "the Node's network")
    assert len(stage.cloud()["routes"]) == 1


async def change_nothing_without_a_list(stage: Stage) -> None:
    """While routes cannot be listed, none comes and none goes, and Nodes are not said to be without."""
    old, new = (Scene(f"r20-{n}", node(f"r20-{n}", podCIDRs=[f"10.244.20{n}.0/24"])) for n in (1, 2))
    stage.world.make([old])
    await until(lambda: stage.end(old).get("network"), "a Node with a route")
    stage.set_faults({"verb": "routes-list", "what": "Unavailable"})
    await let_lists_fail(stage, 1)
    routes, applied = stage.routes(), len(stage.calls("routes-apply"))
    stage.world.make([new])
    stage.world.change(old, Step(spec=None))
    await until(lambda: stage.end(new)["events"], "the new Node is initialised")
    await let_lists_fail(stage, FAILING_LISTS)
    assert (stage.routes(), len(stage.calls("routes-apply"))) == (routes, applied)
    assert "network" not in stage.end(new)

    stage.set_faults()
    await until(lambda: stage.end(new).get("network") == ["False", "RouteCreated"], "the new Node's route")
    await until(lambda: stage.routes().keys() == {"10.244.15.0/24", "10.244.202.0/24"}, "the old Node's route is gone")


async def heal_what_could_not_be_made(stage: Stage) -> None:
    scene = Scene("r21-later", initialized("r21-later", podCIDRs=["10.244.21.0/24"]))
    stage.set_faults({"verb": "routes-apply", "what": "Unavailable"})
    stage.world.make([scene])
    await until(lambda: stage.end(scene).get("network") == ["True", "NoRouteCreated"], "a Node without its route")
    await until(lambda: stage.end(scene)["events"] == [["Warning", "FailedToCreateRoute", "route_controller"]], "why")
    stage.set_faults()
    await until(lambda: stage.end(scene)["network"] == ["False", "RouteCreated"], "a Node with its route")
    assert "10.244.21.0/24" in stage.routes()


async def let_lists_fail(stage: Stage, count: int) -> None:
    """Wait for so many more."""
    before = failed_lists(stage)
    await until(lambda: failed_lists(stage) >= before + count, "lists that fail")


def failed_lists(stage: Stage) -> int:
    """How often routes could not be listed. One pass begins after the other, so what failed was the last to begin."""
    return sum("error" in call for call in stage.calls("routes-list"))
