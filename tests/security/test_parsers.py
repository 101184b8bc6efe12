"""Whatever bytes come, every parser reads or refuses them, within its memory and its time. Level: pure."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import is_night, several
from tests.security.parsers import PARSERS


@pytest.mark.slow
def test_every_text_is_parsed_or_refused(tmp_path: Path) -> None:
    fuzz([*PARSERS], several(150), tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
def test_every_text_of_many_is_parsed_or_refused(name: str, tmp_path: Path) -> None:
    fuzz([name], 20_000, tmp_path)


def fuzz(names: list[str], texts: int, directory: Path) -> None:
    """Let each of these parsers read that many texts in a process; it says which text it could not bear."""
    which = "new" if is_night() else "same"
    command = [sys.executable, "-m", "tests.security.fuzz", str(texts), which, str(directory), *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    last = directory / "last"
    assert done.returncode == 0, f"{last.read_bytes()[:500] if last.exists() else ''!r}\n{done.stderr[-3000:]}"
