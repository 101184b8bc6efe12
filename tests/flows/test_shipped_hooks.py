"""The hooks that ship with the project, as a newcomer runs them: all of them together, on the demo's objects, changed
by a real kubectl; on a real API server, under exactly the rights of `hookrunner rbac`, and on the sandbox. What each
does in detail: the test cases beside the hooks.

Level: control plane.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster, OwnCluster
from tests.controlplane.rights import log_in
from tests.flows.conftest import Start
from tests.flows.limited_rights import account_of, check_rights, find_rights
from tests.flows.operator import Operator
from tests.flows.waiting import until

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "docs/demo.yaml"
FINISHED = {
    "startTime": "2020-01-01T00:00:00Z",
    "completionTime": "2020-01-01T00:00:01Z",
    "succeeded": 1,
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": "2020-01-01T00:00:01Z"}
        for kind in ("SuccessCriteriaMet", "Complete")
    ],
}


def shipped() -> dict[str, str]:
    """All hooks, those that run every minute made quicker."""
    files = [file for file in (ROOT / "hooks").iterdir() if file.suffix in (".py", ".sh")]
    return {file.name: file.read_text().replace('"* * * * *"', '"* * * * * *"') for file in files}


@pytest.fixture
async def running(
    operator: Start, audited_cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Operator, Cluster]]:
    """The shipped hooks on the demo's objects, with the rights that they need and no others."""
    monkeypatch.setenv("PENDING_PODS_MINUTES", "0")
    rights = (await asyncio.to_thread(find_rights, hooks_dir=str(ROOT / "hooks"))).all
    account = await asyncio.to_thread(log_in, audited_cluster, tmp_path, account_of("hooks", rights))
    await asyncio.to_thread(audited_cluster.kubectl, "apply", "-f", str(DEMO))
    program = await operator(shipped(), kubeconfig=account.kubeconfig)
    yield program, audited_cluster
    assert '"rights"' not in program.get("/readyz?output=json")[1], "no right is missing"
    check_rights(audited_cluster, account, rights)


def get(cluster: Cluster, path: str) -> Any:
    """An object of namespaces, or a list of them; empty if it does not exist."""
    reply = cluster.request("GET", f"/api/v1/namespaces/{path}")
    return reply.body if reply.status == HTTPStatus.OK else {}


def is_copied(cluster: Cluster, namespace: str) -> bool:
    """Is the Secret there, with the one annotation of a copy?"""
    copy = get(cluster, f"{namespace}/secrets/registry")
    return bool(copy) and [*copy["metadata"]["annotations"]] == ["hookrunner.io/copy-of"]


def labels(cluster: Cluster, namespace: str) -> tuple[str, ...]:
    """Those that hooks give a namespace."""
    given = get(cluster, namespace)["metadata"]["labels"]
    return given.get("team", ""), given.get("pod-security.kubernetes.io/warn", "")


async def test_all_shipped_hooks_work_together(running: tuple[Operator, Cluster]) -> None:
    program, cluster = running
    await until(lambda: is_copied(cluster, "blog"), "the copy of the Secret")
    await asyncio.to_thread(cluster.kubectl, "create", "namespace", "party")
    await until(lambda: labels(cluster, "party") == ("unassigned", "baseline"), "the labels of a new namespace")
    for defaults in ("limitranges", "resourcequotas"):
        await until(lambda kind=defaults: get(cluster, f"party/{kind}/defaults"), defaults)  # type: ignore[misc]
    await until(lambda: is_copied(cluster, "party"), "the copy of the Secret in a new namespace")
    await program.wait_log("shop/web will be restarted when ConfigMap/greeting changes")
    await asyncio.to_thread(cluster.kubectl, "-n", "shop", "patch", "configmap", "greeting", "-p", '{"data":{"a":"b"}}')
    await program.wait_log("shop/web is restarted: ConfigMap/greeting has changed")
    web = "/apis/apps/v1/namespaces/shop/deployments/web"
    await until(lambda: "runs-with" in str(cluster.request("GET", web).body["spec"]["template"]), "a restart")
    await until(lambda: program.hook_metric("pods_pending_seconds", pod="picky") > 0, "the metric")
    await a_finished_job_is_deleted(cluster)
    await copies_of_a_secret_follow_it_and_are_deleted_with_it(cluster)


async def a_finished_job_is_deleted(cluster: Cluster) -> None:
    patch = json.dumps({"status": FINISHED})
    arguments = ("-n", "shop", "patch", "job", "import", "--subresource=status", "--type=merge", "-p", patch)
    await asyncio.to_thread(cluster.kubectl, *arguments)
    job = "/apis/batch/v1/namespaces/shop/jobs/import"
    await until(lambda: cluster.request("GET", job).status == HTTPStatus.NOT_FOUND, "the deletion of the Job")


async def copies_of_a_secret_follow_it_and_are_deleted_with_it(cluster: Cluster) -> None:
    patch = json.dumps({"data": {"more": "Zm9v"}})
    await asyncio.to_thread(cluster.kubectl, "patch", "secret", "registry", "-p", patch)
    await until(lambda: get(cluster, "blog/secrets/registry")["data"].get("more") == "Zm9v", "the change in the copy")
    assert [secret["metadata"]["name"] for secret in get(cluster, "shop/secrets")["items"]] == ["registry"]
    await asyncio.to_thread(cluster.kubectl, "delete", "secret", "registry")
    await until(lambda: not get(cluster, "shop/secrets")["items"], "the deletion of the copies")


async def test_the_demo_runs_on_the_sandbox(tmp_path: Path) -> None:
    """Its manifests are seeds; the Job has finished long ago, which only a sandbox can be told."""
    program = Operator(
        tmp_path, tmp_path / "none", ("--sandbox", f"--seed={DEMO}", f"--sandbox-kubeconfig={tmp_path}/k")
    )
    program.write_hooks(shipped())
    program.start()
    try:
        await until(lambda: {record["msg"] for record in program.logs()} >= SAID, f"{SAID} in the log")
        assert await program.stop() == 0
    finally:
        program.kill()


SAID = {
    "default/registry is copied to blog, shop",
    "shop/web will be restarted when ConfigMap/greeting changes",
    "shop/import is deleted: it finished long ago",
}
