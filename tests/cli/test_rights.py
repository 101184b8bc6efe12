"""`hookrunner rbac`: what it prints, and what it refuses. Which rights are found: tests/rights. Level: pure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.command_line import Command
from tests.trees import write_files

HOOK = """\
#!/bin/sh
cat <<'EOF'
configVersion: v1
settings:
  permissions:
  - {apiGroups: [""], resources: [configmaps], verbs: [%s], namespaces: [web]}
kubernetes: [{name: nodes, kind: Node}]
EOF
"""


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"hooks/a.sh*": HOOK % "patch"})
    monkeypatch.chdir(tmp_path)


def names(objects: Sequence[Any]) -> list[tuple[object, ...]]:
    return [(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects]


def test_objects_can_be_applied_in_their_order(command: Command) -> None:
    printed = list(yaml.safe_load_all(command("rbac", "--service-account", "tools/runner").out))
    assert names(printed) == [
        ("Namespace", None, "web"),
        ("Namespace", None, "tools"),
        ("ServiceAccount", "tools", "runner"),
        ("ClusterRole", None, "tools-runner"),
        ("ClusterRoleBinding", None, "tools-runner"),
        ("Role", "web", "tools-runner"),
        ("RoleBinding", "web", "tools-runner"),
    ]
    assert [obj["rules"] for obj in printed if "rules" in obj] == [
        [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}],
        [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}],
    ]


def test_a_directory_of_hooks_may_be_named_as_for_lint(command: Command, tmp_path: Path) -> None:
    (tmp_path / "hooks").rename(tmp_path / "other")
    assert command("rbac", "other").out == command("rbac", "--hooks-dir", "other").out
    assert "patch" in command("rbac", "other", "-o", "rules").out
    both = command("rbac", "other", "--hooks-dir", "other")
    assert (both.code, "give one of them" in both.err) == (2, True)


def test_values_of_the_chart_are_the_rules(command: Command) -> None:
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
    web = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}
    printed = yaml.safe_load(command("rbac", "-o", "chart").out)
    assert printed == {"rbac": {"rules": [nodes], "namespaces": {"web": [web]}}}


def test_the_table_names_who_needs_what(command: Command) -> None:
    head, *rows = [line.split(maxsplit=4) for line in command("rbac", "-o", "rules").out.splitlines()]
    assert head[:4] == ["NAMESPACE", "RESOURCE", "NAMES", "VERBS"]
    assert rows == [
        ["web", "configmaps", "*", "patch", "hook a.sh  settings.permissions"],
        ["*", "nodes", "*", "list,watch", "hook a.sh  binding 'nodes'"],
    ]


def test_a_misspelt_verb_names_the_hook_and_the_nearest_one(command: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"hooks/a.sh*": HOOK % "ptach"})
    refused = command("rbac")
    assert (refused.code, refused.out) == (1, "")
    assert "a.sh" in refused.err
    assert "settings.permissions[0].verbs[0] should be one of" in refused.err
    assert "did you mean 'patch'?" in refused.err


def test_an_account_needs_a_namespace(command: Command) -> None:
    refused = command("rbac", "--service-account", "runner")
    assert (refused.code, "--service-account: it takes NAMESPACE/NAME" in refused.err) == (2, True)


def test_a_module_that_lacks_values_is_not_left_out(command: Command, tmp_path: Path) -> None:
    chart = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}
    template = {"templates/a.yaml": '{{ required "web.size is missing" .Values.web.size }}'}
    write_files(tmp_path / "modules" / "010-web", chart | template)
    refused = command("rbac", "--modules-dir", "modules")
    assert refused.code == 2
    assert "module web cannot be rendered" in refused.err
    assert "name a file with its values, --config" in refused.err


def test_with_nothing_to_look_at_the_flags_are_named(command: Command) -> None:
    refused = command("rbac", "--hooks-dir", ":", "--modules-dir", ":")
    assert (refused.code, "give --hooks-dir, --modules-dir or --addons-dir" in refused.err) == (2, True)
