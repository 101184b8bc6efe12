"""The functions that read values and ask for changes of them. Level: pure."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from hookrunner.hooks import patches
from tests.shell.conftest import Hook

CONFIG = {"global": None, "m": {"a": 1}}
VALUES = {
    "global": {"modules": {"template": "%s.x"}},
    "m": {"a": 2, "b.c": {"x/y": "t"}, "yes": True, "no": False, "text": "true", "nil": None, "list": ["one", 2]},
}

Run = Callable[[str], CompletedProcess[str]]


@pytest.fixture
def run(hook: Hook, tmp_path: Path) -> Run:
    """Runs commands in a hook that has values; its patches are `config.patch` and `values.patch`."""
    (tmp_path / "config").write_text(json.dumps(CONFIG))
    (tmp_path / "values").write_text(json.dumps(VALUES))
    files = {"CONFIG_VALUES_PATH": "config", "VALUES_PATH": "values"}
    files |= {"CONFIG_VALUES_JSON_PATCH_PATH": "config.patch", "VALUES_JSON_PATCH_PATH": "values.patch"}
    variables = "\n".join(f"{name}={tmp_path}/{file}" for name, file in files.items())
    return lambda commands: hook(f"{variables}\n__main__() {{\n{commands}\n}}")


@pytest.mark.slow
def test_values_are_printed(run: Run) -> None:
    done = run(
        """
        values::get m.a; values::get --config m.a; values::get --required m.'"b.c"'."x/y"; values::get m.nothing.at.all
        values::get --config --required m.a; values::get --required m.nil; values::jq -c .m.list; values::get m.list.0
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["2", "1", "t", "null", "1", "null", '["one",2]', "one"]


@pytest.mark.slow
def test_questions_are_answered_by_the_exit_status(run: Run) -> None:
    done = run(
        """
        yes() { if "$@"; then echo "$*"; fi; }
        for path in m.a m.nil m.none global.modules m.list.1 m.list.2; do
          yes values::has "$path"; yes values::has --config "$path"
        done
        for path in m.yes m.no m.text m.none; do yes values::is_true "$path"; yes values::is_false "$path"; done
        yes values::is_true --config m.yes
        yes values::array_has m.list one; yes values::array_has m.list 2; yes values::array_has m.text true
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [line.removeprefix("values::") for line in done.stdout.splitlines()]
    assert found == [
        "has m.a",
        "has --config m.a",
        "has m.nil",
        "has global.modules",
        "has m.list.1",
        "is_true m.yes",
        "is_false m.no",
        "array_has m.list one",
    ]


@pytest.mark.slow
def test_changes_are_asked_for_in_their_order(run: Run, tmp_path: Path) -> None:
    done = run(
        """
        values::set m.password 'a "b"'; values::set m.count 12345678901; values::set 'm."b.c".x/y~z' '{"k": [1]}'
        values::set m.list.- three; values::unset m.list.0; values::unset m.none; values::set m.empty ''
        values::set --config m.a false; values::unset --config m.a; values::unset --config m.list
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    asked = {
        kind: patches.parse_values_patch((tmp_path / f"{kind}.patch").read_bytes()) for kind in ("values", "config")
    }
    assert [(one.op, one.path, one.value) for one in asked["values"]] == [
        ("add", "/m/password", 'a "b"'),
        ("add", "/m/count", 12345678901),
        ("add", "/m/b.c/x~1y~0z", {"k": [1]}),
        ("add", "/m/list/-", "three"),
        ("remove", "/m/list/0", None),
        ("add", "/m/empty", ""),
    ]
    assert [(one.op, one.path, one.value) for one in asked["config"]] == [
        ("add", "/m/a", False),
        ("remove", "/m/a", None),
    ]


@pytest.mark.slow
def test_a_required_value_that_is_absent_is_an_error(run: Run) -> None:
    done = run("values::get --config --required m.none")
    assert done.returncode == 1
    assert "Error: Value m.none required, but doesn't exist\n" in done.stderr
