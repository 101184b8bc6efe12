"""Test files of modules: their format, and the report of each case. Level: pure."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput
from hookrunner.model.releases import HelmHook, RenderedChart
from hookrunner.settings import ModulesSettings, load
from hookrunner.testing.cases.case_runner import run_cases
from hookrunner.testing.modules import module_case_files
from hookrunner.testing.modules.module_bench import RenderedModule
from hookrunner.testing.modules.module_case_files import ModuleCase, ModuleFile, ModuleGiven
from hookrunner.testing.modules.module_case_runner import ModuleCases, ModuleOutcome, differences, updated
from tests.tables import each

TEMPLATE = """
{{- range until (int .Values.dns.replicas) }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "dns-{{ . }}"}
data:
  zone: {{ $.Values.dns.zone }}
  namespace: {{ $.Release.Namespace }}
  old: {{ $.Capabilities.KubeVersion.Minor | quote }}
  first: {{ $.Release.IsInstall | quote }}
  thing: {{ $.Capabilities.APIVersions.Has "example.com/v1/Thing" | quote }}
{{- end }}
"""
SCHEMA = "type: object\nproperties: {replicas: {type: integer, default: 1, maximum: 3}, zone: {type: string}}"
CASES = """
- name: with its defaults
  expect:
    count: 1
    objects: [{kind: ConfigMap, metadata: {name: dns-0, labels: {heritage: hookrunner}}}]
    values: {dns: {replicas: 1}, global: {}}
- name: with everything that can be given
  given:
    configValues: {dns: {replicas: 2}, dnsEnabled: true, global: {a: 1}}
    values: {dns: {zone: patched}, global: {b: {c: 2}}}
    kubeVersion: "1.33"
    apiVersions: [example.com/v1/Thing]
    namespace: addons
    upgrade: true
  expect:
    values: {global: {a: 1, b: {c: 2}}}
    objects:
    - data: {zone: patched, namespace: addons, old: "33", first: "false", thing: "true"}
- name: more than allowed
  given: {configValues: {dns: {replicas: 9}}}
  expect: {failure: "replicas must be at most 3"}
- name: nothing fails
  expect: {failure: anything}
- name: an unexpected failure
  given: {values: {dns: {replicas: many}}}
- name: a wrong section
  given: {configValues: {dnss: {}}}
- name: other objects
  expect: {objects: {absent: [{kind: ConfigMap}], contain: [{kind: Secret}]}, count: 5}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    files = {
        "templates/dns.yaml": TEMPLATE,
        "openapi/config-values.yaml": SCHEMA,
        "openapi/values.yaml": "x-extend: {schema: config-values.yaml}",
        "values.yaml": "dns: {zone: local}",
        "tests/dns.test.yaml": CASES,
    }
    for name, text in files.items():
        path = tmp_path / "m" / "010-dns" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "m" / "010-dns"


def settings() -> ModulesSettings:
    return load({}, "hookrunner", {}).modules


async def outcomes(module: Path, named: str = "") -> list[ModuleOutcome]:
    files = module_case_files.read_all([module])
    cases = [(file, case) for file in files for case in file.cases if named in case.name]
    async with Renderer() as renderer:
        return [one async for one in run_cases(ModuleCases(settings(), renderer), cases, 4)]


@pytest.mark.slow
async def test_each_case_reports_its_differences(module: Path) -> None:
    found = {one.case.name: one for one in await outcomes(module)}
    told = {name: [one.key for one in found[name].wrong] or found[name].problem for name in found}
    assert told == {
        "with its defaults": "",
        "with everything that can be given": "",
        "more than allowed": "",
        "nothing fails": ["failure"],
        "an unexpected failure": ["failure"],
        "a wrong section": f"{module}/tests/dns.test.yaml:26: dnss: values are by section, here global and dns",
        "other objects": ["objects", "objects", "count"],
    }
    assert "dns: replicas must be of type integer" in found["an unexpected failure"].lines[1]


async def test_a_module_that_cannot_be_loaded_fails_every_case(module: Path) -> None:
    (module / "module.yaml").write_text("weight: heavy")
    [one] = await outcomes(module, "defaults")
    assert [line for line in one.lines if "weight" in line]


def case(expect: object) -> ModuleCase:
    return ModuleCase("some case", "[0]", 1, expect, ModuleGiven())


OBJECT = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
HOOK = OBJECT | {"metadata": {"name": "h", "annotations": {"helm.sh/hook": "pre-delete"}}}
MADE = RenderedModule(
    RenderedChart("kind: ConfigMap\n", (OBJECT,), (), "read me\n", None), {"global": {}, "dns": {"a": 1, "b": 2}}
)


@pytest.mark.parametrize(
    ("expect", "now"),
    [
        ({"objects": [{"data": {"x": "0"}}]}, {"objects": [{"data": {"x": "1"}}]}),
        ({"objects": {"contain": [{"data": {"x": "0"}}]}}, {"objects": {"contain": [{"data": {"x": "1"}}]}}),
        ({"objects": {"exactly": []}}, {"objects": {"exactly": [OBJECT]}}),
        ({"count": 7, "notes": "read"}, {"count": 1, "notes": "read"}),
        ({"notes": "write"}, {"notes": "read me\n"}),
        ({"values": {"dns": {"a": 2}}}, {"values": {"dns": {"a": 1}}}),
        ({"hooks": [{"kind": "Job"}]}, {"hooks": []}),
    ],
)
def test_updated_expectation_keeps_its_keys(expect: object, now: object, tmp_path: Path) -> None:
    file = ModuleFile(tmp_path / "a.test.yaml", "", {}, tmp_path, ())
    assert updated(case(expect), file, MADE) == now
    assert list(differences(case(now), file, MADE)) == []


def test_case_without_expectations_gets_a_golden_file(tmp_path: Path) -> None:
    file = ModuleFile(tmp_path / "a.test.yaml", "", {}, tmp_path, ())
    expect = updated(case({}), file, MADE)
    assert expect == {"golden": "golden/some-case.yaml"}
    assert (tmp_path / "golden/some-case.yaml").read_text() == MADE.rendered.everything
    assert list(differences(case(expect), file, MADE)) == []


def test_a_golden_file_holds_notes_of_any_kind(tmp_path: Path) -> None:
    file, made = (
        ModuleFile(tmp_path / "a.test.yaml", "", {}, tmp_path, ()),
        RenderedModule(RenderedChart("", (), (), "ä\r\nb", None)),
    )
    expect = updated(case({}), file, made)
    assert list(differences(case(expect), file, made)) == []


@each("key", ["objects", "hooks"])
def test_objects_and_hooks_are_compared_with_the_rest(key: str, tmp_path: Path) -> None:
    file = ModuleFile(tmp_path / "a.test.yaml", "", {}, tmp_path, ())
    (tmp_path / "rest.yaml").write_text(yaml.safe_dump_all([OBJECT, HOOK]))
    hook = HelmHook("h", "ConfigMap", "m/hook.yaml", "", HOOK, ("pre-delete",))
    made = RenderedModule(RenderedChart("", (OBJECT,), (hook,), "", None), {})
    assert list(differences(case({key: {"rest": "rest.yaml"}}), file, made)) == []
    expect = {key: {"rest": "rest.yaml", "contain": [{"kind": "ConfigMap", "data": {"x": "0"}}]}}
    assert len(list(differences(case(expect), file, made))) == 1
    assert updated(case(expect), file, made) == {key: {"rest": "rest.yaml"}}


@pytest.mark.parametrize(
    ("text", "line"), [(None, "golden/x.yaml is not there; --update writes it"), ("kind: Pod\n", "-kind: Pod")]
)
def test_a_golden_file_is_compared_as_text(text: str | None, line: str, tmp_path: Path) -> None:
    (tmp_path / "golden").mkdir()
    if text:
        (tmp_path / "golden/x.yaml").write_text(text)
    file = ModuleFile(tmp_path / "a.test.yaml", "", {}, tmp_path, ())
    [wrong] = differences(case({"golden": "golden/x.yaml"}), file, MADE)
    assert [one for one in wrong.lines if one.endswith(line)]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{}", "a test file is a list of cases"),
        ("[{given: {}}]", ":1: [0]"),
        ("[{name: a}, {name: a}]", "'a' is the name of an earlier case"),
        ("[{name: a, expect: {object: []}}]", "expect"),
        ("[{name: a, expect: {objects: {contains: []}}}]", "contains"),
        ("[{name: a, expect: {objects: [1]}}]", "[0].expect.objects[0]"),
        ("[{name: a, expect: {failure: x, count: 1}}]", "a case that fails makes no count"),
        ("[{name: a, given: {values: 1, values: 2}}]", "is given twice"),
        ("[{name: a", "not YAML"),
    ],
)
def test_problems_of_a_file_are_reported_with_their_line(raw: str, message: str, tmp_path: Path) -> None:
    (path := tmp_path / "a.test.yaml").write_text(raw)
    with pytest.raises(BadInput) as refused:
        module_case_files.read(path, tmp_path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{path}:")


def test_test_files_are_beside_module_yaml_or_in_tests(module: Path) -> None:
    (module / "more.test.yaml").write_text(yaml.dump([{"name": "beside"}]))
    assert [file.path.name for file in module_case_files.read_all([module])] == ["more.test.yaml", "dns.test.yaml"]


def test_the_schema_accepts_what_is_read() -> None:
    schema = json.loads((Path(module_case_files.__file__).parent / "cases.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(CASES), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"name": "a", "when": {}}], schema)


def test_the_example_of_the_page_is_a_test_file(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "module-tools.md").read_text()
    [example] = re.findall(r"^```yaml\n(- name.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (path := tmp_path / "a.test.yaml").write_text(example)
    assert len(module_case_files.read(path, tmp_path).cases) == 3
    keys = module_case_files.MODULE_CASES.schema.document["$defs"]["expect"]["properties"]
    assert all(f"| `{key}` |" in page for key in keys)
