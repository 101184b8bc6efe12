"""Findings about addons: each code on an addon with just this mistake, none on a correct one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.charts.renderer import Renderer
from hookrunner.linting.addon_linter import AddonLinter
from hookrunner.linting.findings import ADDON_CODES, Finding
from hookrunner.linting.hook_linter import Linter
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import own_environment
from kubetypes import cel

PAGE = (Path(__file__).parents[2] / "docs" / "packaging-addons.md").read_text()

PACKAGE = "channels/packages/web/1.0.0"
APART = """apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: kube-system}
---
apiVersion: app.k8s.io/v1beta1
kind: Application
metadata: {name: web, namespace: default}
spec: {}
"""
GOOD = {
    "addon.yaml": "object: {kind: Web}\ntext: {__GREETING__: greeting, __NODES__: internal.nodes}\n",
    "openapi/spec.yaml": "type: object\nproperties: {greeting: {type: string, default: Hello}}\n",
    "openapi/values.yaml": "properties:\n  internal:\n    type: object\n    default: {}\n"
    "    properties: {nodes: {type: integer, default: 0}}\n",
    "channels/stable": "manifests:\n- version: 1.0.0\n",
    f"{PACKAGE}/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
    "data: {text: __GREETING__ __NODES__}\n",
    f"{PACKAGE}/apart.yaml": APART,
}
OTHER_KIND = "object: {kind: Web}\ntext: {__GREETING__: greeting, __NODES__: internal.nodes, __A__: greeting}\n"
UNSET = "object: {kind: Web}\ntext: {__GREETING__: greeting, __NODES__: internal.node}\n"
RULE = GOOD["addon.yaml"].replace("{", "{{").replace("}", "}}") + 'patches:\n- kind: {}\n  paths: ["{}"]\n'
BAD = [
    ("addon.yaml", "object: {}\n", "addon-refused", "addon.yaml:1", "object.kind is required"),
    ("values.yaml", "web: 5\n", "addon-refused", "values.yaml:1", "must be a map"),
    ("addon.yaml", GOOD["addon.yaml"] + "objct: {}\n", "key-unknown", "addon.yaml:3", "did you mean 'object'?"),
    (
        "openapi/spec.yaml",
        "type: object\nproperties: {greeting: {type: bool}}\n",
        "schema-slip",
        "openapi/spec.yaml:2",
        "boolean",
    ),
    ("channels/stable", "manifests: 5\n", "channel-refused", "channels/stable:1", "must be of type array"),
    ("addon.yaml", GOOD["addon.yaml"] + "channel: next\n", "channel-refused", "channels/next:1", "does not exist"),
    ("channels/stable", "manifests:\n- version: 1.0.1\n", "package-missing", "channels/stable:2", "there are 1.0.0"),
    (f"{PACKAGE}/package.yaml", "kubernetes: five\n", "package-refused", f"{PACKAGE}:1", "kubernetes"),
    (f"{PACKAGE}/package.yaml", "kubernets: '>=1'\n", "key-unknown", f"{PACKAGE}/package.yaml:1", "'kubernetes'?"),
    ("addon.yaml", OTHER_KIND, "placeholder-unused", "addon.yaml:2", "__A__ stands in no file"),
    ("addon.yaml", RULE.format("Deployment", "spec"), "patch-unused", "addon.yaml:4", "no package has a Deployment"),
    ("addon.yaml", RULE.format("ConfigMap", "dta"), "patch-unused", "addon.yaml:5", "ConfigMap has no such field"),
    (
        "addon.yaml",
        RULE.format("ConfigMap", "metadata.annotations[meta.helm.sh/x]"),
        "patch-unused",
        "addon.yaml:5",
        "only --addon-patches all allows it, because it is what hookrunner and Helm keep about it",
    ),
    ("addon.yaml", RULE.format("ConfigMap", "data..x"), "addon-refused", "addon.yaml:1", "write keys with points"),
    ("addon.yaml", UNSET, "placeholder-unset", "addon.yaml:2", "nothing defines internal.node"),
    ("addon.yaml", GOOD["addon.yaml"] + "requires: {addons: [web]}\n", "requires-cycle", "addon.yaml:3", "itself"),
    (
        "openapi/spec.yaml",
        "type: object\nproperties:\n  greeting: {type: string, default: Hello,\n"
        "    x-kubernetes-validations: [{rule: 'self.greets()'}]}\n",
        "rule-unchecked",
        "openapi/spec.yaml:3",
        "undeclared reference to 'greets'",
    ),
    ("addon.yaml", GOOD["addon.yaml"] + "application: true\n", "application-partial", f"{PACKAGE}:1", "in kube-system"),
    (f"{PACKAGE}/b.yaml", "- 1\n", "render-failed", f"{PACKAGE}:1", "b.yaml, document 1: not an object"),
    (
        f"{PACKAGE}/b.yaml",
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n",
        "kind-unserved",
        f"{PACKAGE}/b.yaml:1",
        "policy/v1",
    ),
]


@pytest.fixture
async def addons(tmp_path: Path, linter: Linter) -> AsyncIterator[AddonLinter]:
    async with Renderer() as renderer:
        runner = ProgramRunner(Children(Patience(kill=1.0)), tmp_path)
        yield AddonLinter(linter, ObjectBuilder(renderer, runner, own_environment()), tmp_path / "scratch")


async def lint(addons: AddonLinter, tmp_path: Path, **changed: str) -> list[Finding]:
    directory = tmp_path / "addons/web"
    for path, text in {**GOOD, **changed}.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return list((await addons.lint([directory])).findings)


async def test_correct_addon_has_no_findings(addons: AddonLinter, tmp_path: Path) -> None:
    assert await lint(addons, tmp_path) == []


async def test_author_hears_nothing_of_rules_that_every_addon_has(
    addons: AddonLinter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library for rules, which `pip install hookrunner` leaves out."""
    monkeypatch.setattr(cel, "available", lambda: False)
    assert await lint(addons, tmp_path) == []


@pytest.mark.parametrize(("path", "text", "code", "place", "words"), BAD)
async def test_mistake_is_found_in_its_place(
    path: str, text: str, code: str, place: str, words: str, addons: AddonLinter, tmp_path: Path
) -> None:
    findings = await lint(addons, tmp_path, **{path: text})
    found = [finding for finding in findings if finding.code == code]
    assert [f"{Path(one.path).relative_to(tmp_path / 'addons/web')}:{one.line}" for one in found] == [place], findings
    assert words in found[0].text


async def test_package_that_needs_hooks_is_no_mistake(addons: AddonLinter, tmp_path: Path) -> None:
    schema = "properties: {internal: {type: object, properties: {nodes: {type: integer}}}}\n"
    findings = await lint(addons, tmp_path, **{"openapi/values.yaml": schema})
    assert [finding.code for finding in findings] == ["needs-values"]


def test_every_code_is_found_here_and_explained() -> None:
    assert [code for code in ADDON_CODES if f"| `{code}` | {ADDON_CODES[code]} |" not in PAGE] == []
    assert ADDON_CODES.keys() - {row[2] for row in BAD} == set()
