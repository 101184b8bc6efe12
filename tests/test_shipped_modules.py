"""The shipped module, a sample, meets the rules for modules and shows all that modules can have.

Run on an API server: flows/modules/test_module_lives.py.

Level: control plane.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.main import run
from hookrunner.model.bindings import BindingType
from hookrunner.modules.shelf import load
from hookrunner.values import config_sections
from hookrunner.values.schemas import schema_files
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.controlplane.cluster import Cluster
from tests.tables import each

ROOT = Path(__file__).parents[1]
MODULES = ROOT / "modules"
LOADED = load([MODULES], unnumbered=1, strict=False)
(MODULE,) = LOADED.found.modules
KEY, SAMPLE = MODULE.key, MODULE.directory
SCHEMAS = schema_files.load(SAMPLE, KEY)
USERS = yaml.safe_load((SAMPLE / "openapi/config-values.yaml").read_text())
README = (SAMPLE / "README.md").read_text()
EXAMPLE: str = yaml.safe_load((SAMPLE / "example.yaml").read_text())["data"][KEY]
"""The section of the ConfigMap with all values, as it ships beside the module."""
HOOKS = [file for file in SAMPLE.glob("hooks/*") if file.suffix in (".py", ".sh")]
MUCH = {"greeting": "yes", "replicas": 1, "resources": {}, "image": {"tag": "1.29.1"}, "forbidden": ["rude"]}
"""Values that lead through the branches of the templates."""


def values(section: str) -> JSON:
    """The module's values if the ConfigMap has this section of it."""
    store = SectionStore(LOADED.statics.sections, {KEY: SCHEMAS})
    assert store.adopt(config_sections.parse({KEY: section}), None, {KEY}).refused == {}
    return store.document(KEY)


def test_sample_is_found_and_off_by_default() -> None:
    assert (MODULE.name, MODULE.problem, LOADED.found.rejected, LOADED.statics.enabled) == ("hello-world", "", (), {})
    assert MODULE.traits.description
    assert MODULE.traits.kubernetes


def test_example_has_the_defaults() -> None:
    defaults = values("{}")
    assert values(EXAMPLE) == defaults
    of_users = {name: value for name, value in defaults[KEY].items() if name in USERS["properties"]}
    assert config_sections.parse({KEY: EXAMPLE}).sections[KEY] == of_users


def test_every_value_is_explained_and_has_a_default() -> None:
    top = USERS["properties"]
    assert [name for name, one in top.items() if not {"description", "default", "type"} <= one.keys()] == []
    assert [name for name, one in top.items() if f"# {one['description'][:40]}" not in EXAMPLE] == []


@each(
    ("section", "complaint"),
    [
        ("replicas: 0", "replicas"),
        ("greeting: 15", "greeting"),
        ("replica: 3", "did you mean 'replicas'"),
        ("internal: {nodes: 7}", "internal"),
        ("port: 80", "port"),
    ],
)
def test_wrong_values_are_refused_with_their_names(section: str, complaint: str) -> None:
    assert SCHEMAS.config
    (problem,) = SCHEMAS.config.problems(SCHEMAS.config.defaults(yaml.safe_load(section)))
    assert complaint in problem


def rendered(helm: Path, section: JSON, scratch: Path) -> list[Any]:
    """What the stock helm makes of the chart, linted first."""
    (scratch / "values.yaml").write_text(json.dumps(values(json.dumps(section))))
    given = [str(SAMPLE), "--values", str(scratch / "values.yaml")]
    linted = subprocess.run([helm, "lint", "--strict", *given], capture_output=True, text=True)
    assert linted.returncode == 0, linted.stdout + linted.stderr
    template = ["template", MODULE.name, "--namespace=hookrunner", *given]
    done = subprocess.run([helm, *template], capture_output=True, text=True, check=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.mark.parametrize("section", [{}, MUCH], ids=["defaults", "much"])
def test_an_api_server_accepts_all_objects(section: JSON, helm: Path, cluster: Cluster, tmp_path: Path) -> None:
    """A dry run on a real one. Nothing is there twice, and what has Pods says what they may and need."""
    objects = rendered(helm, section, tmp_path)
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
    assert len(set(names)) == len(names)
    (tmp_path / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    flags = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
    told = cluster.kubectl("apply", *flags, "-f", str(tmp_path / "objects.json"))
    assert told.count("serverside-applied (server dry run)") == len(objects)
    (workload,) = [one for one in objects if one["kind"] in ("Deployment", "DaemonSet")]
    check_pods(workload)


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


def test_the_version_of_the_chart_is_that_of_the_image() -> None:
    chart = yaml.safe_load((SAMPLE / "Chart.yaml").read_text())
    assert (chart["name"], chart["version"]) == (MODULE.name, MODULE.traits.version)
    assert values("{}")[KEY]["image"]["tag"].removeprefix("v") == chart["appVersion"]
    assert chart["appVersion"].removesuffix(".0") in README


@pytest.mark.slow
def test_module_and_hooks_have_test_cases_and_they_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(SAMPLE.glob("tests/*.test.yaml"))
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert run(["module", "test", str(MODULES)], "hookrunner") == 0, capsys.readouterr().out


@pytest.mark.slow
def test_the_linter_finds_nothing_in_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    """No text of a value is anything else in its objects."""
    assert run(["module", "lint", "-o", "json", str(MODULES)], "hookrunner") == 0
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)] == []


@pytest.mark.slow
def test_the_linter_reports_nothing_about_its_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook", "lint", "--strict", str(SAMPLE / "hooks")], "hookrunner") == 0, capsys.readouterr().out


def test_the_readmes_name_the_module_and_its_example() -> None:
    table = (MODULES / "README.md").read_text()
    texts = (f"]({MODULE.weight}-{MODULE.name}/README.md)", f"`{KEY}`")
    assert ([text in table for text in texts], "example.yaml" in README) == ([True, True], True)


def test_sample_shows_every_feature_of_modules() -> None:
    """Each key of module.yaml, each kind of file, each binding of a module's hooks, each annotation."""
    keys = json.loads((ROOT / "hookrunner/modules/module.schema.json").read_text())["properties"]
    described = (SAMPLE / "module.yaml").read_text()
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
    assert [file for file in files if not (SAMPLE / file).exists()] == []
    hooks = "".join(hook.read_text() for hook in SAMPLE.glob("hooks/*.sh"))
    bindings = set(BindingType) - {BindingType.BEFORE_ALL, BindingType.AFTER_ALL}
    assert [key for key in bindings if not re.search(rf"^{key}:", hooks, re.MULTILINE)] == []
    answers = ("VALUES_JSON_PATCH_PATH", "CONFIG_VALUES_JSON_PATCH_PATH", "KUBERNETES_PATCH_PATH", "METRICS_PATH")
    assert [variable for variable in answers if f'"${variable}"' not in hooks] == []
    templates = "".join(template.read_text() for template in SAMPLE.glob("templates/*.yaml"))
    marks = (
        "hookrunner.io/adopt",
        "hookrunner.io/recreate",
        "helm.sh/resource-policy",
        "helm.sh/hook",
        ".Capabilities",
    )
    assert [mark for mark in marks if mark not in templates] == []
    schemas = "".join(schema.read_text() for schema in SAMPLE.glob("openapi/*.yaml"))
    extensions = ("x-extend", "x-required-for-helm", "x-deckhouse-validations")
    assert [key for key in extensions if f"{key}:" not in schemas] == []
