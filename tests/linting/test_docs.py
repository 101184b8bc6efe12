"""docs/lint.md has a section for each code, and its examples are what they say. Level: pure."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.linting.findings import CODES
from hookrunner.linting.hook_linter import Linter
from tests.linting.conftest import Write

PAGE = (Path(__file__).parents[2] / "docs/lint.md").read_text()
SECTIONS = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}
NOT_SHOWN = {"not-executable", "not-found", "compiled-hook", "crlf", "bom", "writable", "next-runs", "carrier"}
"""Nothing of these can be seen in a text; they have their samples beside this file."""


def test_every_code_has_a_section_in_the_order_of_the_code() -> None:
    assert list(SECTIONS) == list(CODES)


def test_page_states_severities_other_than_warning() -> None:
    severities = {code: re.search(r"^\*(Error|Info)", text, re.MULTILINE) for code, text in SECTIONS.items()}
    assert {code: found[1].lower() if found else "warning" for code, found in severities.items()} == CODES


@pytest.mark.slow
@pytest.mark.parametrize("code", [code for code in CODES if code not in NOT_SHOWN])
async def test_page_examples_are_reported_and_accepted(linter: Linter, write: Write, code: str) -> None:
    bad, good = re.findall(r"^```(?:sh|python)\n(.*?)^```$", SECTIONS[code], re.MULTILINE | re.DOTALL)
    # What is wrong with a first line is also why the hook cannot be asked.
    linter = replace(linter, is_strict=code == "permissions-missing")
    assert {code} <= await severities(linter, write("hook", bad)) <= {code, "refused"}
    assert await severities(linter, write("hook", good)) == set()


async def severities(linter: Linter, path: Path) -> set[str]:
    return {finding.code for finding in (await linter.lint([path])).findings} - {"next-runs", "carrier"}


HOOKS = [
    (page.name, text)
    for page in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    for text in re.findall(r"^```(?:sh|python) hook\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), HOOKS, ids=[page for page, _ in HOOKS])
async def test_the_hooks_of_other_pages_are_good_examples(linter: Linter, write: Write, page: str, text: str) -> None:
    assert await severities(linter, write("hook", text)) == set()
