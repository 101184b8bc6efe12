"""Findings about modules: each code on a module with just this mistake, none on a correct one. Level: pure."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.charts.renderer import Renderer
from hookrunner.linting.findings import MODULE_CODES
from hookrunner.linting.hook_linter import Linter
from hookrunner.linting.modules.module_linter import ModuleLinter
from hookrunner.settings import load
from tests.tables import each

PAGE = (Path(__file__).parents[3] / "docs" / "module-tools.md").read_text()

GOOD = {
    "module.yaml": "weight: 10",
    "values.yaml": "dnsEnabled: true\ndns: {zone: local}",
    "openapi/config-values.yaml": "type: object\nproperties:\n"
    '  mode: {type: string, enum: ["on", "off"], default: "on"}\n  zone: {type: string}',
    "openapi/values.yaml": "x-extend: {schema: config-values.yaml}",
    "templates/dns.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dns}\n"
    "data: {zone: {{ .Values.dns.zone | quote }}}",
}
CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dns}\ndata:\n"
ZONE = "{zone: {{ .Values.dns.zone | quote }}}"
CONFIG = "openapi/config-values.yaml"
BAD = [
    ("module.yaml", "weight: heavy", "module-refused", "module.yaml:1", "weight must be of type integer"),
    ("values.yaml", "dns: []", "module-refused", "values.yaml:1", "`dns` must have keys with values"),
    ("values.yaml", "dns: [", "module-refused", "values.yaml:2", "not YAML"),
    (CONFIG, "type: 5", "module-refused", f"{CONFIG}:1", "must be one of"),
    (CONFIG, "properties:\n  zone: {}\n  a:\n    type: bool", "schema-slip", f"{CONFIG}:4", "did you mean 'boolean'?"),
    (CONFIG, "properties:\n  zone:\n    type: integer", "defaults-refused", f"{CONFIG}:3", "must be of type integer"),
    (
        CONFIG,
        "properties:\n  zone: {}\n  a:\n    default: 1\n    type: object",
        "default-wrong",
        f"{CONFIG}:4",
        "must be of type object",
    ),
    (
        CONFIG,
        "properties:\n  zone: {}\n  a:\n    type: string\n    enum: [on, off]",
        "enum-unquoted",
        f"{CONFIG}:5",
        "on",
    ),
    (
        CONFIG,
        "properties: {zone: {}, domain: {}}\nrequired: [domain]",
        "needs-values",
        "openapi/values.yaml:1",
        "domain is required",
    ),
    (
        "module.yaml",
        "weight: 1\nrequires:\n  modul: [a]",
        "key-unknown",
        "module.yaml:3",
        "`requires.modul` means nothing here and is ignored; did you mean 'modules'?",
    ),
    (
        "values.yaml",
        "dns: {zone: a}\nreplicas: 2",
        "value-lost",
        "values.yaml:2",
        "values under `dns`",
    ),
    (CONFIG, "properties:\n  zone:\n    minLenght: 1", "schema-slip", f"{CONFIG}:3", "did you mean 'minLength'?"),
    (
        "templates/dns.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dns}\ndatta:\n  zone: {{ .Values.dns.zone | quote }}",
        "field-unknown",
        "templates/dns.yaml:4",
        "did you mean 'data'?",
    ),
    ("module.yaml", "requires:\n  modules:\n  - nope", "requires-unknown", "module.yaml:3", "not beside it"),
    (CONFIG, "properties:\n  zone:\n    type: {}", "module-refused", f"{CONFIG}:3", "must be one of"),
    ("enabled", "#!/bin/sh\n", "not-executable", "enabled:1", "chmod +x"),
    ("crds/a.yaml", "kind: Pod", "crd-refused", "crds/a.yaml:1", "may be in crds/"),
    ("templates/dns.yaml", "a: 1\n{{ if }}", "chart-refused", "templates/dns.yaml:2", "missing value"),
    ("templates/dns.yaml", "a: 1\n{{ fail .Values.dns.zone }}", "render-failed", "templates/dns.yaml:2", "local"),
    ("templates/dns.yaml", "---\na: b: {{ .Values.dns.zone }}", "manifest-refused", "templates/dns.yaml:2", "correct"),
    ("templates/dns.yaml", "{{ .Values.dns.zone }}\n a: b: c", "manifest-refused", "templates/dns.yaml:1", "correct"),
    ("templates/dns.yaml", "just text", "manifest-refused", "templates/dns.yaml:1", "not an object"),
    (
        "templates/dns.yaml",
        "# a\n---\nkind: CronJob\napiVersion: batch/v1beta1\nmetadata: {name: dns, labels: " + ZONE + "}",
        "kind-unserved",
        "templates/dns.yaml:3",
        "serves no CronJob as batch/v1beta1: CronJob is served as batch/v1",
    ),
    (
        "templates/dns.yaml",
        "apiVersion: apps/v1\nkind: deployment\nmetadata: {name: dns, labels: " + ZONE + "}",
        "kind-unserved",
        "templates/dns.yaml:2",
        "write kind: Deployment",
    ),
    (
        "templates/dns.yaml",
        "apiVersion: v1\nkind: Jobs\nmetadata: {name: dns, labels: " + ZONE + ", annotations: {helm.sh/hook: test}}",
        "kind-unserved",
        "templates/dns.yaml:2",
        "Job is served as batch/v1",
    ),
    (
        "templates/dns.yaml",
        CONFIGMAP + "  zone: |\n    {{ .Values.dns.zone }}",
        "text-escapes",
        f"{CONFIG}:4",
        "a text of `zone` with line ends changes the number",
    ),
    (
        "templates/dns.yaml",
        CONFIGMAP + '  zone: {{ .Values.dns.zone | replace "---" "" }}',
        "text-unquoted",
        f"{CONFIG}:4",
        "tabs is not quoted, so that no YAML is rendered, in ConfigMap dns",
    ),
    (
        "templates/dns.yaml",
        CONFIGMAP + "  zone: {{ tpl .Values.dns.zone . | quote }}",
        "text-changed",
        f"{CONFIG}:4",
        "with braces does not come back",
    ),
    (
        "templates/dns.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.dns.zone | quote }}}",
        "name-unchecked",
        f"{CONFIG}:4",
        "give it a `pattern`",
    ),
    ("hooks/a.sh", "#!/bin/sh\nexit 1", "refused", "hooks/a.sh:1", "cannot be asked"),
]


@pytest.fixture
async def modules(linter: Linter) -> AsyncIterator[ModuleLinter]:
    async with Renderer() as renderer:
        yield ModuleLinter(load({}, "hookrunner", {}).modules, linter, renderer)


def own_directory(above: Path) -> Path:
    """Of a row: the rows of a table share the test's."""
    return above / str(len([*above.iterdir()]))


def write(directory: Path, files: dict[str, str]) -> Path:
    module = directory / "m" / "010-dns"
    for name, text in files.items():
        path = module / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.startswith("hooks/") else 0o644)
    return module


SILENCED = {"values.yaml": "dns: {zone: a}\nreplicas: 2 # hookrunner: ignore=value-lost"}


@pytest.mark.slow
@each("changed", [{}, SILENCED])
async def test_correct_module_has_no_findings(changed: dict[str, str], modules: ModuleLinter, tmp_path: Path) -> None:
    linted = await modules.lint([write(own_directory(tmp_path), GOOD | changed)])
    assert (linted.hooks, linted.findings) == (0, ())


@pytest.mark.slow
@each(("name", "text", "code", "place", "message"), BAD, ids=[f"{one[2]} {one[0]}" for one in BAD])
async def test_each_code_is_reported_at_its_place(
    name: str, text: str, code: str, place: str, message: str, modules: ModuleLinter, tmp_path: Path
) -> None:
    module = write(own_directory(tmp_path), GOOD | {name: text})
    [finding] = (await modules.lint([module])).findings
    assert finding.code == code, finding
    assert f"{finding.path}:{finding.line}" == f"{module}/{place}"
    assert message in finding.text


DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: zones.x.io}
spec:
  group: x.io
  names: {kind: Zone, plural: zones}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {name: {type: string}}}}}}
"""
ZONE_OBJECT = "apiVersion: x.io/v1\nkind: Zone\nmetadata: {name: a}\nspec:\n  nam: {{ .Values.dns.zone | quote }}\n"


@pytest.mark.slow
@each("place", ["crds/zone.yaml", "templates/zone.yaml"])
async def test_misspelt_field_of_a_kind_that_the_module_defines_is_found(
    place: str, modules: ModuleLinter, tmp_path: Path
) -> None:
    module = write(own_directory(tmp_path), GOOD | {place: DEFINITION, "templates/a.yaml": ZONE_OBJECT})
    [finding] = (await modules.lint([module])).findings
    assert (finding.code, finding.path, finding.line) == ("field-unknown", str(module / "templates/a.yaml"), 5)
    assert finding.text.endswith("does not know .spec.nam and ignores it; did you mean 'name'?")


@pytest.mark.slow
async def test_invalid_and_duplicate_module_names_are_reported(modules: ModuleLinter, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    source = tmp_path / "m"
    for name in ("020-dns", "Web"):
        (source / name / "templates").mkdir(parents=True)
    linted = await modules.lint([source / name for name in ("010-dns", "020-dns", "Web")])
    assert [(one.path, one.code) for one in linted.findings] == [
        (str(source / "020-dns"), "module-refused"),
        (str(source / "Web"), "module-refused"),
    ]


@pytest.mark.slow
async def test_world_writable_module_is_reported_once(modules: ModuleLinter, tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    (path / "hooks").mkdir()
    for place in ("values.yaml", "hooks", "."):
        (path / place).chmod(0o777)
    findings = (await modules.lint([path])).findings
    assert {one.code for one in findings} == {"writable"}
    assert [one.path for one in findings] == [str(path), str(path / "hooks"), str(path / "values.yaml")]


@pytest.mark.slow
async def test_flags_of_unknown_modules_are_reported(modules: ModuleLinter, tmp_path: Path) -> None:
    module = write(tmp_path, GOOD)
    (module.parent / "values.yaml").write_text("global: {}\ndns: {}\ndsnEnabled: true")
    [finding] = (await modules.lint([module])).findings
    assert (finding.code, finding.line) == ("value-lost", 3)
    assert "did you mean 'dns'?" in finding.text


async def test_unreadable_common_values_are_reported(modules: ModuleLinter, tmp_path: Path) -> None:
    module = write(tmp_path, GOOD)
    (module.parent / "values.yaml").write_text("[")
    [finding] = (await modules.lint([module])).findings
    assert (finding.code, finding.path) == ("module-refused", str(module.parent))


def test_every_code_has_its_row_and_its_sample() -> None:
    assert [code for code in MODULE_CODES if f"| `{code}` | {MODULE_CODES[code]} |" not in PAGE] == []
    assert MODULE_CODES.keys() - {one[2] for one in BAD} == set()
