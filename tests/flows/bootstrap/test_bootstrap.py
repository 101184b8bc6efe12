"""docs/bootstrap.md, command by command: an empty control plane whose Nodes are neither ready nor initialised, the
chart by stock helm, KubeProxy, CoreDNS and the cloud controller manager, while hookrunner is killed and Pods do not
reach the API server for a moment.

API server, controllers and scheduler are real. No kubelet runs: kwok reports Pods as ready where the scheduler has put
them, and those of hookrunner, its Job and the cloud controller manager are processes with the words, variables, files
and account of their Pods. kubeadm, and a network of Pods, are what the test writes in their place.

Level: control plane."""

import shutil
import urllib.request
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from signal import SIGKILL

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.fakes.chart import CHART
from tests.faults.proxy import Proxy
from tests.flows.bootstrap.fresh_cluster import NETWORK, UNINITIALIZED, fresh_cluster, node
from tests.flows.bootstrap.page_world import PageWorld
from tests.flows.bootstrap.pod_process import PodProcess
from tests.flows.operator import oops
from tests.flows.waiting import until

HOOKRUNNER = "/apis/apps/v1/namespaces/hookrunner/deployments/hookrunner"
JOBS = "/apis/batch/v1/namespaces/hookrunner/jobs"
MANAGER = "/apis/apps/v1/namespaces/kube-system/daemonsets/cloud-controller-manager"
PROXY = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
RECORDS = "/api/v1/namespaces/hookrunner/secrets?labelSelector=owner%3Dhelm,name%21%3Dhookrunner"
INSTANCES = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system"
NODES = "/api/v1/nodes"


@pytest.fixture
def whole_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """Its Nodes are those that the test creates."""
    (directory := tmp_path / "cluster").mkdir()
    with fresh_cluster(directory) as cluster:
        yield cluster


@pytest.fixture
async def there(launcher: tuple[str, ...], whole_cluster: OwnCluster, tmp_path: Path) -> AsyncIterator[PageWorld]:
    """Its processes end with the test."""
    shutil.copytree(CHART, chart := tmp_path / "charts" / "hookrunner")
    # The test bed's API server does not know its own version.
    (chart / "Chart.yaml").write_text((chart / "Chart.yaml").read_text().replace("kubeVersion", "#"))
    async with Proxy(whole_cluster.access, tmp_path) as proxy:
        world = PageWorld(whole_cluster, proxy, tmp_path)
        yield world
        for pod in world.pods.values():
            pod.kill()
            print(pod.story())


@pytest.mark.parametrize("interrupted", [True, pytest.param(False, marks=pytest.mark.nightly)])
async def test_a_cluster_comes_up_from_nothing(there: PageWorld, interrupted: bool) -> None:
    there.cluster.create(NODES, node("control-plane-1", control_plane=True))
    there.write_files()
    await there.follow("Prepare")
    await there.follow("Install")
    hookrunner = await there.run("deployment/hookrunner", HOOKRUNNER)
    job = await run_job(there)

    if interrupted:
        await interrupt(there, hookrunner)
    while await job.ended():
        job.start()  # as a kubelet does
    await until(lambda: phase(there, "kubeproxies") == "Current", lambda: story_of_proxy(there), 150)
    await until(lambda: phase(there, "coredns") in ("InProgress", "Failed"), "CoreDNS waits for a Node")
    await there.follow("Addons")
    await until(lambda: is_ready(there), "hookrunner is ready")

    assert uninitialized(there) == ["control-plane-1"]
    manager = await there.run("daemonset/cloud-controller-manager", MANAGER)
    await until(lambda: uninitialized(there) == [], lambda: f"the Node is initialised\n{there.story()}")
    await there.follow("Nodes")

    make_ready(there, "control-plane-1")
    await there.follow("Network")
    await let_another_join(there)
    assert releases(there) == {
        "cloud-controller-manager.kube-system.default": "deployed",
        "coredns.kube-system.default": "deployed",
        "kube-proxy.kube-system.default": "deployed",
    }
    assert [await pod.end() for pod in (hookrunner, manager)] == [0, 0]
    assert [oops(pod.records()) for pod in (hookrunner, manager)] == [[], []]
    assert [record for record in hookrunner.records() if "forbidden" in str(record)] == []
    assert there.unfollowed() == set()


async def run_job(there: PageWorld) -> PodProcess:
    (job,) = there.items(JOBS)
    return await there.run("job/instances", f"{JOBS}/{job['metadata']['name']}")


async def interrupt(there: PageWorld, hookrunner: PodProcess) -> None:
    """Kill hookrunner while it installs, and start it again while Pods do not reach the API server."""
    await until(lambda: there.items(RECORDS), lambda: f"the first record\n{there.story()}")
    await there.proxy.refuse()
    there.proxy.cut()
    await hookrunner.end(SIGKILL)
    before = len(hookrunner.records())
    hookrunner.start()
    await until(
        lambda: "watch lost" in [record["msg"] for record in hookrunner.records()[before:]],
        lambda: f"hookrunner has noticed\n{there.story()}",
    )
    await there.proxy.accept()


def releases(there: PageWorld) -> dict[str, str]:
    """The state of each unit's newest revision."""
    labels = [record["metadata"]["labels"] for record in there.items(RECORDS)]
    return {own["name"]: own["status"] for own in sorted(labels, key=lambda own: int(own["version"]))}


def phase(there: PageWorld, plural: str) -> str:
    """Of the instance of this kind; empty if it has none yet."""
    return next((str(obj.get("status", {}).get("phase", "")) for obj in there.items(f"{INSTANCES}/{plural}")), "")


def story_of_proxy(there: PageWorld) -> str:
    """What KubeProxy and its DaemonSet report, with the ends of all logs."""
    daemons = there.cluster.request("GET", PROXY).body.get("status")
    return f"KubeProxy is Current: {there.items(f'{INSTANCES}/kubeproxies')}\n{daemons}\n{there.story()}"


def uninitialized(there: PageWorld) -> list[str]:
    """The Nodes that wait for their cloud controller manager."""
    return [
        obj["metadata"]["name"]
        for obj in there.items(NODES)
        if UNINITIALIZED in [taint["key"] for taint in obj["spec"].get("taints", [])]
    ]


def is_ready(there: PageWorld) -> bool:
    """Would the kubelet's probe succeed?"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{there.port}/readyz") as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


def make_ready(there: PageWorld, name: str) -> None:
    """The network of Pods has come to a Node."""
    there.cluster.request("PATCH", f"{NODES}/{name}", {"metadata": {"annotations": {NETWORK: "yes"}}})


async def let_another_join(there: PageWorld) -> None:
    """It needs nothing but its machine in the file."""
    there.cluster.create(NODES, node("worker-1"))
    make_ready(there, "worker-1")
    await until(lambda: "worker-1" in there.nodes_of(PROXY), "kube-proxy runs there")
    await until(lambda: uninitialized(there) == [], lambda: f"it is initialised\n{there.story()}")
    found = there.cluster.request("GET", f"{NODES}/worker-1").body
    assert found["spec"]["providerID"] == "inventory://worker-1"
    assert {"type": "InternalIP", "address": "10.0.0.12"} in found["status"]["addresses"]
