"""The hooks in webhooks/, asked by a real API server, as their README says to try them. Level: control plane."""

import asyncio
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.conftest import Start
from tests.flows.waiting import until
from tests.flows.webhooks import Site

HOOKS = Path(__file__).parents[2] / "webhooks"
CRONTAB = """
apiVersion: stable.hookrunner.io/v1alpha1
kind: CronTab
metadata: {name: backup}
spec: {cronSpec: "0 3 * * *", hostPort: "%s"}
"""


@pytest.fixture
async def site(own_cluster: OwnCluster, operator: Start) -> Site:
    """The hooks running; the namespace has both labels, and the kind is defined."""
    site = Site(own_cluster, "default")
    site.kubectl("apply", "-f", str(HOOKS / "crontab-versions.yaml"))
    labels = ("hookrunner.io/image-policy=enforce", "hookrunner.io/pod-defaults=yes", "team=tea")
    site.kubectl("label", "namespace", "default", *labels)
    scripts = {file.name: file.read_text() for file in HOOKS.iterdir() if file.suffix in (".py", ".sh")}
    await operator(scripts, *site.flags, kubeconfig=own_cluster.kubeconfig)
    await until(lambda: _asks(site), "the API server asks")
    return site


def _asks(site: Site) -> bool:
    wild = site.kubectl("run", "probe", "--image=nginx", "--dry-run=server")[1]
    unlabelled = site.kubectl("run", "probe", "--image=nginx:1.27", "--dry-run=server", "-o", "yaml")[1]
    return "denied the request" in wild and "team: tea" in unlabelled


async def test_all_shipped_webhooks_answer(site: Site) -> None:
    await images_need_a_version_and_pods_get_defaults(site)
    await an_object_can_be_read_in_three_versions(site)


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
