"""The addons in `addons/` meet the rules for all of them: files, schemas, channels, documentation and hooks.

What a hook does with its instance (`ADDON_OBJECT_PATH`) is tested here too, as cases in files cannot give one.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.main import run
from kubetypes.json_values import JSON
from tests.tables import each

ADDONS = Path(__file__).parents[1] / "addons"
ALL = sorted(file.parent for file in ADDONS.glob("*/addon.yaml"))
HOOKS = sorted(ADDONS.glob("*/hooks/*.py"))
FOREIGN = [
    {"filterResult": {"ours": False, "config": "coredns-abc"}},
]

every = pytest.mark.parametrize("addon", ALL, ids=lambda addon: str(addon.name))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def versions(addon: Path) -> set[str]:
    """The versions of its packages."""
    return {package.name for package in addon.glob("channels/packages/*/*")}


@every
def test_addon_has_every_file_that_users_need(addon: Path) -> None:
    files = ("README.md", "example.yaml", "values.yaml", "openapi/spec.yaml", "channels/stable", "channels/next")
    assert [name for name in files if not (addon / name).is_file()] == []
    assert list(addon.glob("tests/*.in.yaml"))
    example, kind = parsed(addon / "example.yaml"), parsed(addon / "addon.yaml")["object"]["kind"]
    assert (example["kind"], example["metadata"]["name"]) == (kind, "default")


@every
def test_channels_offer_packages_and_one_is_ahead(addon: Path) -> None:
    offered = {
        name: {entry["version"] for entry in parsed(addon / "channels" / name)["manifests"]}
        for name in ("stable", "next")
    }
    assert len(versions(addon)) >= 2
    assert offered["stable"] | offered["next"] <= versions(addon)
    assert offered["next"] - offered["stable"]


def fields(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}/{name}", field
        yield from fields(field, f"{path}/{name}")


@every
def test_every_field_has_a_description_and_a_line_in_the_readme(addon: Path) -> None:
    readme = (addon / "README.md").read_text()
    own = dict(fields(parsed(addon / "openapi/spec.yaml")))
    assert [path for path, field in own.items() if not {"description", "type"} <= field.keys()] == []
    assert [path for path in own if path.count("/") == 1 and f"`{path[1:]}" not in readme] == []
    assert [version for version in versions(addon) if f"| {version} |" not in readme] == []
    assert f"]({addon.name}/README.md)" in (ADDONS / "README.md").read_text()


@pytest.mark.slow
def test_hooks_of_addons_have_cases_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert [run(["hook", "test", str(addon / "hooks")], "hookrunner") for addon in ALL] == [0] * len(ALL), (
        capsys.readouterr().out
    )


@pytest.mark.slow
def test_the_linter_reports_nothing_about_hooks_of_addons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook", "lint", "--strict", str(ADDONS)], "hookrunner") == 0, capsys.readouterr().out


@each("hook", HOOKS, ids=lambda hook: str(hook.name))
def test_hooks_of_addons_need_the_standard_library_only(hook: Path) -> None:
    nodes = [node for node in ast.walk(ast.parse(hook.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def run_hook(directory: Path, hook: str, snapshots: JSON, values: JSON, instance: JSON) -> dict[str, Any]:
    """What the hook writes before a run of this instance, by the names of the files; raises CalledProcessError."""
    given = {
        "BINDING_CONTEXT_PATH": [{"binding": "beforeHelm", "type": "BeforeHelm", "snapshots": snapshots}],
        "VALUES_PATH": values,
        "ADDON_OBJECT_PATH": instance,
    }
    written = ("VALUES_JSON_PATCH_PATH", "KUBERNETES_PATCH_PATH", "CONDITIONS_PATH")
    files = {name: directory / name for name in (*given, *written)}
    for name, file in files.items():
        file.write_text(json.dumps(given[name]) if name in given else "")
    env = {**os.environ, **{name: str(file) for name, file in files.items()}}
    subprocess.run([ADDONS / hook], env=env, check=True, capture_output=True, text=True)
    return {name: json.loads(files[name].read_text() or "null") for name in written}


def adopt_coredns(directory: Path, spec: JSON, configs: JSON, deployments: JSON = FOREIGN) -> dict[str, Any]:
    """What the hook of coredns does about the CoreDNS that runs."""
    snapshots = {
        "services": [],
        "kubelets": [],
        "deployments": deployments,
        "configs": [{"filterResult": {"name": name, "corefile": text}} for name, text in configs.items()],
    }
    instance = {
        "apiVersion": "addons.x-k8s.io/v1alpha1",
        "kind": "CoreDNS",
        "metadata": {"namespace": "kube-system", "name": "default"},
        "spec": spec,
    }
    values = {"global": {}, "coredns": {**spec, "internal": {}}}
    return run_hook(directory, "coredns/hooks/cluster-dns.py", snapshots, values, instance)


def test_adopted_corefile_is_copied_into_the_spec_and_used_at_once(tmp_path: Path) -> None:
    written = adopt_coredns(tmp_path, {"adopt": True}, {"coredns": "unused", "coredns-abc": ". {\n}\n"})
    assert written["KUBERNETES_PATCH_PATH"] == {
        "operation": "MergePatch",
        "apiVersion": "addons.x-k8s.io/v1alpha1",
        "kind": "CoreDNS",
        "namespace": "kube-system",
        "name": "default",
        "mergePatch": {"spec": {"corefile": ". {\n}\n"}},
    }
    assert written["VALUES_JSON_PATCH_PATH"]["value"]["corefile"] == ". {\n}\n"


def test_corefile_is_not_copied_without_need(tmp_path: Path) -> None:
    ours = [{"filterResult": {"ours": True, "config": "coredns-abc"}}]
    corefiles = {"coredns-abc": ". {\n}\n"}
    nothing: list[dict[str, Any]] = [
        adopt_coredns(tmp_path, {}, corefiles),
        adopt_coredns(tmp_path, {"adopt": True}, corefiles, ours),
        adopt_coredns(tmp_path, {"adopt": True}, corefiles, []),
        adopt_coredns(tmp_path, {"adopt": True}, {}),
        adopt_coredns(tmp_path, {"adopt": True, "corefile": "mine"}, corefiles),
    ]
    assert [written["KUBERNETES_PATCH_PATH"] for written in nothing] == [None] * 5
    corefile = [written["VALUES_JSON_PATCH_PATH"]["value"]["corefile"] for written in nothing]
    assert corefile == ["", "", "", "", "mine"]


def test_config_map_without_a_corefile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        adopt_coredns(tmp_path, {"adopt": True}, {"coredns-abc": ""})
    assert "ConfigMap kube-system/coredns-abc of the CoreDNS to adopt has no key Corefile" in failure.value.stderr
