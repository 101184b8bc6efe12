"""The hooks that `hookrunner new hook` writes: they pass their tests and the linter, and overwrite nothing.

Level: pure."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.bench import Bench
from hookrunner.testing.cases import hook_cases
from hookrunner.testing.cases.case_runner import run_cases
from hookrunner.testing.cases.hook_cases import HookCases
from hookrunner.testing.starters.hook_starter import KINDS, LANGUAGES, starter
from tests.fakes.command_line import Command, command

__all__ = ["command"]

STARTERS = {**{kind: kind for kind in KINDS}, "resident": "events"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "resident"])
@pytest.mark.parametrize("language", LANGUAGES)
async def test_starter_passes_its_own_tests(language: str, kind: str, tools: Bench, tmp_path: Path) -> None:
    files = starter("10-teams/label", language, STARTERS[kind], tmp_path / "hooks", kind == "resident")
    files.write()
    assert files.hook == tmp_path / "hooks" / "10-teams" / f"label.{LANGUAGES[language]}"
    written = hook_cases.load(hook_cases.find([tmp_path / "hooks"]))
    cases = [(file, case) for file in written for case in file.cases]
    outcomes = [outcome async for outcome in run_cases(HookCases(tools), cases, 2)]
    assert len(outcomes) > 2
    assert [outcome.lines for outcome in outcomes if not outcome.passed] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "resident"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_starter_passes_the_linter_and_syntax_checks(
    language: str, kind: str, tmp_path: Path, command: Command
) -> None:
    files = starter("label", language, STARTERS[kind], tmp_path, kind == "resident")
    files.write()
    linted = command("hook", "lint", str(tmp_path))
    assert (linted.code, linted.err.strip()) == (0, "1 hook: no problems found")
    checker = ["ruff", "check", "--isolated"] if language == "python" else ["shellcheck"]
    subprocess.run([*checker, files.hook], check=True)


def test_names_with_shell_characters_are_quoted(tmp_path: Path) -> None:
    files = starter("my hook", "bash", "events", tmp_path)
    files.write()
    assert f"hookrunner hook test '{files.hook}'" in files.hook.read_text()


def test_the_hook_is_executable_as_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files = starter("a", "bash", "events", tmp_path)
        files.write()
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (files.hook, files.tests)] == [0o750, 0o640]


@pytest.mark.parametrize("there", ["a.sh", "a.sh.test.yaml"])
def test_existing_files_are_not_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(BadInput, match=f"{there} is there already, and nothing was changed"):
        starter("a", "bash", "events", tmp_path).write()
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_starter_is_created_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.sh.test.yaml").symlink_to(tmp_path / "gone" / "elsewhere")
    with pytest.raises(BadInput, match=r"cannot write .*a\.sh\.test\.yaml: File exists"):
        starter("a", "bash", "events", tmp_path).write()
    assert [path.name for path in tmp_path.iterdir()] == ["a.sh.test.yaml"]


@pytest.mark.parametrize("kind", KINDS)
def test_only_hooks_of_events_have_a_resident_starter(kind: str, tmp_path: Path) -> None:
    if kind == "events":
        assert starter("a", "bash", kind, tmp_path, resident=True).resident
        return
    with pytest.raises(BadInput, match="--resident writes a hook of the kind events"):
        starter("a", "bash", kind, tmp_path, resident=True)


@pytest.mark.parametrize("kind", KINDS)
def test_starter_texts_name_the_new_hook(kind: str, tmp_path: Path) -> None:
    files = starter("b.py", "python", kind, tmp_path)
    files.write()
    assert files.hook.name == "b.py"
    for path in (files.hook, files.tests):
        assert f"hookrunner hook test {files.hook}" in path.read_text()
        assert not re.search("@[A-Z]+@", path.read_text())


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../../b", ".a", "x/.a", "lib/a", "a/", " ", "a\nb"])
def test_invalid_hook_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        starter(name, "bash", "events", tmp_path)


@pytest.mark.parametrize(
    ("name", "webhook"),
    [("a/My_hook", "my-hook.example.com"), ("10-x", "10-x.example.com"), ("ü", "hook.example.com")],
)
def test_a_webhook_is_named_after_its_hook(name: str, webhook: str, tmp_path: Path) -> None:
    files = starter(name, "bash", "validating", tmp_path)
    files.write()
    assert f"- name: {webhook}\n" in files.hook.read_text()
