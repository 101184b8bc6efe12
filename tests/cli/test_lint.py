"""The command: its arguments, what goes to which stream, and its exit codes. Level: pure."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hookrunner.cli.checks.lint_commands import hook_lint

SAMPLES = Path(__file__).parents[1] / "linting/samples"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(hook_lint, arguments, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["crlf/good.sh", "--strict"], 0),
        (["whole-cluster/bad.sh"], 0),
        (["whole-cluster/bad.sh", "--strict"], 1),
        (["unused-ignore/bad.sh", "--strict"], 0),
        (["refused/bad.sh"], 1),
        (["crlf/good.sh", "refused"], 1),
    ],
)
def test_errors_end_in_1_and_warnings_only_if_strict(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(SAMPLES)
    assert run(*arguments).return_value == code


@pytest.mark.parametrize("arguments", [["nowhere"], ["-o", "xml"], ["--what"], []])
def test_bad_usage_ends_in_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOOKRUNNER_HOOKS_DIR", raising=False)
    assert CliRunner().invoke(hook_lint, arguments).exit_code == 2


def test_lint_checks_the_hooks_directory_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    monkeypatch.setenv("HOOKRUNNER_HOOKS_DIR", "bom")
    assert run().stdout.startswith("bom/bad.sh:1:1: bom warning: ")


def test_the_summary_is_not_among_the_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    done = run("cron-busy/good.sh", "whole-cluster/bad.sh", "unused-ignore/bad.sh")
    assert done.stderr == "3 hooks: 1 warning, 2 infos\n"
    assert len(done.stdout.splitlines()) == 3
    assert run("bom/good.sh").stderr == "1 hook: no problems found\n"


def test_next_runs_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    assert run("cron-never/good.sh").stdout == ""
    assert "fires next: 2028-02-29T00:00:00+01:00, 2032-" in run("cron-never/good.sh", "-v").stdout


def test_json_is_all_that_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    done = run("-o", "json", "crlf")
    assert [(finding["path"], finding["line"], finding["code"]) for finding in json.loads(done.stdout)] == [
        ("crlf/bad.sh", 2, "crlf")
    ]
    assert done.stderr == ""


def test_github_output_is_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    assert run("-o", "github", "crlf").stdout.startswith("::warning file=crlf/bad.sh,line=2,col=")
