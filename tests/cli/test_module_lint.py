"""`hookrunner module lint`: exit codes and output formats. The findings: `tests/linting/modules`. Level: pure."""

from pathlib import Path

import orjson
import pytest

from tests.fakes.command_line import Command


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a warning, and one with an error."""
    (tmp_path / "modules/010-warned").mkdir(parents=True)
    (tmp_path / "modules/010-warned/module.yaml").write_text("colour: red")
    (tmp_path / "modules/020-refused").mkdir()
    (tmp_path / "modules/020-refused/module.yaml").write_text("weight: heavy")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "modules"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("modules/010-warned", 0, "1 module, 0 hooks: 1 warning"),
        ("modules/010-warned --strict", 1, "1 module, 0 hooks: 1 warning"),
        ("", 1, "2 modules, 0 hooks: 1 error, 1 warning"),
        ("--modules-dir modules", 1, "2 modules, 0 hooks: 1 error, 1 warning"),
        ("--modules-dir nowhere", 2, "there is no directory 'nowhere'"),
        ("nowhere", 2, "Path 'nowhere' does not exist"),
        ("empty", 2, "there is no module in it; `hookrunner new module NAME --dir empty` makes one"),
    ],
)
def test_exit_code_follows_the_worst_severity(
    words: str, code: int, message: str, modules: Path, command: Command
) -> None:
    (modules.parent / "empty").mkdir()
    ended = command("module", "lint", *words.split())
    assert ended.code == code
    assert message in ended.err
    assert "level=" not in ended.err, "findings are printed, not logged"


def test_findings_are_printed_as_json(modules: Path, command: Command) -> None:
    findings = orjson.loads(command("module", "lint", "-o", "json").out)
    assert [(finding["path"], finding["line"], finding["code"]) for finding in findings] == [
        ("modules/010-warned/module.yaml", 1, "key-unknown"),
        ("modules/020-refused/module.yaml", 1, "module-refused"),
    ]
    assert "::error file=modules/020-refused/module.yaml" in command("module", "lint", "-o", "github").out
