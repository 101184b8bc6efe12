"""The shipped hooks meet the rules for all hooks: linted, shellchecked, each with test cases that pass.

At work together on an API server: flows/test_shipped_hooks.py.

Level: pure.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner.cli.main import run
from tests.tables import each

ROOT = Path(__file__).parents[1]
DIRECTORIES = [ROOT / "hooks", ROOT / "webhooks"]
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


def imported(hook: Path) -> set[str]:
    found = [node for node in ast.walk(ast.parse(hook.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [one.module or "" if isinstance(one, ast.ImportFrom) else one.names[0].name for one in found]
    return {name.partition(".")[0] for name in names}


@each("hook", [hook for hook in HOOKS if hook.suffix == ".py"], ids=lambda hook: str(hook.name))
def test_hooks_in_python_need_its_standard_library_only(hook: Path) -> None:
    assert imported(hook) <= sys.stdlib_module_names


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook.name != "pod-security.sh" and hook.suffix == ".sh"])
def test_a_hook_without_jq_says_so_at_the_start(hook: Path, tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    asked = subprocess.run([hook, "--config"], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (1, "jq is missing: install it, or take this hook away\n")


def test_several_new_namespaces_in_one_run_are_all_served(tmp_path: Path) -> None:
    """Contexts are combined; one of the namespaces is gone again, another comes twice."""
    known = {"since": "2999-01-01T00:00:00Z", "phase": "Active", "labels": None}
    entries = {name: {"filterResult": known | {"name": name}} for name in ("a", "gone", "b")}
    snapshots = {"namespaces": [entries["a"], entries["b"]], "defaults": []}
    contexts = [{"type": "Event", **entries[name], "snapshots": snapshots} for name in ("a", "gone", "b", "a")]
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
    said = {hook.name for hook in HOOKS if re.search("kubernetes(Validating|Mutating|Custom)", hook.read_text())}
    assert said == {hook.name for hook in HOOKS if hook.parent.name == "webhooks"}
