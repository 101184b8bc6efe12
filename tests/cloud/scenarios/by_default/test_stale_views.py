"""A cloud's last word on a machine comes when hookrunner no longer leads: the Node stays. A view of Nodes that was lost
meanwhile: `tests/cloud/nodes/test_lifecycle_loop.py`.

On the sandbox and on a real API server. One answer is enough to delete here, and it is held until that has happened.

Level: control plane.
"""

from datetime import UTC, datetime

import pytest

from tests.cloud.scenarios.managers import OLD_ENOUGH, is_calling, ours, read_status
from tests.cloud.scenarios.scenes import NOT_READY, initialized
from tests.cloud.scenarios.world import Scene, Step, World
from tests.flows.waiting import stays, until

pytestmark = pytest.mark.usefixtures("launcher")

AT_ONCE = ("--controllers=cloud-node-lifecycle-controller", "--node-delete-confirmations=1", OLD_ENOUGH)
WITNESS, SILENT = Scene("witness", initialized("witness")), Scene("silent", initialized("silent"))
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"
SECONDS = 2.0
"""Several passes; one that deletes does so at once."""


async def test_answer_after_the_lease_was_lost_deletes_no_node(each_world: World) -> None:
    with ours(each_world, "--leader-elect=true", *AT_ONCE) as manager:
        each_world.make([WITNESS, SILENT])
        await until(lambda: read_status(each_world).get("loops"), "the loop at work")
        with each_world.holding_calls() as cloud:
            del cloud["instances"]["silent"]
            each_world.change(SILENT, Step(status=NOT_READY))
            await until(lambda: is_calling(manager, "instances"), "the question")
            now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
            taken = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": now}
            each_world.patch(LEASE, {"spec": taken})
            await until(lambda: not read_status(each_world)["leads"], "the loss noticed")
        await until(lambda: not is_calling(manager, "instances"), "the answer")
        await stays(lambda: "silent" in each_world.nodes(), "the Node", SECONDS)
        each_world.patch(LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})  # as who gives it back
        await until(lambda: "silent" not in each_world.nodes(), "the Node deleted in a term of its own")
