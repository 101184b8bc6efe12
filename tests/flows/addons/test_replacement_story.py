"""Canal takes the place of Calico on a real control plane, is called off, killed on the way, and goes again: what both
have, the objects of users and the accounts of running Pods survive all of it. Level: control plane."""

from signal import SIGKILL
from typing import Any

import yaml

from hookrunner.model.addons import REPLACES
from kubetypes.json_values import JSON
from tests.flows.addons.cluster_world import ADDONS, GROUP, ClusterWorld

CALICO, CANAL = f"{GROUP}/calicos/default", f"{GROUP}/canals/default"
SPEC: JSON = {"apiServer": {"host": "192.0.2.1"}}
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/calico-kube-controllers"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/calico-kube-controllers"
POOL = "/apis/crd.projectcalico.org/v1/ippools/mine"
NOWHERE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "calico-kube-controllers", "namespace": "kube-system"},
    "spec": {"template": {"spec": {"nodeSelector": {"disk": "none"}}}},
}
NODES = "daemonsets/calico-node"
"""What is deleted first of Calico."""


async def test_one_network_takes_the_place_of_another_and_back(there: ClusterWorld) -> None:
    await there.world.start()
    await there.install("calico", CALICO, SPEC)
    await reaches(there, CALICO, "Current")
    await there.kubectl("apply", "-f", "-", text=yaml.safe_dump(pool()))
    lasting = await uids(there)

    await attempt(there)
    assert await uids(there) == lasting
    await succeed(there)
    assert await uids(there) == lasting
    assert await there.marked("calico.kube-system.default") == []

    await annotate(there, CANAL, None)
    await annotate(there, CALICO, "canal/default")
    await reaches(there, CALICO, "Current")
    await reaches(there, CANAL, "Replaced")
    assert await uids(there) == lasting
    await there.until(lambda: names(there, CALICO, "flannel.1"), True, "the condition")
    there.world.writes()
    await annotate(there, CALICO, None)
    await there.until(lambda: nodes_clean(there, CALICO), "", "the condition")
    assert {line.rpartition("/")[2] for line in there.world.writes()} == {"status"}


async def attempt(there: ClusterWorld) -> None:
    """Canal has a Pod that fits on no node, so that it is called off."""
    example = yaml.safe_load((ADDONS / "canal/example.yaml").read_text())
    metadata = example["metadata"] | {"annotations": {REPLACES: "calico/default"}}
    await there.apply(example | {"metadata": metadata, "spec": SPEC | {"patches": [NOWHERE]}})
    await reaches(there, CANAL, "ObjectsNotReady")
    assert (await there.status(CALICO))["version"]
    await annotate(there, CANAL, None)
    await reaches(there, CANAL, "Exclusive")
    await there.until(lambda: selector(there), None, "the Deployment of Calico")
    await there.until(lambda: there.marked("canal.kube-system.default"), [], "what Canal had installed")
    await reaches(there, CALICO, "Current")


async def succeed(there: ClusterWorld) -> None:
    """Canal becomes Current, and hookrunner is killed when it begins to remove Calico."""
    there.proxy.stall(NODES)
    await there.world.ask("PATCH", CANAL, {"spec": {"patches": None}})
    await annotate(there, CANAL, "calico/default")
    await there.until(lambda: is_leaving(there), True, "the record of Calico")
    await reaches(there, CANAL, "Current")
    await there.world.operator.stop(SIGKILL)
    there.proxy.resume()
    await there.world.start()
    await reaches(there, CALICO, "Replaced")
    await reaches(there, CANAL, "Current")
    await there.until(lambda: names(there, CANAL, "vxlan.calico"), True, "the condition")


async def is_leaving(there: ClusterWorld) -> bool:
    return "calico.kube-system.default.v1 uninstalling" in await there.world.releases()


async def annotate(there: ClusterWorld, path: str, replaces: str | None) -> None:
    await there.world.ask("PATCH", path, {"metadata": {"annotations": {REPLACES: replaces}}})


async def reaches(there: ClusterWorld, path: str, wanted: str) -> None:
    await there.until(lambda: reason(there, path), wanted, path)


async def reason(there: ClusterWorld, path: str) -> str:
    return (await conditions(there, path)).get("Ready", {}).get("reason", "")


async def nodes_clean(there: ClusterWorld, path: str) -> str:
    return (await conditions(there, path)).get("NodesClean", {}).get("message", "")


async def names(there: ClusterWorld, path: str, interface: str) -> bool:
    """Does the condition name what may be left on Nodes?"""
    return interface in await nodes_clean(there, path)


async def conditions(there: ClusterWorld, path: str) -> dict[str, dict[str, str]]:
    """Those of an instance, by their types."""
    return {entry["type"]: entry for entry in (await there.status(path)).get("conditions") or ()}


async def selector(there: ClusterWorld) -> Any:
    """On which nodes the Deployment may run beside those of the package."""
    return (await there.read(DEPLOYMENT))["spec"]["template"]["spec"]["nodeSelector"].get("disk")


async def uids(there: ClusterWorld) -> list[str]:
    """A ServiceAccount that both have, and an object of a user."""
    return [(await there.read(path))["metadata"]["uid"] for path in (ACCOUNT, POOL)]


def pool() -> JSON:
    head = {"apiVersion": "crd.projectcalico.org/v1", "kind": "IPPool", "metadata": {"name": "mine"}}
    return head | {"spec": {"cidr": "192.0.2.0/24"}}
