"""The documents say what the code says: generated pages are fresh, and what they quote and link to is there.

Level: pure."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from hookrunner.settings import options
from tests.reference_pages import DOCS, PAGES
from tests.tables import each

ROOT = DOCS.parent
README = (ROOT / "README.md").read_text()


@each(("name", "page"), PAGES.items())
def test_generated_pages_are_fresh(name: str, page: Callable[[], str]) -> None:
    assert (DOCS / name).read_text() == page(), "run: python -m tests.reference_pages"


def test_every_flag_and_variable_has_its_row() -> None:
    page = (DOCS / "settings.md").read_text()
    assert [flag for flag in options() if f"| `--{flag.flag} " not in page] == []
    assert [name for option in options() for name in option.variables if f"`{name}`" not in page] == []


@each(
    ("page", "language", "file"),
    [("README.md", "python", "docs/hello/greet.py"), ("docs/quickstart.md", "sh", "hooks/pod-security.sh")],
)
def test_hooks_on_the_first_pages_are_those_of_the_checkout(page: str, language: str, file: str) -> None:
    hook = (ROOT / file).read_text()
    assert f"```{language}\n{hook}```" in (ROOT / page).read_text()
    assert len(list(filter(None, hook.splitlines()))) <= 10


def test_the_readme_is_short_and_begins_with_a_hook_a_command_and_what_is_seen() -> None:
    assert len(README.encode()) <= 5_000
    screen = README[: README.index("## ")]
    marks = ("```python", "    pip install . ", "](docs/first-minute.svg)")
    assert [mark for mark in marks if mark not in screen] == []


def test_the_readmes_first_screens_have_the_two_commands() -> None:
    """The first one is run by `tests/test_terminal_picture.py`, the second one by `.ci/run`."""
    screen = README.splitlines()[:50]
    assert "    pip install '.[test]' && pytest" in screen
    assert [line for line in screen if line.startswith("    pip install . && hookrunner start --sandbox ")]
    assert "pip install '.[test]' && pytest" in (ROOT / ".ci" / "run").read_text()


@each("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")], ids=lambda p: p.name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_objects_for_kubectl_do_not_begin_with_a_brace() -> None:
    """It would read them as JSON, and fail at YAML in one line."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), *ROOT.glob("*/*/README.md")]
    begins = re.compile(r"kubectl [^\n]*<<[^\n]*\n\s*\{")
    assert [str(page) for page in pages if begins.search(page.read_text())] == []


@each("script", ["fresh", "run", "renew", "release"])
def test_the_ci_scripts_are_readable_by_bash(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / ".ci" / script], check=True)


INSIDE = ("how-it-works.md", "where-to-look.md", "webhooks-inside.md", "fragile.md", "testing.md")
"""Pages for contributors. They name files of hookrunner by their path below it, others by that below the checkout."""


@each("name", INSIDE)
def test_pages_for_contributors_name_files_that_exist(name: str) -> None:
    paths = re.findall(r"`((?:[\w.-]+/)+(?:[\w.-]+)?|[\w-]+\.py)`", (DOCS / name).read_text())
    names = {file.name for package in ("hookrunner", "kubesandbox", "kubetypes", "tests") for file in _python(package)}
    homes = (ROOT, ROOT / "hookrunner", ROOT / "kubesandbox")
    found = {path: path in names or any((home / path).exists() for home in homes) for path in paths}
    assert [path for path, is_there in found.items() if not is_there] == []


def test_each_row_of_where_to_look_names_a_file_to_begin_in() -> None:
    """A room has dozens of files; who looks for a place needs one."""
    table = (DOCS / "where-to-look.md").read_text().partition("\n|---|---|---|\n")[2].partition("\n\n")[0]
    places = {row.split(" | ")[0]: re.findall(r"`([^`]+)`", row.split(" | ")[1]) for row in table.splitlines()}
    assert [row for row, paths in places.items() if not any("." in Path(path).name for path in paths)] == []


STORIES = (DOCS / "decision-stories.md").read_text()
DECISIONS = (DOCS / "decisions.md").read_text()


def test_decisions_are_numbered_in_order() -> None:
    """Git joins both sides of a conflict in this page, so that a decision could appear twice."""
    numbers = [int(number) for number in re.findall(r"^(?:<a .*</a>)?\*\*(\d+)\. ", STORIES, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_each_decision_has_one_story_with_an_anchor_and_one_row() -> None:
    """A story that is appended to the table by a merge belongs to the other page."""
    stories = re.findall(r'^<a id="(\d+)"></a>\*\*\1\. ', STORIES, re.MULTILINE)
    sections = [_decision_rows(section) for section in DECISIONS.split("\n## ")]
    assert sorted((row for rows in sections for row in rows), key=int) == stories
    assert [rows for rows in sections if rows != sorted(rows, key=int)] == []
    assert re.findall(r"^\*\*\d+\. ", STORIES + DECISIONS, re.MULTILINE) == []


def test_each_decision_names_a_test_that_exists_or_none() -> None:
    rows = [line.rsplit(" | ", 1)[1].removesuffix(" |") for line in DECISIONS.splitlines() if line.startswith("| [")]
    tests = [test.strip("`").partition("::") for row in rows if row != "–" for test in row.split(", ")]
    assert [test for test in tests if not _has_test(*test)] == []


def test_tests_that_pages_name_exist() -> None:
    pages = [ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]
    named = {test for page in pages for test in re.findall(r"\b(tests/[\w/]+\.py)(::)(\w+)", page.read_text())}
    assert [test for test in named if not _has_test(*test)] == []


def test_links_to_stories_lead_to_one() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]
    links = {link for page in pages for link in re.findall(r"decision-stories\.md#(\w+)\)", page.read_text())}
    assert [link for link in links if f'<a id="{link}"></a>' not in STORIES] == []


def test_no_row_of_the_differences_appears_twice() -> None:
    """For the same reason. A row is known by what it says, whatever its tests are called."""
    sections = (DOCS / "differences.md").read_text().split("\n## ")
    rows = [[line.rpartition(" | ")[0] for line in part.splitlines() if line.startswith("| ")] for part in sections]
    assert [row for part in rows for row in set(part) if part.count(row) > 1] == []


def _python(package: str) -> Iterator[Path]:
    return (ROOT / package).rglob("*.py")


def _decision_rows(section: str) -> list[str]:
    return re.findall(r"^\| \[(\d+)\]\(decision-stories\.md#\1\) \| ", section, re.MULTILINE)


def _has_test(file: str, separator: str, name: str) -> bool:
    path = ROOT / file
    return file.startswith("tests/") and path.exists() and (not separator or f"def {name}(" in path.read_text())
