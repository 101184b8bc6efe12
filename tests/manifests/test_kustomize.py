"""Packages that are kustomize directories, built by the real kubectl from the package alone. Level: pure."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hookrunner.errors import BadManifest, RenderFailed
from hookrunner.manifests import kustomize
from hookrunner.manifests.kustomize import build_kustomization, replace_placeholders, run_kustomize
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON
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
    with pytest.raises(RenderFailed, match="is not in the package"):
        await build_kustomization(
            replaced({"kustomization.yaml": b"resources: [@P@]\n"}, "https://127.0.0.1/a"), runner
        )


ESCAPE = "a-\u2028\r---\rresources: [https://127.0.0.1/a.yaml]\n---\nb: c"


def replaced(files: Mapping[str, bytes], value: JSON) -> dict[str, bytes]:
    return replace_placeholders(files, PlaceholderValues([Placeholder("@P@", "prefix", 4)], {"prefix": value}))


async def test_no_value_leaves_the_text_in_which_it_stands(runner: ProgramRunner) -> None:
    package = {
        "kustomization.yaml": b"""
resources: [d]
configMapGenerator: [{name: web, files: [Corefile], envs: [web.env]}]
patches:
- target: {kind: Pod}
  patch: |-
    - op: add
      path: /metadata/annotations
      value: {note: @P@}
    - {op: test, path: /kind, value: Pod}
""",
        "d": POD.replace(b"name: coredns}, spec", b"name: coredns, labels: {a: b}}, spec: {hostname: '@P@'}, x"),
        "Corefile": b".:53 {\n    @P@\n}\n",
        "web.env": b"A=b\n",
    }
    objects = {source.kind: source.obj for source in await build_kustomization(replaced(package, ESCAPE), runner)}
    assert sorted(objects) == ["ConfigMap", "Pod"]
    assert objects["Pod"]["metadata"]["annotations"] == {"note": ESCAPE}
    assert objects["Pod"]["spec"] == {"hostname": ESCAPE}
    corefile = f".:53 {{\n    {ESCAPE}\n}}\n".replace("\n-", "\n    -").replace("\nb", "\n    b")
    assert objects["ConfigMap"]["data"] == {"Corefile": corefile, "A": "b"}
    with pytest.raises(BadManifest, match=r"web\.env: each line is a variable, and prefix has a line end"):
        replaced({**package, "web.env": b"A=@P@\n"}, ESCAPE)


async def test_no_value_chooses_how_a_file_is_read(runner: ProgramRunner) -> None:
    package = {
        "kustomization.yaml": b"resources: [d/pod]\nconfigMapGenerator: [{name: web, files: [x=@P@]}]\n",
        "d/pod": POD + b"# @P@\n",
    }
    values = PlaceholderValues([Placeholder("@P@", "p")], {"p": "./d/pod\n---\na: b"})
    with pytest.raises(RenderFailed, match="is not in the package"):
        await build_kustomization(replace_placeholders(package, values), runner)
    named = PlaceholderValues([Placeholder("@P@", "p")], {"p": "d/pod"})
    assert replace_placeholders(package, named)["d/pod"] == package["d/pod"]


async def test_without_kubectl_the_error_says_what_to_do(
    runner: ProgramRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderFailed, match=f"^{kustomize.NAME}: there is no kubectl on PATH; install it"):
        await build_kustomization(PACKAGE, runner)


UNCHECKED = {
    "resources: [http://example.invalid/a.yaml]": r"proxyconnect tcp: dial tcp 127\.0\.0\.1:1",
    "resources: [https://example.invalid/a/b]": r"proxyconnect tcp: dial tcp 127\.0\.0\.1:1",
    "resources: [git@example.invalid:a/b]": "no 'git' program on path",
    "components: [github.com/a/b]": "no 'git' program on path",
}


@pytest.mark.parametrize("text", UNCHECKED)
async def test_should_the_check_miss_an_address_the_network_is_out_of_reach(runner: ProgramRunner, text: str) -> None:
    with pytest.raises(RenderFailed, match=UNCHECKED[text]):
        await run_kustomize({"kustomization.yaml": text.encode()}, runner)
