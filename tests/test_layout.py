"""The house rules that a machine can check: rooms, openings, sizes, one reader of the environment. Level: pure."""

import ast
import re
import subprocess
import sys
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.levels import LEVELS, stated_level
from tests.syntax import statements

ROOT = Path(__file__).parents[1]
PACKAGES = ("hookrunner", "kubesandbox", "kubetypes")
CODE = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
FILES = [*CODE, *(file for room in ("tests", "benchmarks") for file in sorted((ROOT / room).rglob("*.py")))]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 400, 50
READS = re.compile(r"os\.environb?(?!\.clear)|getenv|TYPE_CHECKING")
SETTINGS = "hookrunner/settings/"
OF_OTHER_PYTHONS = "hookrunner/process/fork_"
"""Programs that run under the Python of hooks, whose environment is a hook's."""
PROGRAMS_OF_OTHERS = "hookrunner/sdk/"
"""A part of hooks: the environment is how hookrunner, or shell-operator, calls them."""
WORLDS = {
    "FakeCluster": re.compile(r"\bFakeCluster\("),
    "FakeApi": re.compile(r"\b(FakeApi|MortalApi)\("),
    "sandbox": re.compile(r"\b(serving|api_server)\(|\blauncher: "),
    "control plane": re.compile(r"^(async )?def test_.*cluster: (Own)?Cluster\b", re.MULTILINE),
    "image": re.compile(r"^(async )?def test_.*_image: Image\b", re.MULTILINE),
}
"""What makes the world of a level, or asks for it."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What the rules ask of a file. Trees of all files would take a gigabyte."""

    lines: int
    is_silent: bool
    """It has code and no docstring."""
    functions: list[tuple[str, int]]
    """Name and lines of each function's body, without the docstring."""


@pytest.fixture(scope="module")
def contents() -> dict[Path, Contents]:
    """All our code, parsed once."""
    return {file: _contents(file.read_text()) for file in FILES}


def _contents(text: str) -> Contents:
    tree = ast.parse(text)
    functions = [node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    is_silent = bool(tree.body) and not ast.get_docstring(tree)
    return Contents(len(text.splitlines()), is_silent, [(node.name, length(node)) for node in functions])


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_the_sandbox_is_tested_without_hookrunner() -> None:
    files = [file for room in ("kubesandbox", "kubetypes") for file in (ROOT / "tests" / room).rglob("*.py")]
    imports = re.compile(r"^\s*(?:from|import) hookrunner\b", re.MULTILINE)
    assert [named(file) for file in files if imports.search(file.read_text())] == []


@pytest.mark.slow
def test_rooms_import_downwards_only() -> None:
    """In a process of its own: import-linter switches off the loggers that exist when it starts."""
    command = [sys.executable, "-m", "importlinter.cli", "--config", "setup.cfg", "--no-cache"]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.slow
def test_a_file_opens_with_a_docstring_and_stays_short(contents: dict[Path, Contents]) -> None:
    """The first thing in a module is what it does, and why."""
    silent = [named(file) for file, content in contents.items() if content.is_silent]
    long = [named(file) for file, content in contents.items() if content.lines > LONGEST_FILE]
    assert (silent, long) == ([], [])


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.slow
def test_functions_stay_short(contents: dict[Path, Contents]) -> None:
    long = [
        f"{named(file)}: {name} has {lines} lines"
        for file, content in contents.items()
        for name, lines in content.functions
        if lines > LONGEST_FUNCTION
    ]
    assert long == []


def test_only_the_settings_read_the_environment_and_no_import_hides() -> None:
    found = {named(file): set(READS.findall(file.read_text())) for file in CODE}
    others = (SETTINGS, OF_OTHER_PYTHONS, PROGRAMS_OF_OTHERS)
    allowed = {name: {"os.environ"} for name in found if name.startswith(others)}
    assert {name: words for name, words in found.items() if words - allowed.get(name, set())} == {}


def test_each_test_file_states_its_level() -> None:
    """The last sentence of its docstring; the tables of CONTRIBUTING have them in their order."""
    assert [named(file) for file in TESTS if not level_of(file.read_text())] == []
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert tuple(re.findall(r"^\d\. \*([A-Za-z ]+)\*:", text, re.MULTILINE)) == LEVELS


def test_file_of_a_low_level_uses_no_world_of_a_higher_one() -> None:
    """Fixtures that others ask for are checked when tests are collected (`tests/selection.py`)."""
    low = {
        named(file): [level for level in higher if WORLDS[level].search(text)]
        for file in TESTS
        for text in [file.read_text()]
        if (stated := level_of(text))
        for higher in [LEVELS[LEVELS.index(stated) + 1 :]]
    }
    assert {name: levels for name, levels in low.items() if levels} == {}


def level_of(text: str) -> str:
    """What the file with this text states. Found without a syntax tree, which would take a thousand times as long."""
    opening = re.match(r'"""(.*?)"""', text, re.DOTALL)
    return stated_level(opening[1] if opening else "")


def documented() -> list[str]:
    """The rooms of CONTRIBUTING's tables."""
    tables = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    return sorted(name for cell in tables for name in re.findall(r"`([^`]+)`", cell))


def test_long_files_are_where_their_list_says() -> None:
    assert [file for file in LONG if not (ROOT / file).is_file()] == []


def test_contributing_has_each_room_once() -> None:
    """A room that is new, moved or gone changes the table."""
    package = ROOT / "hookrunner"
    rooms = [
        f"{path.name}/"
        for path in package.iterdir()
        if path.is_dir() and any(path.glob("[!_]*.*")) and path.name[0] != "_"
    ]
    files = [path.name for path in package.glob("[!_]*.py")]
    packages = [f"{path.parent.name}/" for path in ROOT.glob("*/py.typed") if path.parent != package]
    assert documented() == sorted([*rooms, *files, *packages])


def test_each_protected_library_is_imported_by_the_rooms_of_its_contract() -> None:
    """A fence around a room that no longer imports the library is stale."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    contracts = [section for section in config.values() if section.get("type") == "protected"]
    stale = [
        f"{contract['name']}: {importer}"
        for contract in contracts
        for importer in contract["allowed_importers"].split()
        if not any(imports(file, contract["protected_modules"].strip()) for file in files_of(importer))
    ]
    assert stale == []


def files_of(module: str) -> list[Path]:
    path = ROOT.joinpath(*module.split("."))
    return [*path.rglob("*.py")] if path.is_dir() else [path.with_suffix(".py")]


def imports(file: Path, module: str) -> bool:
    return re.search(rf"^\s*(from|import) {module}\b", file.read_text(), re.MULTILINE) is not None
