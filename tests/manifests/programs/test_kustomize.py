"""Packages that are kustomize directories, built by the real kubectl."""

from pathlib import Path

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.placeholders import replace_placeholders
from hookrunner.manifests.programs import kustomize
from hookrunner.manifests.programs.kustomize import build_kustomization
from hookrunner.manifests.programs.program_runner import ProgramRunner
from hookrunner.model.addons import Placeholder
from tests.controlplane.tools import find_tool

COREFILE = ".:53 {\n    errors\n    forward . 10.0.0.10\n}\n"
POD = b"""{apiVersion: v1, kind: Pod, metadata: {name: coredns}, spec: {
  containers: [{name: coredns, image: example.com/coredns}], volumes: [{name: config, configMap: {name: coredns}}]}}
"""
PACKAGE = {
    "kustomization.yaml": b"resources: [base, d.yaml]\nconfigMapGenerator: [{name: coredns, files: [Corefile]}]\n",
    "Corefile": COREFILE.encode(),
    "d.yaml": POD,
    "base/kustomization.yaml": b"resources: [s.yaml]\n",
    "base/s.yaml": b"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: coredns}\n",
}


@pytest.fixture(autouse=True)
def kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(find_tool("kubectl").parent))


async def test_generated_names_stand_where_they_are_used(runner: ProgramRunner) -> None:
    objects = {source.kind: source.obj for source in await build_kustomization(PACKAGE, runner)}
    name = objects["ConfigMap"]["metadata"]["name"]
    assert name.startswith("coredns-")
    assert objects["ConfigMap"]["data"] == {"Corefile": COREFILE}
    assert objects["Pod"]["spec"]["volumes"][0]["configMap"]["name"] == name
    assert objects["ServiceAccount"]["metadata"] == {"name": "coredns"}


async def test_what_kustomize_refuses_is_said_without_paths_of_this_machine_and_values(runner: ProgramRunner) -> None:
    broken = {**PACKAGE, "d.yaml": b"apiVersion: v1\nkind: Pod\nmetadata: {name: [hunter22]}\n"}
    with pytest.raises(RenderFailed) as failed:
        await build_kustomization(broken, runner, frozenset({"hunter22"}))
    message = str(failed.value)
    assert message.startswith("kubectl kustomize: exit status 1: ")
    assert ("/scratch" in message, "hunter22" in message, "run.go" in message) == (False, False, False)


async def test_refused_kustomizations_are_not_run(runner: ProgramRunner) -> None:
    remote = {"kustomization.yaml": b"resources: [https://127.0.0.1/a.yaml]\n"}
    with pytest.raises(RenderFailed, match="is not in the package"):
        await build_kustomization(remote, runner)
    with pytest.raises(RenderFailed, match="leads outside of the package"):
        await build_kustomization({**PACKAGE, "../x": b""}, runner)


async def test_a_value_in_place_of_a_placeholder_loads_nothing_from_elsewhere(runner: ProgramRunner) -> None:
    files = {"kustomization.yaml": b"namePrefix: @P@\n"}
    values = {"prefix": "a-\nresources: [https://127.0.0.1/a.yaml]"}
    with pytest.raises(RenderFailed, match="is not in the package"):
        await build_kustomization(replace_placeholders(files, [Placeholder("@P@", "prefix")], values), runner)


async def test_without_kubectl_the_error_says_what_to_do(
    runner: ProgramRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderFailed, match=f"^{kustomize.NAME}: there is no kubectl on PATH; install it"):
        await build_kustomization(PACKAGE, runner)
