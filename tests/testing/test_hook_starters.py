"""The hooks that `hookrunner new hook` writes: they pass their tests and the linter, and overwrite nothing.

Level: pure."""

import os
import re
import subprocess
from itertools import chain, product
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


@pytest.fixture
def written(tmp_path: Path) -> dict[str, list[Path]]:
    """A starter of every kind in every language: the hooks by language."""
    hooks: dict[str, list[Path]] = {language: [] for language in LANGUAGES}
    for language, kind in product(LANGUAGES, STARTERS):
        files = starter(f"10-{language}/{kind}", language, STARTERS[kind], tmp_path / "hooks", kind == "resident")
        files.write()
        assert files.hook == tmp_path / "hooks" / f"10-{language}" / f"{kind}.{LANGUAGES[language]}"
        hooks[language].append(files.hook)
    return hooks


@pytest.mark.slow
async def test_starters_pass_their_own_tests(written: dict[str, list[Path]], tools: Bench, tmp_path: Path) -> None:
    files = hook_cases.load(hook_cases.find([tmp_path / "hooks"]))
    assert {file.subject for file in files if len(file.cases) > 2} == {*chain(*written.values())}
    cases = [(file, case) for file in files for case in file.cases]
    outcomes = [outcome async for outcome in run_cases(HookCases(tools), cases, 2)]
    assert [outcome.lines for outcome in outcomes if not outcome.passed] == []


@pytest.mark.slow
def test_starters_pass_the_linter_and_syntax_checks(
    written: dict[str, list[Path]], tmp_path: Path, command: Command
) -> None:
    linted = command("hook", "lint", str(tmp_path / "hooks"))
    number = len(LANGUAGES) * len(STARTERS)
    assert (linted.code, linted.err.strip()) == (0, f"{number} hooks: no problems found")
    for language, hooks in written.items():
        checker = ["ruff", "check", "--isolated"] if language == "python" else ["shellcheck"]
        subprocess.run([*checker, *hooks], check=True)


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
