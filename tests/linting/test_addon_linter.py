"""Findings about addons: each code on an addon with just this mistake, none on a correct one. Level: pure."""

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
from tests.tables import each

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
PINNED = f"manifests:\n- version: 1.0.0\n  digest: sha256:{'0' * 64}\n"
OTHER_KIND = "object: {kind: Web}\ntext: {__GREETING__: greeting, __NODES__: internal.nodes, __A__: greeting}\n"
UNSET = "object: {kind: Web}\ntext: {__GREETING__: greeting, __NODES__: internal.node}\n"
RULE = GOOD["addon.yaml"].replace("{", "{{").replace("}", "}}") + 'patches:\n- kind: {}\n  paths: ["{}"]\n'
HOOK = "#!/bin/sh\nif [ $1 = --config ]; then echo '{{configVersion: v1, {}}}'; exit; fi\n{}\n"
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
    (
        "openapi/spec.yaml",
        "type: object\nproperties:\n  greeting: {type: string, default: Hello}\nrequired: [greting]\n",
        "schema-slip",
        "openapi/spec.yaml:4",
        "did you mean 'greeting'?",
    ),
    (
        f"{PACKAGE}/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndatta: {text: __GREETING__ __NODES__}\n",
        "field-unknown",
        f"{PACKAGE}/config.yaml:1",
        "did you mean 'data'?",
    ),
    ("addon.yaml", GOOD["addon.yaml"] + "instances: many\n", "name-constant", f"{PACKAGE}:1", "`.addon.name`"),
    ("channels/stable", "manifests: 5\n", "channel-refused", "channels/stable:1", "must be of type array"),
    ("channels/stable", PINNED, "channel-refused", "channels/stable:3", "web 1.0.0 has the digest sha256:"),
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
    ("hooks/a.sh", HOOK.format("kubernetesMutating: []", ""), "refused", "hooks/a.sh:2", "answer no webhooks"),
    (
        "hooks/a.sh",
        HOOK.format("beforeHelm: 1", "echo > $CONFIG_VALUES_JSON_PATCH_PATH"),
        "config-refused",
        "hooks/a.sh:3",
        "patch `spec` of the instance",
    ),
    (f"{PACKAGE}/Chart.yaml", "name: [\n", "chart-refused", f"{PACKAGE}:1", "Chart.yaml"),
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
        (directory / path).chmod(0o755 if path.startswith("hooks/") else 0o644)
    return list((await addons.lint([directory])).findings)


async def test_correct_addon_has_no_findings(addons: AddonLinter, tmp_path: Path) -> None:
    assert await lint(addons, tmp_path) == []


async def test_author_hears_nothing_of_rules_that_every_addon_has(
    addons: AddonLinter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library for rules, which `pip install hookrunner` leaves out."""
    monkeypatch.setattr(cel, "available", lambda: False)
    assert await lint(addons, tmp_path) == []


@each(("path", "text", "code", "place", "words"), BAD, ids=[f"{one[2]} {one[0]}" for one in BAD])
async def test_mistake_is_found_in_its_place(
    path: str, text: str, code: str, place: str, words: str, addons: AddonLinter, tmp_path: Path
) -> None:
    top = tmp_path / str(len([*tmp_path.iterdir()]))
    findings = await lint(addons, top, **{path: text})
    found = [finding for finding in findings if finding.code == code]
    assert [f"{Path(one.path).relative_to(top / 'addons/web')}:{one.line}" for one in found] == [place], findings
    assert words in found[0].text


async def test_package_that_needs_hooks_is_no_mistake(addons: AddonLinter, tmp_path: Path) -> None:
    schema = "properties: {internal: {type: object, properties: {nodes: {type: integer}}}}\n"
    findings = await lint(addons, tmp_path, **{"openapi/values.yaml": schema})
    assert [finding.code for finding in findings] == ["needs-values"]


WIDGETS = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec:
  group: x.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
apiVersion: x.io/v1
kind: Widget
metadata: {name: web}
spec: {siz: 1}
"""


async def test_misspelt_field_of_a_kind_that_the_package_defines_is_found(addons: AddonLinter, tmp_path: Path) -> None:
    own = "apiVersion: addons.x-k8s.io/v1alpha1\nkind: Web\nmetadata: {name: web}\nspec: {greting: Hello}\n"
    findings = await lint(addons, tmp_path, **{f"{PACKAGE}/b.yaml": f"{WIDGETS}---\n{own}"})
    assert {finding.code for finding in findings} == {"field-unknown"}
    assert {finding.text.partition("ignores it; ")[2] for finding in findings} == {
        "did you mean 'size'?",
        "did you mean 'greeting'?",
    }


REQUIRED = "type: object\nproperties: {greeting: {type: string}}\nrequired: [greeting]\n"
INSTANCE = "apiVersion: addons.x-k8s.io/v1alpha1\nkind: Web\nmetadata: {name: a, namespace: default}\n"


@pytest.mark.parametrize("path", ["example.yaml", "tests/a.in.yaml"])
async def test_package_is_built_with_the_values_of_samples(path: str, addons: AddonLinter, tmp_path: Path) -> None:
    files = {"openapi/spec.yaml": REQUIRED, f"{PACKAGE}/config.yaml": GOOD[f"{PACKAGE}/config.yaml"] + "datta: {}\n"}
    files[path] = INSTANCE + "spec: {greeting: Hello}\n"
    findings = await lint(addons, tmp_path, **files)
    assert [finding.code for finding in findings] == ["field-unknown"]


async def test_values_that_a_case_expects_to_fail_are_not_used(addons: AddonLinter, tmp_path: Path) -> None:
    files = {"openapi/spec.yaml": REQUIRED, "tests/a.error": "no\n"}
    files["tests/a.in.yaml"] = INSTANCE + "spec: {greeting: Hello}\n"
    findings = await lint(addons, tmp_path, **files)
    assert [finding.code for finding in findings] == ["needs-values"]


CHART = f"{PACKAGE}/Chart.yaml"
TEMPLATE = f"{PACKAGE}/templates/config.yaml"
CHART_FILES = {
    "addon.yaml": "object: {kind: Web}\n",
    CHART: "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    f"{PACKAGE}/config.yaml": "",
    f"{PACKAGE}/apart.yaml": "",
    "openapi/values.yaml": "properties:\n  internal:\n    type: object\n    default: {}\n"
    "    properties:\n      motd: {type: string, default: ''}\n",
}
QUOTED = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  a: {{ .Values.web.greeting | quote }}\n"
    "  b: |\n    {{- .Values.web.internal.motd | nindent 4 }}\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", []),
        (".greeting | quote", ".greeting", [("openapi/spec.yaml", 2, "text-unquoted")]),
        (
            "    {{- .Values.web.internal.motd | nindent 4 }}",
            "    {{ .Values.web.internal.motd }}",
            [("openapi/values.yaml", 6, "text-escapes")],
        ),
        ("name: web", "name: {{ .Values.web.greeting | quote }}", [("openapi/spec.yaml", 2, "name-unchecked")]),
    ],
)
async def test_texts_that_are_not_carried_are_found_in_charts(
    before: str, after: str, found: list[object], addons: AddonLinter, tmp_path: Path
) -> None:
    findings = await lint(addons, tmp_path, **CHART_FILES, **{TEMPLATE: QUOTED.replace(before, after, 1)})
    top = tmp_path / "addons/web"
    assert [(str(Path(one.path).relative_to(top)), one.line, one.code) for one in findings] == found


async def test_placeholders_carry_any_text_but_names_need_a_pattern(addons: AddonLinter, tmp_path: Path) -> None:
    named = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: __GREETING__}\ndata: {text: a __GREETING__ __NODES__}\n"
    [finding] = await lint(addons, tmp_path, **{f"{PACKAGE}/config.yaml": named})
    assert (finding.code, "give it a `pattern`" in finding.text) == ("name-unchecked", True)


async def test_rules_in_cel_and_comments_are_obeyed(addons: AddonLinter, tmp_path: Path) -> None:
    template = {TEMPLATE: QUOTED.replace(".greeting | quote", ".greeting")}
    rule = (
        "type: object\nproperties:\n  greeting: {type: string, default: Hello,\n"
        "    x-kubernetes-validations: [{rule: \"self.matches('^[a-zA-Z0-9]*$')\"}]}\n"
    )
    silenced = (
        "type: object\nproperties: {greeting: {type: string, default: Hello}} # hookrunner: ignore=text-unquoted\n"
    )
    for spec in (rule, silenced):
        assert await lint(addons, tmp_path, **CHART_FILES, **template, **{"openapi/spec.yaml": spec}) == []


async def test_an_addon_with_required_fields_is_tried_with_its_example(addons: AddonLinter, tmp_path: Path) -> None:
    spec = GOOD["openapi/spec.yaml"].replace("{greeting", "{size: {type: integer}, greeting") + "required: [size]\n"
    example = "apiVersion: addons.x-k8s.io/v1alpha1\nkind: Web\nmetadata: {name: a, namespace: b}\nspec: {size: 1}\n"
    files = {**CHART_FILES, TEMPLATE: QUOTED.replace(".greeting | quote", ".greeting"), "openapi/spec.yaml": spec}
    assert [one.code for one in await lint(addons, tmp_path, **files)] == ["needs-values"]
    found = await lint(addons, tmp_path, **files, **{"example.yaml": example})
    assert {one.code for one in found} == {"text-unquoted"}


def test_every_code_is_found_here_and_explained() -> None:
    assert [code for code in ADDON_CODES if f"| `{code}` | {ADDON_CODES[code]} |" not in PAGE] == []
    assert ADDON_CODES.keys() - {row[2] for row in BAD} == set()
