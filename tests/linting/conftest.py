"""A linter whose clock stands still."""

import os
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hookrunner.jq.program import Jq
from hookrunner.linting.hook_linter import Linter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

FRAMEWORK = Path(__file__).parents[2] / "hookrunner/shell/shell_lib.sh"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

Write = Callable[[str, str], Path]


@pytest.fixture
async def linter(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Linter]:
    """Hooks find a `hookrunner` that only knows `shell-lib` (tests/cli/test_about.py): to start Python for that took
    0.1 s of CPU each time."""
    programs = tmp_path_factory.mktemp("bin")
    (programs / "hookrunner").write_text(f"#!/bin/sh\n[ $1 = shell-lib ] && echo {FRAMEWORK}\n")
    (programs / "hookrunner").chmod(0o755)
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    settings = HooksSettings(tmp_path, "stop", 60.0, tmp_path, environ=environ)
    async with Jq(workers=1) as jq:
        yield Linter(settings, Children(Patience(kill=0.2, linger=0.05)), jq, NOW)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Make an executable file below the temporary directory."""

    def made(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    return made
