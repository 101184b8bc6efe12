"""The words of the project, counted: what CONTRIBUTING asks of names and prose does not get worse.

Each bound is what is left. New text uses the glossary's words (`docs/where-to-look.md`).

Level: pure.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.syntax import statements

ROOT = Path(__file__).parents[1]
PACKAGES = ("hookrunner", "kubesandbox", "kubetypes")
FOLDERS = (*PACKAGES, "tests", "benchmarks", "docs", "hooks", "modules", "providers", "webhooks")
UNREAD = ("tests/linting/samples", "tests/test_words.py")

DIALECT = re.compile(
    r"\b(?:(?i:whoever|nobody|somebody|anybody|is told|was told|are told|not told|is to be|are to be|as it is wanted"
    r"|at its hand|has had its|small letters|of ours|for ever|may not yet|would else|of which the last|by itself alone)"
    r"|is none|are none)\b"
)
"""`is None` is Python's, and counts as no word."""
CITATION = re.compile(
    r"\b(?:shell-operator|addon-operator|user-pains|design|cluster-addons|cloud-controller-manager)\.md\b"
    r"|(?<!RFC \d{4} )§\d"
)
"""Pages that are not in the repository, and numbers of sections in them."""
PARTICIPLE = re.compile(
    r"_?(?:[a-z]+_)*"
    r"(?:[a-z]+ed|done|gone|told|kept|held|sent|found|made|taken|given|seen|read_in|put_away|sought|lent|met|begun|written"
    r"|known|shown)"
)
GERUND = re.compile(r"\w+(?<!Bind)(?<!Sett)(?<!Find)(?<!Str)(?<!Mapp)ing")
"""Except nouns of the field."""

AT_MOST = {
    "dialect": 11,
    "dead citations": 0,
    "actions named by participles": 0,
    "class names with several homes": 0,
    "gerunds as classes": 0,
}


def files(*folders: str) -> Iterator[Path]:
    """Python files and pages, without generated and foreign ones."""
    pages = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    for file in (*pages, *(file for folder in folders for file in sorted((ROOT / folder).rglob("*")))):
        name = file.relative_to(ROOT).as_posix()
        if file.suffix in (".py", ".md") and not name.startswith(UNREAD):
            yield file


def lines(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for file in files(*FOLDERS):
        text = file.read_text()
        matches = {text.count("\n", 0, match.start()) + 1: match[0] for match in pattern.finditer(text)}
        found += [f"{file.relative_to(ROOT)}:{number}: {words}" for number, words in matches.items()]
    return found


@functools.cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """All classes and async functions, read once."""
    trees = [(file, ast.parse(file.read_text())) for file in files(*PACKAGES) if file.suffix == ".py"]
    return [
        (file, node)
        for file, tree in trees
        for node in statements(tree)
        if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)
    ]


def participles() -> list[str]:
    """Async functions, which do I/O or wait, with a name that reads as a value. A property may."""
    return [
        f"{file.relative_to(ROOT)}:{node.lineno}: async def {node.name}"
        for file, node in nodes()
        if isinstance(node, ast.AsyncFunctionDef) and PARTICIPLE.fullmatch(node.name) and not _is_property(node)
    ]


def _is_property(function: ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def homonyms() -> list[str]:
    """Public classes of the three packages that share a name."""
    homes: dict[str, set[Path]] = {}
    for file, node in nodes():
        if isinstance(node, ast.ClassDef) and node.name[0] != "_":
            homes.setdefault(node.name, set()).add(file.relative_to(ROOT))
    return [f"{name}: {', '.join(map(str, sorted(found)))}" for name, found in sorted(homes.items()) if len(found) > 1]


def gerunds() -> list[str]:
    """Classes named after an activity, in place of the thing that does it."""
    classes = ((file, node) for file, node in nodes() if isinstance(node, ast.ClassDef))
    return [f"{file.relative_to(ROOT)}: class {node.name}" for file, node in classes if GERUND.fullmatch(node.name)]


COUNTED: Mapping[str, Callable[[], list[str]]] = {
    "dialect": lambda: lines(DIALECT),
    "dead citations": lambda: lines(CITATION),
    "actions named by participles": participles,
    "class names with several homes": homonyms,
    "gerunds as classes": gerunds,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTED)
def test_counts_do_not_exceed_their_bounds(kind: str) -> None:
    found = COUNTED[kind]()
    assert len(found) <= AT_MOST[kind], "\n".join(["new ones among these:", *found])
