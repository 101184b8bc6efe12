"""A cluster that runs the module coredns of 0.2.0 gets a hookrunner without it: nothing is purged, what to do is
reported, and the addon takes the objects over without creating one again. docs/retired-modules.md has the steps.

Level: control plane."""

import asyncio
import json
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.flows.addons.cluster_world import GROUP, ClusterWorld
from tests.flows.addons.test_addon_adoption import rollouts
from tests.flows.modules.hooks import configmap

DNS = f"{GROUP}/coredns/default"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
MANIFEST = Path(__file__).with_name("coredns_module.yaml").read_text()
CHART = """\
apiVersion: v2
name: coredns
description: Names of Services and Pods, for everything that runs in the cluster
type: application
version: 1.0.0
appVersion: 1.14.6
home: https://coredns.io
"""
OBJECTS = (
    *("poddisruptionbudget/coredns", "serviceaccount/coredns", "configmap/coredns", "service/kube-dns"),
    *("clusterrole/system:coredns", "clusterrolebinding/system:coredns", "deployment/coredns"),
)
PAGE = (Path(__file__).parents[3] / "docs" / "retired-modules.md").read_text()


async def test_module_that_no_longer_ships_is_handed_over_to_its_addon(there: ClusterWorld) -> None:
    there.world.operator.flags += ("--addons=coredns",)
    await install_old_modules(there)
    before, address = await uids(there), (await there.shown("service/kube-dns"))["spec"]["clusterIP"]
    corefile = (await there.shown("configmap/coredns"))["data"]["Corefile"]

    for name in ("020-coredns", "030-metrics-server"):
        there.world.without(f"modules/{name}")
    await there.world.again()
    await there.until(there.world.releases, ["a.v1 deployed", "coredns.v1 deployed"], "the purge of a user's module")
    assert await uids(there) == before
    command = await read_advice(there)

    await there.kubectl(*command.split())
    fewest = asyncio.create_task(count_fewest_ready(there))
    await there.install("coredns", DNS, {"adopt": True})
    await there.reaches(DNS, {"phase": "Current", "healthy": True, "errors": []})
    assert await uids(there) == before, "no object is deleted or created again"
    assert (await there.shown("service/kube-dns"))["spec"]["clusterIP"] == address
    spec = (await there.read(DNS))["spec"]
    assert (spec.get("corefile", ""), spec["replicas"]) == ("", 2), "a default is not copied"
    assert (await there.shown("configmap/coredns"))["data"]["Corefile"].split() == corefile.split()
    assert (await rollouts(there))["coredns"] == 2, "the Pods were replaced once"
    assert await fewest >= 1, "one after the other"
    assert await there.world.releases() == ["a.v1 deployed", "coredns.kube-system.default.v1 deployed"]


async def install_old_modules(there: ClusterWorld) -> None:
    """The module coredns of 0.2.0, a module of a user's own that has the name of another one that shipped, and one
    that stays."""
    first = (await there.read("/api/v1/namespaces/default/services/kubernetes"))["spec"]["clusterIP"]
    manifest = MANIFEST.replace("@ADDRESS@", str(ip_address(first) + 9))
    there.world.module("010-a", {"templates/map.yaml": configmap("a")})
    there.world.module("020-coredns", {"Chart.yaml": CHART, "templates/all.yaml": manifest})
    there.world.module("030-metrics-server", {"templates/map.yaml": configmap("metrics")})
    await there.world.configure(aEnabled="true", corednsEnabled="true", metricsServerEnabled="true")
    await there.world.start()
    await there.until(lambda: count_ready(there), 2, "Pods of CoreDNS")


async def read_advice(there: ClusterWorld) -> str:
    """The words of the command of kubectl that `/readyz`, the log, an Event and the page have."""
    record = await there.world.operator.wait_log("module that no longer ships is left alone")
    await there.until(lambda: reads_event(there, record["hint"]), True, "an Event with that advice")
    _, ready = await asyncio.to_thread(there.world.operator.get, "/readyz?output=json")
    (purge,) = [each["message"] for each in json.loads(ready)["conditions"] if each["name"] == "purge"]
    assert purge == f"purged: metrics-server; {record['hint']}"
    command = re.search(r"kubectl (delete secret,configmap -n default -l owner=helm,name=coredns)", record["hint"])
    assert command
    assert command[0] in PAGE
    return command[1]


async def reads_event(there: ClusterWorld, advice: str) -> bool:
    events = (await there.read("/api/v1/namespaces/default/events"))["items"]
    return any(event["reason"] == "ModuleRetired" and advice in event["message"] for event in events)


async def count_ready(there: ClusterWorld, counted: str = "readyReplicas") -> int:
    return int((await there.read(DEPLOYMENT))["status"].get(counted, 0))


async def count_fewest_ready(there: ClusterWorld) -> int:
    """The fewest Pods of CoreDNS that were ready, until all are of its second template."""
    counts: list[int] = []

    async def are_replaced() -> bool:
        counts.append(await count_ready(there))
        return (await rollouts(there))["coredns"] >= 2 and await count_ready(there, "updatedReplicas") >= 2

    await there.until(are_replaced, True, "Pods of the second template")
    return min(counts)


async def uids(there: ClusterWorld) -> dict[str, Any]:
    """Of all objects that the module has installed."""
    items = (await there.shown(*OBJECTS))["items"]
    return {f"{entry['kind']} {entry['metadata']['name']}": entry["metadata"]["uid"] for entry in items}
