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
STATED = "permissions-missing"
"""Reported to authors who ask for it: with --strict."""


def test_every_code_has_a_section_in_the_order_of_the_code() -> None:
    assert list(SECTIONS) == list(CODES)


def test_page_states_severities_other_than_warning() -> None:
    severities = {code: re.search(r"^\*(Error|Info)", text, re.MULTILINE) for code, text in SECTIONS.items()}
    assert {code: found[1].lower() if found else "warning" for code, found in severities.items()} == CODES


@pytest.mark.slow
async def test_page_examples_are_reported_and_accepted(linter: Linter, write: Write) -> None:
    bad, good = dict[str, Path](), dict[str, Path]()
    for code in CODES.keys() - NOT_SHOWN:
        texts = re.findall(r"^```(?:sh|python)\n(.*?)^```$", SECTIONS[code], re.MULTILINE | re.DOTALL)
        bad[code], good[code] = (
            write(f"{kind}/{code}", text) for kind, text in zip(("bad", "good"), texts, strict=True)
        )
    strict = replace(linter, is_strict=True)
    found = await severities(linter, *bad.values()) | await severities(strict, bad[STATED])
    # What is wrong with a first line is also why the hook cannot be asked.
    assert {code: found[path] - ({"refused"} - {code}) for code, path in bad.items()} == {code: {code} for code in bad}
    assert await severities(linter, *good.values()) | await severities(strict, good[STATED]) == {}


async def severities(linter: Linter, *paths: Path) -> dict[Path, set[str]]:
    """The codes that are reported of each file, if any are."""
    found = dict[Path, set[str]]()
    for finding in (await linter.lint(paths)).findings:
        if finding.code not in ("next-runs", "carrier"):
            found.setdefault(Path(finding.path), set()).add(finding.code)
    return found


HOOKS = [
    (page.name, text)
    for page in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    for text in re.findall(r"^```(?:sh|python) hook\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
]


@pytest.mark.slow
async def test_the_hooks_of_other_pages_are_good_examples(linter: Linter, write: Write) -> None:
    hooks = [write(f"{number}-{page}", text) for number, (page, text) in enumerate(HOOKS)]
    assert await severities(linter, *hooks) == {}
