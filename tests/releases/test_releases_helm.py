"""The stock helm and we have the same releases: each reads, continues and undoes what the other has done.

Level: control plane."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from hookrunner.kube.client import Client
from hookrunner.releases.records.record import RevisionStatus
from hookrunner.releases.records.record_storage import Driver
from tests.controlplane.cluster import Cluster
from tests.fakes.deaths import Died, MortalClient
from tests.fakes.objects import deployment
from tests.kube.real import credentials_of
from tests.releases.wants import configmap, hook, wanted
from tests.releases.world import started

A, B = configmap("a", x="1"), configmap("b", x="1")
AGAIN = configmap("a", x="2")


class Helm:
    """The program, in one namespace."""

    def __init__(self, program: Path, cluster: Cluster, namespace: str, driver: Driver = "secret") -> None:
        self.program, self.namespace = program, namespace
        self.environ = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "HELM_DRIVER": driver}

    async def __call__(self, *words: str | Path) -> str:
        command = [self.program, "-n", self.namespace, *words]
        done = await asyncio.to_thread(
            subprocess.run, command, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def json(self, *words: str) -> Any:
        return orjson.loads(await self(*words, "-o", "json"))


@pytest.fixture
def stock(helm: Path, cluster: Cluster, namespace: str) -> Helm:
    return Helm(helm, cluster, namespace)


@pytest.fixture
def chart(tmp_path: Path) -> Callable[..., Path]:
    """A chart of these objects."""

    def chart(*objects: Any) -> Path:
        (tmp_path / "templates").mkdir(exist_ok=True)
        (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.2.0\n")
        (tmp_path / "templates" / "all.yaml").write_text(yaml.safe_dump_all(objects))
        return tmp_path

    return chart


async def data(client: Client, namespace: str) -> dict[str, str]:
    items = (await client.get(f"/api/v1/namespaces/{namespace}/configmaps"))["items"]
    return {one["metadata"]["name"]: one["data"]["x"] for one in items if "x" in one.get("data", {})}


@pytest.mark.parametrize("driver", ["secret", "configmap"])
async def test_helm_reads_what_we_have_written(
    real: Client, helm: Path, cluster: Cluster, namespace: str, driver: Driver
) -> None:
    releases, stock = started(real, driver=driver), Helm(helm, cluster, namespace, driver)
    await releases.reconcile(wanted("d1", A, hooks=(hook("h", "post-install", x="hook"),), namespace=namespace))
    last = wanted("d2", AGAIN, B, namespace=namespace)
    await releases.reconcile(last)
    (listed,) = await stock.json("list")
    assert (listed["name"], listed["revision"], listed["status"]) == ("demo", "2", "deployed")
    assert (listed["chart"], listed["app_version"]) == ("demo-0.2.0", "")
    assert (await stock.json("status", "demo"))["info"]["description"] == "Upgrade complete"
    assert (await stock("get", "manifest", "demo")).strip() == last.rendered.manifest.strip()
    assert await stock.json("get", "values", "demo") == last.values
    assert "helm.sh/hook: post-install" in await stock("get", "hooks", "demo", "--revision", "1")
    history = [(one["revision"], one["status"], one["description"]) for one in await stock.json("history", "demo")]
    assert history == [(1, "superseded", "Install complete"), (2, "deployed", "Upgrade complete")]


async def test_helm_rolls_back_and_we_converge_once(real: Client, stock: Helm, namespace: str) -> None:
    releases = started(real)
    await releases.reconcile(wanted("d1", A, namespace=namespace))
    await releases.reconcile(wanted("d2", AGAIN, B, namespace=namespace))
    async with aclosing(releases.watch_changes(namespace)) as changes:
        await stock("rollback", "demo", "1")
        assert await asyncio.wait_for(anext(changes), 60) == "demo"
    assert await data(real, namespace) == {"a": "1"}
    head = (await started(real).list_heads(namespace))["demo"]
    assert (head.revision, head.status, head.digest, head.owned) == (3, "deployed", "", True)
    assert (await releases.reconcile(wanted("d2", AGAIN, B, namespace=namespace))).head.revision == 4
    assert await data(real, namespace) == {"a": "2", "b": "1"}
    assert (await releases.reconcile(wanted("d2", AGAIN, B, namespace=namespace))).head.revision == 4
    assert [one["status"] for one in await stock.json("history", "demo")] == ["superseded"] * 3 + ["deployed"]


async def test_helm_upgrades_and_uninstalls_what_we_have_installed(
    real: Client, stock: Helm, chart: Callable[..., Path], namespace: str
) -> None:
    await started(real).reconcile(wanted("d1", A, B, namespace=namespace))
    await stock("upgrade", "demo", chart(AGAIN))
    assert await data(real, namespace) == {"a": "2"}
    await stock("uninstall", "demo")
    assert await data(real, namespace) == {}
    assert await started(real).list_heads(namespace) == {}


async def test_a_release_of_helm_is_taken_over_without_touching_pods(
    real: Client, stock: Helm, chart: Callable[..., Path], namespace: str
) -> None:
    """Of Helm 3, which applied on the client's side: what the first upgrade drops goes, too."""
    before = chart(configmap("a", x="1", dropped="1"), deployment("web"))
    await stock("install", "demo", before, "--server-side=false", "--wait", "--timeout", "60s")
    path = f"/api/v1/namespaces/{namespace}/pods"
    (pod,) = (await real.get(path))["items"]
    web = deployment("web")
    web["metadata"]["labels"] = {"heritage": "addon-operator"}
    settled = await started(real).reconcile(wanted("d1", AGAIN, web, namespace=namespace, wait=True, timeout=60))
    assert (settled.head.revision, settled.head.owned, settled.changed) == (2, True, 2)
    assert [one["metadata"]["uid"] for one in (await real.get(path))["items"]] == [pod["metadata"]["uid"]]
    (found,) = (await real.get(f"/apis/apps/v1/namespaces/{namespace}/deployments"))["items"]
    assert found["metadata"]["generation"] == 1
    assert (await real.get(f"/api/v1/namespaces/{namespace}/configmaps/a"))["data"] == {"x": "2"}
    assert [one["status"] for one in await stock.json("history", "demo")] == ["superseded", "deployed"]
    await started(real).removal.uninstall("demo", namespace)
    assert await stock.json("list") == []


async def test_helm_shows_a_failed_and_rolled_back_release(real: Client, stock: Helm, namespace: str) -> None:
    await started(real).reconcile(wanted("d1", A, namespace=namespace))
    bad = configmap("bad") | {"data": 3}
    with pytest.raises(Exception, match="rolled back to revision 1"):
        await started(real).reconcile(wanted("d2", bad, namespace=namespace, rollback_on_failure=True))
    (first, second, third) = await stock.json("history", "demo")
    assert (first["status"], second["status"], third["description"]) == ("superseded", "failed", "Rollback to 1")
    assert 'Upgrade "demo" failed: 1 of 1 objects could not be' in second["description"]


async def test_helm_reads_the_history_of_a_killed_process(
    real: Client, cluster: Cluster, stock: Helm, namespace: str
) -> None:
    credentials = credentials_of(cluster.kubeconfig)
    await started(real).reconcile(wanted("d1", A, B, namespace=namespace))
    seen = set()
    for writes in range(1, 4):
        async with MortalClient(credentials, writes) as mortal:
            with pytest.raises(Died):
                await started(mortal).reconcile(
                    wanted(f"d{writes}x", configmap("a", x=f"{writes}"), namespace=namespace)
                )
        seen |= {one["status"] for one in await stock.json("history", "demo")}
    settled = await started(real).reconcile(wanted("d9", A, namespace=namespace))
    assert seen >= {RevisionStatus.DEPLOYED, RevisionStatus.PENDING_UPGRADE}
    statuses = [one["status"] for one in await stock.json("history", "demo")]
    assert (statuses[-1], len(statuses)) == (RevisionStatus.DEPLOYED, settled.head.revision)
