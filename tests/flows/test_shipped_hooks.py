"""The hooks and webhooks that ship with the project, as a newcomer runs them, on a real API server and under exactly
the rights of `hookrunner rbac`: the webhooks as their README says to try them; then all hooks together, on the demo's
objects, changed by a real kubectl, and on the sandbox. What each does in detail: the test cases beside them.

Level: control plane.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import Cluster, OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.rights import log_in
from tests.flows.conftest import Start
from tests.flows.limited_rights import account_of, check_rights, find_rights
from tests.flows.operator import Operator
from tests.flows.waiting import until
from tests.flows.webhooks import Site

ROOT = Path(__file__).parents[2]
DEMO, WEBHOOKS = ROOT / "docs/demo.yaml", ROOT / "webhooks"
FINISHED = {
    "startTime": "2020-01-01T00:00:00Z",
    "completionTime": "2020-01-01T00:00:01Z",
    "succeeded": 1,
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": "2020-01-01T00:00:01Z"}
        for kind in ("SuccessCriteriaMet", "Complete")
    ],
}


CRONTAB = """
apiVersion: stable.hookrunner.io/v1alpha1
kind: CronTab
metadata: {name: backup}
spec: {cronSpec: "0 3 * * *", hostPort: "%s"}
"""


@pytest.fixture(scope="module")
def audited_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """For all of them: the webhooks leave no registration."""
    directory = tmp_path_factory.mktemp("audited-cluster")
    with ControlPlane(find_binaries(), directory, controllers=False, audited=True) as plane:
        yield OwnCluster(plane, directory)


def scripts_in(directory: Path) -> dict[str, str]:
    """The text of each hook."""
    return {file.name: file.read_text() for file in directory.iterdir() if file.suffix in (".py", ".sh")}


def shipped_hooks() -> dict[str, str]:
    """All hooks, those that run every minute made quicker."""
    return {name: text.replace('"* * * * *"', '"* * * * * *"') for name, text in scripts_in(ROOT / "hooks").items()}


@dataclass(frozen=True, slots=True)
class Registered:
    """The hooks of `program`, which the API server of `site` asks."""

    site: Site
    program: Operator

    async def restart(self, scripts: Mapping[str, str], url: str) -> None:
        """Start again with these hooks alone, reached at this host."""
        assert await self.program.stop() == 0
        for file in (self.program.directory / "hooks").iterdir():
            file.unlink()
        self.program.write_hooks(scripts)
        self.program.flags = tuple(flag.replace("https://127.0.0.1:", f"https://{url}:") for flag in self.program.flags)
        self.program.start()
        await self.program.ready()

    def configurations(self) -> list[Any]:
        """Those that are registered."""
        kinds = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
        paths = (f"/apis/admissionregistration.k8s.io/v1/{kind}/{self.site.name}" for kind in kinds)
        replies = [self.site.cluster.request("GET", path) for path in paths]
        return [reply.body for reply in replies if reply.status == HTTPStatus.OK]

    def conversion(self) -> str:
        """How CronTabs are converted."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.hookrunner.io"
        return str(self.site.cluster.request("GET", path).body["spec"]["conversion"]["strategy"])


@pytest.fixture
async def registered(audited_cluster: OwnCluster, operator: Start, tmp_path: Path) -> AsyncIterator[Registered]:
    """The hooks running, with the rights that they need and no others; the namespace has both labels, and the kind is
    defined."""
    site = Site(audited_cluster, "default")
    site.kubectl("apply", "-f", str(WEBHOOKS / "crontab-versions.yaml"))
    labels = ("hookrunner.io/image-policy=enforce", "hookrunner.io/pod-defaults=yes", "team=tea")
    site.kubectl("label", "namespace", "default", *labels)
    flags = {name.replace("-", "_"): text for name, text in (flag[2:].split("=") for flag in site.flags)}
    needed = await asyncio.to_thread(find_rights, hooks_dir=str(WEBHOOKS), **flags)
    account = await asyncio.to_thread(log_in, audited_cluster, tmp_path, account_of("webhooks", needed.all))
    program = await operator(scripts_in(WEBHOOKS), *site.flags, kubeconfig=account.kubeconfig)
    await until(lambda: _asks(site), "the API server asks")
    yield Registered(site, program)
    assert '"rights"' not in program.get("/readyz?output=json")[1], "no right is missing"
    check_rights(audited_cluster, account, needed.all)


def _asks(site: Site) -> bool:
    pods = "/api/v1/namespaces/default/pods?dryRun=All"
    images = ("nginx", "nginx:1.27")
    specs = [{"containers": [{"name": "probe", "image": image}]} for image in images]
    bodies = [site.cluster.request("POST", pods, {"metadata": {"name": "probe"}, "spec": spec}).body for spec in specs]
    return "denied the request" in bodies[0].get("message", "") and "team" in bodies[1]["metadata"].get("labels", {})


async def test_all_shipped_webhooks_live(registered: Registered) -> None:
    await images_need_a_version_and_pods_get_defaults(registered.site)
    await an_object_can_be_read_in_three_versions(registered.site)
    await another_host_is_registered(registered)
    await registrations_of_removed_hooks_are_removed(registered)


async def images_need_a_version_and_pods_get_defaults(site: Site) -> None:
    code, shown = await asyncio.to_thread(site.kubectl, "run", "web", "--image=nginx")
    assert (code, "denied the request: name a version of each image, not `latest`: web: nginx" in shown) == (1, True)
    code, shown = await asyncio.to_thread(site.kubectl, "run", "web", "--image=nginx:1.27")
    assert (code, "Warning: container web has no memory limit" in shown) == (0, True)
    query = "jsonpath={.metadata.labels.team} {.spec.containers[0].resources.requests.cpu}"
    assert (await asyncio.to_thread(site.kubectl, "get", "pod", "web", "-o", query))[1] == "tea 100m"


async def an_object_can_be_read_in_three_versions(site: Site) -> None:
    def created() -> bool:
        return site.kubectl("apply", "-f", "-", text=CRONTAB % "db:5432")[0] == 0

    await until(created, "the conversion is registered")
    for version, query, address in [
        ("v1", "{.spec.address.host} {.spec.address.port}", "db 5432"),
        ("v1beta1", "{.spec.host} {.spec.port}", "db 5432"),
        ("v1alpha1", "{.spec.hostPort}", "db:5432"),
    ]:
        kind = f"crontabs.{version}.stable.hookrunner.io"
        assert site.kubectl("get", kind, "backup", "-o", f"jsonpath={query}")[1] == address
    code, shown = site.kubectl("apply", "-f", "-", text=CRONTAB % "db")
    assert (code, "CronTab backup: spec.hostPort must be HOST:PORT" in shown) == (1, True)


async def another_host_is_registered(registered: Registered) -> None:
    """The certificate is for the new host, too."""
    await registered.restart(scripts_in(WEBHOOKS), "localhost")
    hooks = [hook for obj in registered.configurations() for hook in obj["webhooks"]]
    assert ["https://localhost:" in hook["clientConfig"]["url"] for hook in hooks] == [True, True]
    run = ("run", "db", "--image=db", "--dry-run=server")
    await until(lambda: "denied the request" in registered.site.kubectl(*run)[1], "the API server asks there")


async def registrations_of_removed_hooks_are_removed(registered: Registered) -> None:
    assert registered.conversion() == "Webhook"
    await registered.restart({}, "localhost")
    await until(lambda: (registered.configurations(), registered.conversion()) == ([], "None"), "the removal")


@pytest.fixture
async def running(
    operator: Start, audited_cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Operator, Cluster]]:
    """The shipped hooks on the demo's objects, with the rights that they need and no others."""
    monkeypatch.setenv("PENDING_PODS_MINUTES", "0")
    rights = (await asyncio.to_thread(find_rights, hooks_dir=str(ROOT / "hooks"))).all
    account = await asyncio.to_thread(log_in, audited_cluster, tmp_path, account_of("hooks", rights))
    await asyncio.to_thread(audited_cluster.kubectl, "apply", "-f", str(DEMO))
    program = await operator(shipped_hooks(), kubeconfig=account.kubeconfig)
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
    program.write_hooks(shipped_hooks())
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
