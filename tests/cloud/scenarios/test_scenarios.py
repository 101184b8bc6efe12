"""Scenes of Nodes, Services and routes: with --compat upstream they end as with Kubernetes' own manager.

`ends.json` has what that manager came to; nightly it plays the scenes again. In CI all scenes are played on a real API
server that one process of the cloud may serve; nightly all, with a process for each call, on the sandbox too.

Level: control plane.
"""

import json
from pathlib import Path

import pytest

from tests import launcher
from tests.cloud.scenarios import plays
from tests.cloud.scenarios.managers import OLD_ENOUGH, QUICK, UNBOUNDED, clean_environment, ours, upstream
from tests.cloud.scenarios.scenes import ALL, OWN, SERVED
from tests.cloud.scenarios.world import World
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in, rights_in
from tests.flows.limited_rights import check_rights
from tests.flows.waiting import until

pytestmark = pytest.mark.usefixtures("launcher")

NAMESPACE, ACCOUNT = "kube-system", "cloud-controller-manager"
AFTER_CONFLICTS = {"get nodes": "a Node is read again when another client has changed it meanwhile"}


def test_on_a_real_api_server_scenes_end_as_with_kubernetes_own_manager(
    audited_cluster: OwnCluster, tmp_path: Path
) -> None:
    """With a cloud that serves, and as a ServiceAccount with exactly what `cloud rbac` prints: nothing is refused, no
    right is superfluous."""
    words = ["cloud", "rbac", "-o", "json", f"--service-account={NAMESPACE}/{ACCOUNT}", *QUICK]
    printed = json.loads(launcher.run(words, cwd=tmp_path, env=clean_environment()).stdout)["items"]
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    account = log_in(audited_cluster, tmp_path, [{"kind": "ServiceAccount", "metadata": metadata}, *printed])
    world = World(account.kubeconfig, audited_cluster.request, tmp_path)
    world.serve_calls()
    with ours(world, "--compat=upstream", "--leader-elect=true"):
        plays.compare(world, SERVED, plays.load_recorded())
    check_rights(audited_cluster, account, rights_in(printed), AFTER_CONFLICTS)


@pytest.mark.nightly
def test_all_scenes_end_so_with_a_process_for_each_call(each_world: World) -> None:
    with ours(each_world, "--compat=upstream"):
        plays.compare(each_world, ALL, plays.load_recorded())


CAREFUL = (OLD_ENOUGH, *UNBOUNDED)


@pytest.mark.nightly
async def test_with_our_defaults_scenes_end_as_the_table_of_differences_says(each_world: World) -> None:
    with ours(each_world, *CAREFUL):
        each_world.make(OWN)
        await until(lambda: _own_end(each_world) == BEGUN, "Nodes and Services are looked after")
        each_world.advance(OWN, 0)
        await until(lambda: _own_end(each_world) == BEGUN - {"l1-gone exists"}, "the one that is known to be gone goes")
        each_world.advance(OWN, 1)
        await until(lambda: _own_end(each_world) == HEALED, "the others go when the cloud says so")


@pytest.mark.nightly
def test_kubernetes_own_manager_still_comes_to_the_recorded_ends(world: World) -> None:
    with upstream(world):
        ends = plays.record(world, ALL, plays.load_recorded())
    if ends != plays.load_recorded():
        (world.directory / "ends.json").write_text(plays.render_ends(ends))
    assert ends == plays.load_recorded(), f"look at {world.directory / 'ends.json'}, and copy it if it is right"


def test_recorded_ends_have_one_scene_a_line() -> None:
    recorded = plays.load_recorded()
    assert plays.RECORDED.read_text() == plays.render_ends(recorded)
    assert [ends.keys() for ends in recorded] == [{scene.name for scene in ALL}] * len(recorded)


_BROKEN = {scene.name for scene in OWN if scene.name.startswith("l12-")}
_KEPT = {
    "n11-other-id",
    "n24-other-cloud",
    "n19-order",
    "l15-foreign",
    "l15-no-id",
    "s25-invalid",
    "r25-one",
    "r25-two",
    "l12-off-double",
}
_WARNINGS = {
    "n11-other-id ProviderIDMismatch",
    "n24-other-cloud InvalidInstanceMetadata",
    "s25-invalid SyncLoadBalancerFailed",
    "r25-one DuplicatePodCIDR",
    "r25-two DuplicatePodCIDR",
}
HEALED = {*(f"{name} exists" for name in _KEPT), *_WARNINGS, "n19-order InternalIP first"}
BEGUN = HEALED | {f"{name} exists" for name in (*_BROKEN, "l1-gone")}


def _own_end(world: World) -> set[str]:
    """What is there, of which Warnings there are Events, and whether the addresses have the cloud's order."""
    ends = world.ends(OWN)
    exists = {f"{name} exists" for name, end in ends.items() if end.get("exists", True)}
    warnings = {f"{name} {event[1]}" for name, end in ends.items() for event in end["events"] if event[0] == "Warning"}
    first = {"n19-order InternalIP first"} if ends["n19-order"]["addresses"][0][0] == "InternalIP" else set()
    return exists | warnings | first
