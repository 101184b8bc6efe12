"""Packages that are kustomize directories, built by the real kubectl from the package alone."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hookrunner.errors import BadManifest, RenderFailed
from hookrunner.manifests import kustomize
from hookrunner.manifests.kustomize import build_kustomization, check_kustomizations, replace_placeholders
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON
from tests.controlplane.tools import find_tool
from tests.tables import each

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


async def test_without_kubectl_the_error_says_what_to_do(
    runner: ProgramRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RenderFailed, match=f"^{kustomize.NAME}: there is no kubectl on PATH; install it"):
        await build_kustomization(PACKAGE, runner)


FILES = {"base/kustomization.yaml": b"resources: [s.yaml]\n", "base/s.yaml": b"", "d.yaml": b"", "Corefile": b""}
PLUGIN = "apiVersion: builtin\nkind: NamespaceTransformer\n"


def check(text: str, **files: str) -> None:
    more = {name.replace("_", "."): content.encode() for name, content in files.items()}
    check_kustomizations({**FILES, **more, "kustomization.yaml": text.encode()})


@each(
    "text",
    [
        "resources: [base, ./d.yaml, base/../d.yaml]",
        "configMapGenerator: [{name: a, files: [Corefile, key=Corefile], envs: [d.yaml], literals: [a=/b]}]",
        "patches: [{path: d.yaml}, {patch: 'https://inline'}]\npatchesStrategicMerge: ['a:\n\n  b: //c', '{a: //b}']",
        "transformers: [p.yaml, '{apiVersion: builtin, kind: PrefixTransformer}']",
        "namespace: https://x\nimages: [{name: a/b, newName: ../c}]",
        "resources: [5, {}]\npatches: 3\nopenapi: {path: d.yaml}",
        "",
    ],
)
def test_what_is_in_the_package_may_be_named(text: str) -> None:
    check(text, p_yaml=PLUGIN)


@each(
    ("text", "message"),
    [
        ("resources: [https://example.com/a.yaml]", "resources: 'https://example.com/a.yaml' is not in the package"),
        ("resources: [github.com/a/b?ref=v1]", "'github.com/a/b?ref=v1' is not in the package"),
        ("resources: [git@github.com:a/b.git]", "is not in the package"),
        ("bases: [../other]", "bases: '../other' leads outside of the package"),
        ("components: [/etc]", "'/etc' leads outside"),
        ("Resources: [../a]", "Resources: '../a' leads outside"),
        ("re\u017fources: [../a]", "'../a' leads outside"),
        ("patches: [{Path: ../a}]", "patches: '../a' leads outside"),
        ("secretGenerator: [{name: a, files: [a=../../etc/passwd]}]", "'../../etc/passwd' leads outside"),
        ("configMapGenerator: [{name: a, env: none.env}]", "'none.env' is not in the package"),
        ("openapi: {path: ../a}", "'../a' leads outside"),
        ("helmCharts: [{name: a}]", "helmCharts: Helm charts are not rendered in a kustomization"),
        ("helmChartInflationGenerator: []", "Helm charts are not rendered"),
        ("generators: [base]", "'base' is no file with plugins"),
        ("generators: [d.yaml]", "'d.yaml' is no file with plugins"),
        ("generators: [p.yaml]", "'p.yaml': only plugins with apiVersion builtin are run"),
        ("generators: ['apiVersion: builtin\n\nkind: HelmChartInflationGenerator']", "Helm charts are not rendered"),
        ("validators: ['{a: [']", "not YAML"),
        ("- a", "a kustomization is a map, not a list of 1 item"),
        ("a: [", "kustomization.yaml: not YAML"),
    ],
)
def test_what_is_elsewhere_or_runs_programs_is_refused(text: str, message: str) -> None:
    with pytest.raises(RenderFailed) as refused:
        check(text, p_yaml="apiVersion: example.com/v1\nkind: Exec\n")
    assert str(refused.value).startswith("kustomization.yaml: ")
    assert message in str(refused.value)


def test_kustomizations_of_other_directories_are_checked_too() -> None:
    with pytest.raises(RenderFailed, match=r"^base/Kustomization: resources: '\.\./\.\./a' leads outside"):
        check_kustomizations({"base/Kustomization": b"resources: [../../a]", "kustomization.yaml": b""})
