"""The examples of docs/sdk.md: the page shows the files of docs/sdk/, each in shell and in Python, and one set of cases
passes with both. Level: pure."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner.cli.main import run
from hookrunner.sdk import Cluster, Hook
from hookrunner.sdk.config import SHORT
from hookrunner.sdk.tasks import GIVEN
from tests.pages import DOCS

EXAMPLES = DOCS / "sdk"
PAGE = (DOCS / "sdk.md").read_text()
CASES = sorted(EXAMPLES.glob("*.yaml"))
SHOWN = re.compile(r"^```\w+ sdk/(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_shows_each_file_as_it_is() -> None:
    shown = dict(SHOWN.findall(PAGE))
    files = [file for file in EXAMPLES.iterdir() if file.suffix in (".sh", ".py")]
    assert shown == {file.name: file.read_text() for file in files}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["sh", "py"])
@pytest.mark.parametrize("cases", CASES, ids=lambda file: str(file.stem))
def test_an_example_passes_its_cases_in_both_languages(
    cases: Path, language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them as hooks of a module: one needs its values."""
    (hooks := tmp_path / "modules/web/hooks").mkdir(parents=True)
    hook = Path(shutil.copy(EXAMPLES / f"{cases.stem}.{language}", hooks))
    shutil.copy(cases, hook.with_name(f"{hook.name}.test.yaml"))
    assert run(["hook", "test", str(hook)], "hookrunner") == 0, capsys.readouterr().out


def test_the_page_names_all_that_there_is() -> None:
    public = [name for name in dir(Hook) if not name.startswith("_") and name not in ("config", "carry_out")]
    missing = [name for name in public if f"hook.{name}(" not in PAGE]
    missing += [name for name in (*GIVEN, *(word for word in dir(Cluster) if word[0] != "_")) if f"`{name}" not in PAGE]
    missing += [word for word in SHORT if f"`{word}=" not in PAGE]
    assert missing == []


@pytest.mark.slow
def test_the_functions_of_the_page_can_be_tested_as_it_says(tmp_path: Path) -> None:
    for name in ("label.py", "test_label.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout
