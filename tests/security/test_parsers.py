"""Whatever bytes come, every parser reads or refuses them, within its memory and its time."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.parsers import PARSERS


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_every_text_is_read_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, 150, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
def test_every_text_of_many_is_read_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, 20_000, tmp_path)


def fuzz(name: str, texts: int, directory: Path) -> None:
    """Let a process read that many texts; it says which text it could not bear."""
    command = [sys.executable, "-m", "tests.security.fuzz", name, str(texts), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    last = directory / "last"
    assert done.returncode == 0, f"{last.read_bytes()[:500] if last.exists() else ''!r}\n{done.stderr[-3000:]}"
