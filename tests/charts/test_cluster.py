"""What only a real cluster can tell: `lookup`, what Helm sees of API versions, what it writes into a release record.

Level: control plane."""

import base64
import gzip
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hookrunner.charts.manifests import manifests
from hookrunner.charts.renderer import Renderer
from hookrunner.kube.cluster_lookup import with_kubeconfig
from hookrunner.model.releases import Capabilities, RenderRequest
from tests.charts.conftest import CHART, Write, configmap, order
from tests.controlplane.cluster import Cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOOKUP = '{{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.uid }}'
KINDS = ("v1", "apps/v1", "v1/ConfigMap", "apps/v1/Deployment", "policy/v1beta1", "extensions/v1beta1", "foo/v1")
RECORDED = {
    "Chart.yaml": CHART + "appVersion: '2.0'\nkeywords: [a]\nmaintainers: [{name: m}]\nunknown: x\n"
    "dependencies:\n- {name: sub, version: 0.1.0, repository: 'https://example.com'}\n",
    "Chart.lock": "dependencies:\n- {name: sub, version: 0.1.0, repository: 'https://example.com'}\n"
    "digest: sha256:abc\ngenerated: '2024-01-01T00:00:00Z'\n",
    "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
    "values.yaml": "a: {b: yes, c: 12345678901, d: 1.50}\nsub: {global: {}}\n",
    "values.schema.json": '{"type": "object"}',
    "templates/_h.tpl": "x",
    "templates/NOTES.txt": "notes",
    "templates/a.yaml": configmap("a"),
    "conf/bin": "\x00é",
    "conf/ignored": "",
    ".helmignore": "ignored",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    async with Renderer() as renderer:
        yield renderer


def run(helm: Path, words: str) -> str:
    return subprocess.run([helm, *words.split()], capture_output=True, text=True, check=True).stdout


def record(cluster: Cluster, namespace: str) -> dict[str, Any]:
    data = cluster.kubectl(
        "get", "secret", "-n", namespace, "sh.helm.release.v1.demo.v1", "-o", "jsonpath={.data.release}"
    )
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(data))))
    return found


def untimed(chart: dict[str, Any]) -> dict[str, Any]:
    """Without what Helm 4 adds: times of files, which are never read, and facts about subcharts."""
    for dependency in chart["metadata"]["dependencies"]:
        dependency.pop("enabled", None)
    for name in ("templates", "files"):
        chart[name] = [{"name": file["name"], "data": file["data"]} for file in chart[name]]
    return {key: value for key, value in chart.items() if not key.endswith("modtime")}


async def test_lookup_answers_from_the_cluster(cluster: Cluster, namespace: str, write: Write) -> None:
    directory = write({"templates/a.yaml": configmap("a", f"  uid: {LOOKUP}\n")})
    wanted = RenderRequest(directory, "demo", namespace, {}, Capabilities("v1.31.0", ()))
    environ = with_kubeconfig(os.environ, str(cluster.kubeconfig))
    async with Renderer(environ=environ) as renderer:
        [found] = (await renderer.render(wanted)).objects
    assert found["data"] == {"uid": cluster.kubectl("get", "ns", namespace, "-o", "jsonpath={.metadata.uid}")}


@pytest.mark.slow
async def test_lookup_finds_nothing_without_a_cluster(renderer: Renderer, write: Write) -> None:
    directory = write({"templates/a.yaml": configmap("a", "  found: '{{ lookup `v1` `Namespace` `` `` | len }}'\n")})
    [found] = (await renderer.render(order(directory))).objects
    assert found["data"] == {"found": "0"}


async def test_api_versions_are_those_that_helm_sees_in_the_cluster(
    renderer: Renderer, cluster: Cluster, namespace: str, helm: Path, write: Write
) -> None:
    seen = "".join(
        f'  "{kind}": {{{{ .Capabilities.APIVersions.Has "{kind}" | quote }}}}\n'.replace("/", "_", 1) for kind in KINDS
    )
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": configmap("a", seen)})
    output = run(helm, f"install demo {directory} -n {namespace} --dry-run=server --kubeconfig {cluster.kubeconfig}")
    [theirs] = manifests({"demo": output[output.index("---") :]}, "demo", {}).objects
    versions = (*cluster.kubectl("api-versions").split(), "v1/ConfigMap", "apps/v1/Deployment")
    rendered = await renderer.render(RenderRequest(directory, "demo", namespace, {}, Capabilities("v1.31.0", versions)))
    [ours] = rendered.objects
    assert ours["data"] == theirs["data"]
    assert set(ours["data"].values()) == {"true", "false"}


async def test_the_chart_is_recorded_as_helm_records_it(
    renderer: Renderer, cluster: Cluster, namespace: str, helm: Path, write: Write
) -> None:
    directory = write(RECORDED)
    run(helm, f"install demo {directory} -n {namespace} --kubeconfig {cluster.kubeconfig}")
    rendered = await renderer.render(order(directory))
    theirs = record(cluster, namespace)
    assert untimed(rendered.chart) == untimed(theirs["chart"])
    assert rendered.notes == theirs["info"]["notes"]
