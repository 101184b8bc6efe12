"""The hooks in webhooks/, asked by a real API server, as their README says to try them: installed, changed, removed,
under exactly the rights of `hookrunner rbac`.

Level: control plane."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in
from tests.flows.conftest import Start
from tests.flows.limited_rights import account_of, check_rights, find_rights
from tests.flows.operator import Operator
from tests.flows.waiting import until
from tests.flows.webhooks import Site

HOOKS = Path(__file__).parents[2] / "webhooks"
CRONTAB = """
apiVersion: stable.hookrunner.io/v1alpha1
kind: CronTab
metadata: {name: backup}
spec: {cronSpec: "0 3 * * *", hostPort: "%s"}
"""


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
    site.kubectl("apply", "-f", str(HOOKS / "crontab-versions.yaml"))
    labels = ("hookrunner.io/image-policy=enforce", "hookrunner.io/pod-defaults=yes", "team=tea")
    site.kubectl("label", "namespace", "default", *labels)
    flags = {name.replace("-", "_"): text for name, text in (flag[2:].split("=") for flag in site.flags)}
    needed = await asyncio.to_thread(find_rights, hooks_dir=str(HOOKS), **flags)
    account = await asyncio.to_thread(log_in, audited_cluster, tmp_path, account_of("webhooks", needed.all))
    program = await operator(shipped(), *site.flags, kubeconfig=account.kubeconfig)
    await until(lambda: _asks(site), "the API server asks")
    yield Registered(site, program)
    assert '"rights"' not in program.get("/readyz?output=json")[1], "no right is missing"
    check_rights(audited_cluster, account, needed.all)


def _asks(site: Site) -> bool:
    wild = site.kubectl("run", "probe", "--image=nginx", "--dry-run=server")[1]
    unlabelled = site.kubectl("run", "probe", "--image=nginx:1.27", "--dry-run=server", "-o", "yaml")[1]
    return "denied the request" in wild and "team: tea" in unlabelled


def shipped() -> dict[str, str]:
    """The text of each hook."""
    return {file.name: file.read_text() for file in HOOKS.iterdir() if file.suffix in (".py", ".sh")}


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
    await registered.restart(shipped(), "localhost")
    hooks = [hook for obj in registered.configurations() for hook in obj["webhooks"]]
    assert ["https://localhost:" in hook["clientConfig"]["url"] for hook in hooks] == [True, True]
    assert "denied the request" in (await asyncio.to_thread(registered.site.kubectl, "run", "db", "--image=db"))[1]


async def registrations_of_removed_hooks_are_removed(registered: Registered) -> None:
    assert registered.conversion() == "Webhook"
    await registered.restart({}, "localhost")
    await until(lambda: (registered.configurations(), registered.conversion()) == ([], "None"), "the removal")
