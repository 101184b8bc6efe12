"""The house rules that a machine can check: rooms, openings, sizes, one reader of the environment."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted((ROOT / "hookrunner").rglob("*.py"))
FILES = [*CODE, *(file for room in ("tests", "benchmarks") for file in sorted((ROOT / room).rglob("*.py")))]
LONGEST_FILE, LONGEST_FUNCTION = 400, 50


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_rooms_import_downwards_only() -> None:
    """In a process of its own: import-linter switches off the loggers that exist when it starts."""
    command = [sys.executable, "-m", "importlinter.cli", "--config", "setup.cfg", "--no-cache"]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_file_opens_with_a_docstring_and_stays_short(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= LONGEST_FILE
    assert not text or ast.get_docstring(ast.parse(text)), "the first thing in a module is what it does, and why"


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("file", FILES, ids=named)
def test_functions_stay_short(file: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert {f.name: length(f) for f in functions if length(f) > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("file", CODE, ids=named)
def test_only_the_settings_read_the_environment_and_no_import_hides(file: Path) -> None:
    found = set(re.findall(r"os\.environb?(?!\.clear)|getenv|TYPE_CHECKING", file.read_text()))
    assert found <= ({"os.environ"} if file.parent.name == "settings" else set())
