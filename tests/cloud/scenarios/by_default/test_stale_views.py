"""A cloud's last word on a machine comes when hookrunner no longer sees the Nodes, or no longer leads: the Node stays.

On the sandbox and on a real API server. One answer is enough to delete here, and it is held until that has happened.

Level: control plane.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cloud.scenarios.managers import OLD_ENOUGH, is_calling, ours, read_status
from tests.cloud.scenarios.scenes import NOT_READY, initialized
from tests.cloud.scenarios.stages import disconnect, proxied, run_in
from tests.cloud.scenarios.world import Scene, Step, World
from tests.flows.waiting import stays, until
from tests.launcher import Program

pytestmark = pytest.mark.usefixtures("launcher")

AT_ONCE = ("--controllers=cloud-node-lifecycle-controller", "--node-delete-confirmations=1", OLD_ENOUGH)
WITNESS, SILENT = Scene("witness", initialized("witness")), Scene("silent", initialized("silent"))
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"
SECONDS = 2.0
"""Several passes; one that deletes does so at once."""


@asynccontextmanager
async def last_word(world: World, manager: Program) -> AsyncIterator[None]:
    """The cloud is asked about a silent Node, and says at the end that its machine is gone."""
    world.make([WITNESS, SILENT])
    await until(lambda: read_status(world).get("loops"), "the loop at work")
    with world.holding_calls() as cloud:
        del cloud["instances"]["silent"]
        world.change(SILENT, Step(status=NOT_READY))
        await until(lambda: is_calling(manager, "instances"), "the question")
        yield
    await until(lambda: not is_calling(manager, "instances"), "the answer")


async def test_answer_after_the_watch_was_lost_deletes_no_node(each_world: World, tmp_path: Path) -> None:
    with (
        proxied(each_world, tmp_path) as proxy,
        ours(each_world, f"--kube-config={proxy.kubeconfig}", *AT_ONCE) as manager,
    ):
        async with last_word(each_world, manager):
            run_in(proxy, disconnect(proxy))
            await until(lambda: '"watch lost"' in read_log(each_world), "the loss noticed")
        each_world.change(SILENT, Step(instance={"state": "running"}))
        run_in(proxy, proxy.accept())
        asked = len(each_world.calls("instances"))
        await until(lambda: len(each_world.calls("instances")) >= asked + 3, "passes with a new view")
        assert "silent" in each_world.nodes()
        each_world.change(SILENT, Step(instance=None))
        await until(lambda: "silent" not in each_world.nodes(), "the Node deleted by an answer to such a pass")


def read_log(world: World) -> str:
    """What the manager has logged."""
    return (world.directory / "ours.log").read_text()


async def test_answer_after_the_lease_was_lost_deletes_no_node(each_world: World) -> None:
    with ours(each_world, "--leader-elect=true", *AT_ONCE) as manager:
        async with last_word(each_world, manager):
            now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
            taken = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": now}
            each_world.patch(LEASE, {"spec": taken})
            await until(lambda: not read_status(each_world)["leads"], "the loss noticed")
        await stays(lambda: "silent" in each_world.nodes(), "the Node", SECONDS)
        each_world.patch(LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})  # as who gives it back
        await until(lambda: "silent" not in each_world.nodes(), "the Node deleted in a term of its own")
