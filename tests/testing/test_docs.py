"""docs/testing-hooks.md and docs/webhooks.md are true: their files are written, their commands run one after another,
and what they print is what the page shows, but for times. Commands that need a cluster are marked `console kubectl`.

Level: pure."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import pages
from tests.fakes.command_line import Command, command

__all__ = ["command"]

PAGE = (pages.DOCS / "testing-hooks.md").read_text()
_TIME = re.compile(r"\d+(?:\.\d+)?( ?m?s\b)(?: \(\d+:\d\d:\d\d\))?")
"""In seconds or milliseconds; after a minute pytest adds minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("page", ["testing-hooks.md", "webhooks.md"])
def test_commands_of_the_page_print_what_it_shows(
    page: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for step in pages.steps(page):
        if isinstance(step, pages.File):
            step.write(tmp_path)
        elif not step.mark:
            for line, shown in step.commands:
                assert _TIME.sub(r"N\1", printed(line, command)) == _TIME.sub(r"N\1", shown), line


def printed(line: str, command: Command) -> str:
    """Our own commands run in this process."""
    program, *words = line.split()
    if program == "hookrunner":
        ended = command(*words)
        return ended.out + ended.err
    line = line.replace("python", sys.executable)
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p hookrunner", "COLUMNS": "80"}
    return subprocess.run(line.split(), env=env, capture_output=True, text=True, check=False).stdout


def test_page_mentions_every_command_and_option(command: Command) -> None:
    assert command("hook", "run", "--help").code == 0
    options = set(
        re.findall(r"--[a-z][-a-z]+", command("hook", "run", "--help").out + command("hook", "test", "--help").out)
    )
    assert options - {"--help"} <= set(re.findall(r"--[a-z][-a-z]+", PAGE))
