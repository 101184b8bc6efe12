"""The shipped hooks meet the rules for all hooks: linted, shellchecked, each with test cases that pass.

At work together on an API server: flows/test_shipped_hooks.py.

Level: pure.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner.cli.main import run
from kubetypes.json_values import JSON
from tests.syntax import foreign_imports
from tests.tables import each

ROOT = Path(__file__).parents[1]
DIRECTORIES = [ROOT / "hooks", ROOT / "webhooks"]
ASKED = re.compile(r"kubernetes(Validating|Mutating|Custom)|@hook\.(validate|mutate|convert)\(")
"""What makes a hook one that the API server asks."""
HOOKS = sorted(file for place in DIRECTORIES for file in place.iterdir() if file.suffix in (".py", ".sh"))


@pytest.mark.slow
def test_the_linter_reports_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hook", "lint", "--strict", *map(str, DIRECTORIES)], "hookrunner") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_each_hook_has_test_cases_and_they_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert [hook.name for hook in HOOKS if not hook.with_name(f"{hook.name}.test.yaml").exists()] == []
    assert run(["hook", "test", *map(str, DIRECTORIES)], "hookrunner") == 0, capsys.readouterr().out


def test_shellcheck_reports_nothing() -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    scripts = [str(hook) for hook in HOOKS if hook.suffix == ".sh"]
    subprocess.run([shellcheck, *scripts], check=True)


@each("hook", [hook for hook in HOOKS if hook.suffix == ".py"], ids=lambda hook: str(hook.name))
def test_hooks_in_python_need_the_sdk_and_its_standard_library_only(hook: Path) -> None:
    assert foreign_imports(hook) == set()


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook.name != "pod-security.sh" and hook.suffix == ".sh"])
def test_a_hook_without_jq_says_so_at_the_start(hook: Path, tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    asked = subprocess.run([hook, "--config"], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (1, "jq is missing: install it, or take this hook away\n")


def namespace(name: str) -> JSON:
    metadata = {"name": name, "creationTimestamp": "2999-01-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "status": {"phase": "Active"}}


def test_several_new_namespaces_in_one_run_are_all_served(tmp_path: Path) -> None:
    """Contexts are combined; one of the namespaces is gone again, another comes twice."""
    entries = {name: {"object": namespace(name)} for name in ("a", "gone", "b")}
    snapshots = {"namespaces": [entries["a"], entries["b"]], "defaults": []}
    contexts = [
        {"binding": "namespaces", "type": "Event", **entries[name], "snapshots": snapshots}
        for name in ("a", "gone", "b", "a")
    ]
    (tmp_path / "contexts").write_text(json.dumps(contexts))
    files = {"BINDING_CONTEXT_PATH": f"{tmp_path}/contexts", "KUBERNETES_PATCH_PATH": f"{tmp_path}/patches"}
    subprocess.run([ROOT / "hooks/namespace-defaults.py"], env={**os.environ, **files}, check=True)
    patches = [json.loads(line) for line in (tmp_path / "patches").read_text().splitlines()]
    assert [one["name"] for one in patches if one["operation"] == "MergePatch"] == ["a", "b"]
    assert len(patches) == 6


def test_the_readme_names_every_hook() -> None:
    for place in DIRECTORIES:
        table = (place / "README.md").read_text()
        names = [hook.name for hook in HOOKS if hook.parent == place]
        assert [name for name in names if table.count(f"| [{name}]") != 1 or f"\n| {name} |" not in table] == []


def test_hooks_that_watch_need_no_webhook() -> None:
    """`hookrunner start` outside of a cluster would ask how the API server reaches it."""
    said = {hook.name for hook in HOOKS if ASKED.search(hook.read_text())}
    assert said == {hook.name for hook in HOOKS if hook.parent.name == "webhooks"}
