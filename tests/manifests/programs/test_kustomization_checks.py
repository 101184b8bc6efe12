"""A kustomization is built from its package alone."""

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.programs.kustomize import check_kustomizations
from tests.tables import each

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
