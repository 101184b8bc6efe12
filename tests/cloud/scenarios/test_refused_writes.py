"""Writes of Nodes that are refused once: whichever it was, all come to the same end.

As `test_writes_and_calls.py`: with Kubernetes' own manager, and with ours under --compat upstream on two servers.
"""

from collections.abc import Sequence

import pytest

from tests.cloud.scenarios.documents import SHUTDOWN, Document, machine, node
from tests.cloud.scenarios.scenes import NOT_READY, initialized
from tests.cloud.scenarios.stages import Stage
from tests.cloud.scenarios.world import Scene, Step
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

REFUSALS = (409, 429, 500, 503)
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
            stage.proxy.answer(status, f"/nodes/{path}", retry_after=1 if status == 429 else None)
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
