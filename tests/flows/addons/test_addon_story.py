"""What users of an addon go through, with stock kubectl and helm on a real control plane. Level: control plane."""

import asyncio
from pathlib import Path
from signal import SIGKILL

import yaml

from tests.flows.addons.cluster_world import ADDONS, GROUP, ClusterWorld
from tests.flows.addons.things_world import (
    DEFINITION,
    create,
    leave_and_return,
    left,
    maps,
    start_with_less,
    with_things,
)
from tests.instances.lives.places import OLD

DNS = f"{GROUP}/coredns/default"
UNIT = "coredns.kube-system.default"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
HEALTHY = {"phase": "Current", "healthy": True}
RENAMED = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "coredns", "namespace": "kube-system"},
    "spec": {"template": {"metadata": {"annotations": {"example.com/for": "names"}}}},
}
TAKING_OVER = RENAMED | {
    "spec": {
        "template": {
            "spec": {
                "serviceAccountName": "clusterrole-aggregation-controller",
                "hostPID": True,
                "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
                "containers": [{"name": "coredns", "image": "evil", "securityContext": {"privileged": True}}],
            }
        }
    }
}
NOWHERE = {"replicas": 1, "progressDeadlineSeconds": 5, "template": {"spec": {"nodeSelector": {"disk": "none"}}}}


async def template(there: ClusterWorld) -> tuple[str, str]:
    """Image of CoreDNS' Pods, and what a patch says that they are for."""
    pods = (await there.read(DEPLOYMENT))["spec"]["template"]
    annotations = pods["metadata"].get("annotations", {})
    return pods["spec"]["containers"][0]["image"].rpartition(":")[2], annotations.get("example.com/for", "")


async def test_coredns_comes_is_changed_fails_survives_and_goes(there: ClusterWorld) -> None:
    """Applied, patched, given a version that never becomes healthy, upgraded while hookrunner is killed, rolled back on
    request, given a patch without a match, deleted."""
    await there.world.start()
    await asyncio.to_thread(there.cluster.wait_for_definition, "coredns.addons.x-k8s.io")
    await there.apply(yaml.safe_load((ADDONS / "coredns/example.yaml").read_text()))
    await there.kubectl("wait", "--for=condition=Ready", "coredns/default", "-n", "kube-system", "--timeout=180s")
    name, *cells = (await there.kubectl("get", "cluster-addons", "-A")).splitlines()[1].split()[1:5]
    # kubectl puts the kind before the name if its copy of what is served, which may be old, has a second such kind.
    assert (name.rpartition("/")[2], cells) == ("default", ["1.14.6", "Current", "true"])

    await there.change(DNS, {"patches": [RENAMED]})
    await there.reaches(DNS, HEALTHY)
    assert await template(there) == ("v1.14.6", "names")

    await fail(there)
    await survive(there)
    await roll_back_on_request(there)
    await match_nothing(there)
    await take_nothing_over(there)

    (release,) = await there.helm("list")
    assert (release["name"], release["status"]) == (UNIT, "deployed")
    await there.kubectl("delete", "coredns", "default", "-n", "kube-system", "--timeout=180s")
    assert (await there.marked(UNIT), await there.world.releases(), await there.helm("list")) == ([], [], [])

    async def is_told() -> bool:
        events = (await there.read("/api/v1/namespaces/kube-system/events"))["items"]
        return "Deleting" in [event["reason"] for event in events]

    await there.until(is_told, True, "the Event")


async def fail(there: ClusterWorld) -> None:
    """Upgraded so that its Pods fit on no node, which goes back by itself."""
    nowhere = RENAMED | {"spec": NOWHERE}
    await there.change(DNS, {"version": "1.15.0", "rollbackOnFailure": True, "patches": [nowhere]})
    await there.reaches(DNS, {"phase": "RolledBack", "healthy": False, "version": "1.14.6"})
    assert await template(there) == ("v1.14.6", "names")

    async def are_ready() -> bool:
        return bool((await there.read(DEPLOYMENT))["status"].get("readyReplicas") == 1)

    await there.until(are_ready, True, "the Pods")


async def survive(there: ClusterWorld) -> None:
    """Upgraded, and killed when the objects are written and the record does not say so yet."""
    revision = (await there.status(DNS))["revision"]
    upgrade = f"{UNIT}.v{revision + 1}"
    there.proxy.stall(f"secrets/sh.helm.release.v1.{upgrade}")
    await there.world.ask("PATCH", DNS, {"spec": {"version": None, "channel": "next", "patches": [RENAMED]}})
    await there.proxy.seen(f"secrets/sh.helm.release.v1.{upgrade}")
    assert f"{upgrade} pending-upgrade" in await there.world.releases()
    await there.world.operator.stop(SIGKILL)
    there.proxy.resume()
    await there.world.start()
    await there.reaches(DNS, {**HEALTHY, "version": "1.15.0", "channel": "next"})
    assert await template(there) == ("v1.15.0", "names")


async def roll_back_on_request(there: ClusterWorld) -> None:
    """With the commands for a running hookrunner, which look at the same objects as kubectl."""
    explained = await there.ask("values", "coredns/default", "--explain")
    assert {"path": "/coredns/addon/version", "value": "1.15.0", "layer": "instance"} in explained
    offer = await there.ask("versions", "coredns")
    assert {entry["version"] for entry in offer["versions"]} >= {"1.14.6", "1.15.0"}
    (healthy,) = (await there.ask("list"))["instances"]
    await there.ask("rollback", "coredns/default", str(healthy["revision"] - 1))
    await there.reaches(DNS, {**HEALTHY, "version": "1.14.6", "revision": healthy["revision"] + 1})
    (pinned,) = (await there.ask("list"))["instances"]
    assert (pinned["version"], pinned["phase"], pinned["pinned"]) == ("1.14.6", "Current", True)


async def match_nothing(there: ClusterWorld) -> None:
    """Given a patch of an object that it does not have: nothing is written but the status."""
    before = (await there.read(DEPLOYMENT))["metadata"]["generation"], await there.world.releases()
    there.world.writes()
    await there.change(DNS, {"patches": [RENAMED | {"metadata": {"name": "other", "namespace": "kube-system"}}]})
    shown = await there.reaches(DNS, {"phase": "PatchFailed", "healthy": False, "version": "1.14.6"})
    assert "other" in shown["errors"][0]
    assert [line for line in there.world.writes() if "coredns/default/status" not in line] == []
    assert ((await there.read(DEPLOYMENT))["metadata"]["generation"], await there.world.releases()) == before


async def take_nothing_over(there: ClusterWorld) -> None:
    """Given a patch that would make a Pod of its author's root on a node, with an account that may grant all rights."""
    before = (await there.read(DEPLOYMENT))["metadata"]["generation"], await there.world.releases()
    await there.change(DNS, {"patches": [TAKING_OVER]})

    async def reason() -> str:
        conditions = (await there.status(DNS))["conditions"]
        return next(str(entry["reason"]) for entry in conditions if entry["type"] == "Ready")

    await there.until(reason, "NotAllowed", "the reason")
    shown = await there.reaches(DNS, {"phase": "PatchFailed", "healthy": False, "version": "1.14.6"})
    words = (
        "spec.template.spec.hostPID (access to the node)",
        "serviceAccountName",
        "`patches`",
        "--addon-patches all",
    )
    assert [word for word in words if word not in shown["errors"][0]] == []
    assert ((await there.read(DEPLOYMENT))["metadata"]["generation"], await there.world.releases()) == before


async def test_instances_go_with_what_they_belong_to(there: ClusterWorld, tmp_path: Path) -> None:
    """The garbage collector and what empties namespaces and definitions are real. A start that offers less than before
    deletes nothing."""
    things = with_things(there, tmp_path)
    places = ("n1", "n2", "n3", "n4")
    for place in places:
        await things.kubectl("create", "namespace", place)
    await things.world.start()
    await things.kubectl("wait", "--for=create", f"crd/{DEFINITION}", "--timeout=180s")
    await create(things, *places)

    orphan = ("delete", "thing", "x", "-n", "n1", "--cascade=orphan", "--timeout=180s")
    space = ("delete", "namespace", "n2", "--timeout=180s")
    others = asyncio.gather(things.kubectl(*orphan), things.kubectl(*space))  # half a minute, with nothing to do
    await things.kubectl("delete", "thing", "x", "-n", "n3", "--timeout=180s")
    await create(things, "n3")
    await others
    assert (await maps(things, "n1"), await left(things, ["n1", "n2"])) == (OLD, [])

    await things.world.stop()
    things.world.writes()
    await start_with_less(things)
    deleted = [line for line in things.world.writes() if line.startswith("DELETE")]
    assert (deleted, await maps(things, "n3"), await maps(things, "n4")) == ([], OLD, OLD)
    assert await things.world.releases() == ["thing.n3.x.v1 deployed", "thing.n4.x.v1 deployed"]

    await things.world.start()
    await create(things, "n3", "n4")
    things.world.writes()
    await leave_and_return(things)
    assert [line for line in things.world.writes() if "/things" in line or "/configmaps" in line] == []

    uid = (await things.kubectl("get", "crd", DEFINITION, "-o", "jsonpath={.metadata.uid}")).strip()
    await things.kubectl("delete", "crd", DEFINITION, "--timeout=180s")
    assert (await left(things, ["n3", "n4"]), await things.world.releases()) == ([], [])
    await things.kubectl("wait", "--for=create", f"crd/{DEFINITION}", "--timeout=180s")
    assert (await things.kubectl("get", "crd", DEFINITION, "-o", "jsonpath={.metadata.uid}")).strip() != uid
    await create(things, "n4")
    await things.kubectl("delete", "thing", "x", "-n", "n4", "--timeout=180s")
