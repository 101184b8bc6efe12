"""The shipped modules meet the rules for all modules: schemas, values, charts and hooks.

Run on an API server: flows/modules/test_module_lives.py.

Level: control plane.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.main import run
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Module
from hookrunner.modules.shelf import load
from hookrunner.values import config_sections
from hookrunner.values.schemas import schema_files
from hookrunner.values.section_store import SectionStore
from tests.controlplane.cluster import Cluster
from tests.tables import each

ROOT = Path(__file__).parents[1]
MODULES = ROOT / "modules"
LOADED = load([MODULES], unnumbered=1, strict=False)
ALL = LOADED.found.modules
SAMPLE = "hello-world"
HOOKS = sorted(file for file in MODULES.glob("*/hooks/*") if file.suffix in (".py", ".sh"))
MUCH: dict[str, dict[str, Any]] = {
    "hello-world": {
        "greeting": "yes",
        "replicas": 1,
        "resources": {},
        "image": {"tag": "1.29.1"},
        "forbidden": ["rude"],
    },
}
"""Values that lead through the branches of the templates."""

every = pytest.mark.parametrize("module", ALL, ids=lambda module: str(module.name))


@cache
def store() -> SectionStore:
    """The values of all modules, without a configuration."""
    return SectionStore(
        LOADED.statics.sections, {module.key: schema_files.load(module.directory, module.key) for module in ALL}
    )


def settled(key: str, section: str) -> Any:
    """A module's values if the ConfigMap has this section of it."""
    own = SectionStore(LOADED.statics.sections, {key: schema_files.load(module_of(key).directory, key)})
    adopted = own.adopt(config_sections.parse({key: section}), None, {key})
    assert adopted.refused == {}
    return own.document(key)


def module_of(key: str) -> Module:
    (module,) = [one for one in ALL if one.key == key]
    return module


def shipped_values(module: Module) -> str:
    """The section of the ConfigMap with all values, as it ships beside the module."""
    return str(yaml.safe_load((module.directory / "example.yaml").read_text())["data"][module.key])


def test_shipped_modules_are_found_and_off_by_default() -> None:
    assert [module.name for module in ALL] == [SAMPLE]
    assert [module.problem for module in (*ALL, *LOADED.found.rejected) if module.problem] == []
    assert LOADED.statics.enabled == {}
    assert len({module.weight for module in ALL}) == len(ALL)
    assert all(module.traits.description and module.traits.kubernetes for module in ALL)


@every
def test_values_files_have_the_defaults(module: Module) -> None:
    section = shipped_values(module)
    assert settled(module.key, section) == store().document(module.key)
    users = yaml.safe_load((module.directory / "openapi/config-values.yaml").read_text())["properties"]
    assert config_sections.parse({module.key: section}).sections[module.key] == {
        name: value for name, value in store().effective(module.key).items() if name in users
    }


def properties(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in schema.get("properties", {}).items():
        yield f"{path}/{name}", one
        yield from properties(one, f"{path}/{name}")


@every
def test_every_value_is_explained_and_has_a_default(module: Module) -> None:
    schema = yaml.safe_load((module.directory / "openapi/config-values.yaml").read_text())
    top = {path: one for path, one in properties(schema) if path.count("/") == 1}
    assert [path for path, one in top.items() if not {"description", "default", "type"} <= one.keys()] == []
    assert [path for path, one in top.items() if f"# {one['description'][:40]}" not in shipped_values(module)] == []


@each(
    ("key", "section", "complaint"),
    [
        ("helloWorld", "replicas: 0", "replicas"),
        ("helloWorld", "greeting: 15", "greeting"),
        ("helloWorld", "replica: 3", "did you mean 'replicas'"),
        ("helloWorld", "internal: {nodes: 7}", "internal"),
        ("helloWorld", "port: 80", "port"),
    ],
)
def test_wrong_values_are_refused_with_their_names(key: str, section: str, complaint: str) -> None:
    schema = schema_files.load(module_of(key).directory, key).config
    assert schema is not None
    (problem,) = schema.problems(schema.defaults(yaml.safe_load(section)))
    assert complaint in problem


def rendered(helm: Path, module: Module, section: dict[str, Any], scratch: Path) -> list[Any]:
    """What the stock helm makes of the chart, linted first."""
    values = settled(module.key, json.dumps(section))
    (scratch / "values.yaml").write_text(json.dumps(values))
    given = [str(module.directory), "--values", str(scratch / "values.yaml")]
    linted = subprocess.run([helm, "lint", "--strict", *given], capture_output=True, text=True)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    template = ["template", module.name, "--namespace=hookrunner", *given]
    done = subprocess.run([helm, *template], capture_output=True, text=True, check=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.mark.parametrize("much", [False, True], ids=["defaults", "much"])
@every
def test_an_api_server_accepts_all_objects(
    module: Module, much: bool, helm: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """A dry run on a real one. Nothing is there twice, and what has Pods says what they may and need."""
    section = MUCH[module.name] if much else {}
    own = "namespace" in store().effective(module.key)
    objects = rendered(helm, module, section | ({"namespace": namespace} if own else {}), tmp_path)
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
    assert len(set(names)) == len(names)
    new = [one for one in objects if one["kind"] != "Namespace"]
    (tmp_path / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": new}))
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    told = cluster.kubectl("apply", *flags, "-f", str(tmp_path / "objects.json"))
    assert told.count("serverside-applied (server dry run)") == len(new)
    for one in new:
        if one["kind"] in ("Deployment", "DaemonSet"):
            check_pods(one)


def check_pods(workload: Any) -> None:
    """Requests, a probe or a reason to have none, and no more rights than needed."""
    spec = workload["spec"]["template"]["spec"]
    assert spec["nodeSelector"]["kubernetes.io/os"] == "linux"
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for container in spec["containers"]:
        assert re.fullmatch(r"[a-z0-9.]+/[a-z0-9./-]+:v?[0-9][0-9.]+", container["image"])
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        allowed = container["securityContext"]
        assert allowed.get("allowPrivilegeEscalation") is False
        assert not allowed.get("privileged")


@every
def test_the_version_of_the_chart_is_that_of_the_image(module: Module) -> None:
    chart = yaml.safe_load((module.directory / "Chart.yaml").read_text())
    assert (chart["name"], chart["version"]) == (module.name, module.traits.version)
    values = store().effective(module.key)
    if "image" in values:
        assert values["image"]["tag"].removeprefix("v") == chart["appVersion"]
    assert chart["appVersion"].removesuffix(".0") in (module.directory / "README.md").read_text()


@pytest.mark.slow
def test_each_has_test_cases_and_they_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the module and of each hook."""
    assert [module.name for module in ALL if not list(module.directory.glob("tests/*.test.yaml"))] == []
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert run(["module", "test", str(MODULES)], "hookrunner") == 0, capsys.readouterr().out


@pytest.mark.slow
def test_the_linter_finds_nothing_in_the_modules(capsys: pytest.CaptureFixture[str]) -> None:
    """No text of a value is anything else in their objects."""
    assert run(["module", "lint", "-o", "json", str(MODULES)], "hookrunner") == 0
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)] == []


@pytest.mark.slow
def test_the_linter_reports_nothing_about_their_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    directories = [str(directory) for directory in sorted(MODULES.glob("*/hooks"))]
    assert run(["hook", "lint", "--strict", *directories], "hookrunner") == 0, capsys.readouterr().out


def test_the_readme_names_every_module() -> None:
    table = (MODULES / "README.md").read_text()
    assert [one.name for one in ALL if f"]({one.weight:03}-{one.name}/README.md)" not in table] == []
    assert [one.name for one in ALL if f"`{one.key}`" not in table] == []
    assert [one.name for one in ALL if "example.yaml" not in (one.directory / "README.md").read_text()] == []


def test_sample_shows_every_feature_of_modules() -> None:
    """Each key of module.yaml, each kind of file, each binding of a module's hooks, each annotation."""
    sample = MODULES / f"100-{SAMPLE}"
    keys = json.loads((ROOT / "hookrunner/modules/module.schema.json").read_text())["properties"]
    described = (sample / "module.yaml").read_text()
    assert [key for key in keys if not re.search(rf"^(# )?{key}:", described, re.MULTILINE)] == []
    files = (
        "Chart.yaml",
        "values.yaml",
        "enabled",
        "openapi",
        "templates/NOTES.txt",
        "crds",
        "hooks",
        "tests",
        "README.md",
    )
    assert [file for file in files if not (sample / file).exists()] == []
    hooks = "".join(hook.read_text() for hook in sample.glob("hooks/*.sh"))
    bindings = set(BindingType) - {BindingType.BEFORE_ALL, BindingType.AFTER_ALL}
    assert [key for key in bindings if not re.search(rf"^{key}:", hooks, re.MULTILINE)] == []
    answers = ("VALUES_JSON_PATCH_PATH", "CONFIG_VALUES_JSON_PATCH_PATH", "KUBERNETES_PATCH_PATH", "METRICS_PATH")
    assert [variable for variable in answers if f'"${variable}"' not in hooks] == []
    templates = "".join(template.read_text() for template in sample.glob("templates/*.yaml"))
    marks = (
        "hookrunner.io/adopt",
        "hookrunner.io/recreate",
        "helm.sh/resource-policy",
        "helm.sh/hook",
        ".Capabilities",
    )
    assert [mark for mark in marks if mark not in templates] == []
    schemas = "".join(schema.read_text() for schema in sample.glob("openapi/*.yaml"))
    extensions = ("x-extend", "x-required-for-helm", "x-deckhouse-validations")
    assert [key for key in extensions if f"{key}:" not in schemas] == []
