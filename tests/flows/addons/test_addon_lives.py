"""The same life for each shipped addon on a real control plane: installed, changed, robbed of its workloads, upgraded,
downgraded, deleted, installed again. Its images never run, since the node is a fake one; what they would answer is
missing.

Level: control plane."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.model.rights import merge
from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in, rights_in
from tests.fakes.chart import render_rights
from tests.flows.addons.cluster_world import ADDONS, GROUP, MARKED, ClusterWorld
from tests.flows.limited_rights import check_rights, find_rights
from tests.flows.taken.release_lives import APIS, TAMPERED, WORKLOADS, ReleaseObjects

HEALTHY = {"phase": "Current", "healthy": True}
FILE = Path(__file__).with_name("lives.yaml")
DNS_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {selector: {k8s-app: none}, ports: [{name: dns, port: 53, protocol: UDP}]}
"""


@dataclass(frozen=True, slots=True)
class Life:
    """An addon's spec and what it is changed by; the object that has `shows` then; its versions by default and after
    the upgrade; the status that it gets here, and what the reason names. The addon fills the Secret `filled` itself,
    once. `namespace` is that of its objects. `reasons` say why a right is not used here: a key is one verb or several,
    and what they are for."""

    addon: str
    plural: str
    versions: Sequence[str]
    change: JSON
    seen_in: str
    shows: str
    spec: JSON = field(default_factory=dict)
    status: JSON = field(default_factory=HEALTHY.copy)
    obstacle: str = ""
    filled: str = ""
    namespace: str = "kube-system"
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def unused(self) -> dict[str, str]:
        """The reasons, by a verb and what it is for."""
        parts = [(key.partition(" "), reason) for key, reason in self.reasons.items()]
        return {f"{verb} {rest}": reason for (verbs, _, rest), reason in parts for verb in verbs.split(",")}

    @property
    def surveyed(self) -> str:
        """The namespace, if the addon makes it itself."""
        return self.namespace if self.namespace != "kube-system" else ""


LIVES = [Life(addon, **row) for addon, row in yaml.safe_load(FILE.read_text()).items()]


@pytest.fixture(params=LIVES, ids=lambda life: str(life.addon))
def life(request: pytest.FixtureRequest) -> Life:
    """One addon's."""
    found: Life = request.param
    return found


@pytest.fixture
async def limited(
    there: ClusterWorld, whole_cluster: OwnCluster, life: Life, tmp_path: Path
) -> AsyncIterator[ClusterWorld]:
    """Hookrunner with exactly the rights that the chart gives for this addon."""
    objects = render_rights(f"life-{life.addon}", "--set", f"addons.enabled=true,addons.names={{{life.addon}}}")
    account = log_in(whole_cluster, tmp_path, objects)
    there.world.operator.kubeconfig = there.proxy.kubeconfig_with(account.token)
    yield there
    assert '"rights"' not in there.world.operator.get("/readyz?output=json")[1], "no right is missing"
    untested = tmp_path / "untested"  # test_addon_rights.py runs the cases of hooks, and compares with the chart
    shutil.copytree(ADDONS, untested, ignore=shutil.ignore_patterns("*.test.yaml"))
    explained = await asyncio.to_thread(find_rights, addons_dir=str(untested), addons=life.addon)
    granted = merge((*rights_in(objects), *explained.all))
    check_rights(whole_cluster, account, granted, life.unused, life.surveyed)


async def test_addon_lives(limited: ClusterWorld, life: Life) -> None:
    there = limited
    path, unit = f"{GROUP}/{life.plural}/default", f"{life.addon}.kube-system.default"
    mine = f"/api/v1/namespaces/{life.namespace}/configmaps/mine"
    before, after = life.versions
    there.world.operator.flags += (f"--addons={life.addon}",)
    await there.world.start()
    if life.addon == "nodelocaldns":
        await there.world.ask("POST", "/api/v1/namespaces/kube-system/services", yaml.safe_load(DNS_SERVICE))
    await there.install(life.addon, path, life.spec)
    await there.reaches(path, {**life.status, "version": before})
    await there.until(lambda: is_named(there, path, life.obstacle), True, life.obstacle)
    key = await filled_data(there, life)

    await there.change(path, life.change)
    await there.reaches(path, {**life.status, "version": before})
    await there.until(lambda: is_shown(there, life), True, life.shows)

    await tamper(there, ReleaseObjects(there.cluster, unit, MARKED))
    await there.reaches(path, life.status)

    await there.change(path, {"version": after})
    await there.reaches(path, {**life.status, "version": after})
    await there.change(path, {"version": None})
    await there.reaches(path, {**life.status, "version": before})
    assert await filled_data(there, life) == key

    if life.surveyed:
        await there.world.ask("POST", mine.rpartition("/")[0], {"metadata": {"name": "mine"}})
    await there.kubectl("delete", life.plural, "default", "-n", "kube-system", "--timeout=180s")
    assert (await there.marked(unit), await there.world.releases()) == ([], [])
    if life.surveyed:  # others use it
        assert await there.read(mine)
        await there.until(lambda: is_kept(there, life.namespace), True, "the Event Kept")
    await there.install(life.addon, path, life.spec)
    await there.reaches(path, {**life.status, "version": before})
    await there.kubectl("delete", life.plural, "default", "-n", "kube-system", "--timeout=180s")


async def filled_data(there: ClusterWorld, life: Life) -> Any:
    """The data of the Secret that the addon fills itself, as soon as there is any; empty without such a Secret."""
    path = f"/api/v1/namespaces/{life.namespace}/secrets/{life.filled}"

    async def data() -> Any:
        return (await there.read(path)).get("data")

    async def is_filled() -> bool:
        return bool(await data())

    if not life.filled:
        return None
    await there.until(is_filled, True, life.filled)
    return await data()


async def is_kept(there: ClusterWorld, name: str) -> bool:
    """Does an Event say that this has stayed?"""
    events = (await there.read("/api/v1/namespaces/kube-system/events"))["items"]
    return any(event["reason"] == "Kept" and name in event["message"] for event in events)


async def is_named(there: ClusterWorld, path: str, obstacle: str) -> bool:
    """Do the errors of an instance name this?"""
    return obstacle in " ".join((await there.status(path))["errors"])


async def is_shown(there: ClusterWorld, life: Life) -> bool:
    """Does the object show the change?"""
    plural, name = life.seen_in.split("/")
    place = f"/namespaces/{life.namespace}" * (plural != "validatingwebhookconfigurations")
    obj = await there.read(f"{APIS.get(plural, '/api/v1')}{place}/{plural}/{name}")
    return life.shows in json.dumps([obj.get(key) for key in ("spec", "data", "webhooks")], separators=(",", ":"))


async def tamper(there: ClusterWorld, objects: ReleaseObjects) -> None:
    """Delete the workloads and change a label of everything else, then one of the new workloads, and wait each time
    until all is repaired."""
    step = objects.tamper()

    async def is_done() -> bool:
        return await asyncio.to_thread(step.is_done)

    await asyncio.to_thread(step.ask)
    await there.until(is_done, True, step.what)
    for path, obj in objects.read_all().items():
        if obj["kind"] in WORKLOADS:
            await there.world.ask("PATCH", path, {"metadata": {"labels": {TAMPERED: "mine"}}})
    await there.until(is_done, True, "the labels of workloads")
