"""The documents say what the code says: generated pages are fresh, and what they quote and link to is there."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrunner.settings import options
from tests.reference_pages import DOCS, PAGES

ROOT = DOCS.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("name", "page"), PAGES.items())
def test_generated_pages_are_fresh(name: str, page: Callable[[], str]) -> None:
    assert (DOCS / name).read_text() == page(), "run: python -m tests.reference_pages"


def test_every_flag_and_variable_has_its_row() -> None:
    page = (DOCS / "settings.md").read_text()
    assert [flag for flag in options() if f"| `--{flag.flag} " not in page] == []
    assert [name for option in options() for name in option.variables if f"`{name}`" not in page] == []


def test_the_hook_in_the_readme_is_the_shipped_one() -> None:
    hook = (ROOT / "hooks" / "pod-security.sh").read_text()
    assert f"```sh\n{hook}```" in README
    assert len(hook.splitlines()) == 6


def test_the_readmes_first_screen_has_the_two_commands() -> None:
    screen = README.splitlines()[:40]
    assert "    pip install '.[test]' && pytest" in screen
    (first,) = [line for line in screen if line.endswith("docs/quickstart.sh")]
    assert "pip install '.[test]' && pytest" in (ROOT / ".ci" / "run").read_text()
    assert (ROOT / first.split()[-1]).stat().st_mode & 0o111


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")], ids=lambda p: p.name
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("script", [".ci/run", "docs/quickstart.sh"])
def test_scripts_are_readable_by_bash(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True)
