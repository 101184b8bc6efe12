"""Writes of Nodes and Services that are refused once: whichever it was, all come to the same end.

As `test_writes_and_calls.py`: with Kubernetes' own manager, and with ours under --compat upstream on two servers.

Level: control plane.
"""

from collections.abc import Sequence

import pytest

from tests.cloud.scenarios.documents import SHUTDOWN, Document, machine, node
from tests.cloud.scenarios.scenes import FINALIZER, NOT_READY, initialized, service
from tests.cloud.scenarios.stages import Stage
from tests.cloud.scenarios.world import Scene, Step
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

TOO_MANY = 429
REFUSALS = (409, TOO_MANY, 500, 503)
ENSURED = ["lb-ensure"]
ADDRESSES = [[address["type"], address["address"]] for address in machine("")["addresses"]]
OFF = [[SHUTDOWN["key"], "", SHUTDOWN["effect"]]]
LIFECYCLE = "cloud-node-lifecycle-controller"
"""What records Events about the end of a Node."""


async def test_refused_writes_of_nodes_are_made_again(stage: Stage) -> None:
    with stage.run():
        await initialize(stage)
        await write_again_in_the_next_pass(stage)


async def initialize(stage: Stage) -> None:
    """Of some Nodes the first write is refused, of others that of their addresses."""
    scenes = [Scene(name, node(name)) for status in REFUSALS for name in (f"n-{status}-spec", f"n-{status}-status")]
    for status in REFUSALS:
        for path in (f"n-{status}-spec", f"n-{status}-status/status"):
            stage.proxy.answer(status, f"/nodes/{path}", retry_after=1 if status == TOO_MANY else None)
    stage.world.make(scenes)
    wanted = {"taints": [], "addresses": ADDRESSES, "events": [["Normal", "Synced", "cloud-node-controller"]]}
    await reach(stage, scenes, [wanted] * len(scenes))
    assert all(len(stage.writes(scene.name)) > 2 for scene in scenes)


async def write_again_in_the_next_pass(stage: Stage) -> None:
    """The taint of a machine that is off, the deletion of a Node without one, and what is said of a route."""
    off, gone = (
        Scene(f"l-{name}", initialized(f"l-{name}", addresses=machine("")["addresses"])) for name in ("off", "gone")
    )
    routed = Scene("r-routed", initialized("r-routed", podCIDRs=["10.244.1.0/24"], addresses=machine("")["addresses"]))
    for match in ("PATCH /nodes/l-off", "DELETE /nodes/l-gone", "PATCH /nodes/r-routed/status"):
        stage.proxy.answer(500, match)
    stage.world.make([off, gone, routed])
    stage.world.change(off, Step(status=NOT_READY, instance={"state": "shutdown"}))
    stage.world.change(gone, Step(status=NOT_READY, instance=None))
    events = [["Normal", "DeletingNode", LIFECYCLE], ["Warning", "DeletingNodeFailed", LIFECYCLE]]
    ends: list[Document] = [
        {"taints": OFF},
        {"exists": False, "events": events},
        {"network": ["False", "RouteCreated"]},
    ]
    await reach(stage, [off, gone, routed], ends)
    assert all(len(stage.writes(scene.name)) > 1 for scene in (off, gone, routed))


async def test_refused_writes_of_services_are_made_again(stage: Stage) -> None:
    with stage.run():
        for status in (403, TOO_MANY, 500):
            await begin_and_end(stage, status)


async def begin_and_end(stage: Stage, status: int) -> None:
    """Of one Service the finalizer is refused, of the other, which has it, the address; then the removal of each.
    Where the API server asks for patience, the request itself is repeated, and nothing is said."""
    new, kept = (Scene(f"s-{status}-{what}", service=service(f"s-{status}-{what}")) for what in ("new", "kept"))
    kept.service["metadata"]["finalizers"] = [FINALIZER]
    patience = status == TOO_MANY
    said = {"EnsuringLoadBalancer", "EnsuredLoadBalancer", "UnAvailableLoadBalancer"}
    said |= set() if patience else {"SyncLoadBalancerFailed"}
    refuse(stage, status, new, kept)
    stage.world.make([new, kept])
    await until(lambda: all(stage.end(scene)["ingress"] for scene in (new, kept)), "addresses of both")
    await until(lambda: reasons(stage, new) == reasons(stage, kept) == said, "what is said of them")
    assert [stage.verbs(scene) for scene in (new, kept)] == [ENSURED, ENSURED if patience else ENSURED * 2]

    refuse(stage, status, new, kept)
    stage.world.change(new, Step(spec=None))
    stage.world.change(kept, Step(spec={"spec": {"type": "ClusterIP"}}))
    said |= {"DeletingLoadBalancer", "DeletedLoadBalancer"}
    await until(lambda: reasons(stage, new) == reasons(stage, kept) == said, "what is said of their ends")
    await until(lambda: not stage.end(new).get("exists", True), "the Service that is deleted goes")
    assert stage.end(kept).items() >= {"finalizers": [], "ingress": [], "balancers": []}.items()
    assert [stage.verbs(scene).count("lb-delete") for scene in (new, kept)] == [1, 1]


def refuse(stage: Stage, status: int, *scenes: Scene) -> None:
    """The next write of each Service."""
    for scene in scenes:
        retry_after = 1 if status == TOO_MANY else None
        stage.proxy.answer(status, f"PATCH services/{scene.name}/status", retry_after=retry_after)


def reasons(stage: Stage, scene: Scene) -> set[str]:
    """Of the Events about it."""
    return {reason for _, reason, _ in stage.end(scene)["events"]}


async def reach(stage: Stage, scenes: Sequence[Scene], wanted: Sequence[Document]) -> None:
    """Wait until each scene looks so, as far as that is said."""

    def differences() -> dict[str, Document]:
        ends = stage.world.ends(scenes)
        pairs = zip(scenes, wanted, strict=True)
        return {scene.name: ends[scene.name] for scene, end in pairs if not end.items() <= ends[scene.name].items()}

    try:
        await until(lambda: not differences(), "all ends")
    except TimeoutError:
        assert differences() == {}
