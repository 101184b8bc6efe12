"""docs/addons.md says what the code does."""

import re
from pathlib import Path

from hookrunner.addons.addon_values import KnownOfInstance
from hookrunner.addons.instance_fields import SHAPES, WITH_DEFAULT_IN_FILE
from hookrunner.hooks.workspace import InstancePaths
from hookrunner.model.addon_status import OWN_CONDITIONS, REASONS

PAGE = (Path(__file__).parents[2] / "docs" / "addons.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    lines = re.findall(r"^\| (`.*) \|$", section(title), re.MULTILINE)
    return [line.split(" | ") for line in lines]


def test_every_common_field_has_its_row() -> None:
    fields = rows("What every object may set")
    assert [cells[0].strip("`") for cells in fields] == list(SHAPES)
    starred = {cells[0].strip("`") for cells in fields if cells[1].endswith("*")}
    assert starred == set(WITH_DEFAULT_IN_FILE)


def test_every_phase_has_its_row_with_all_reasons() -> None:
    phases = [cells for cells in rows("Status") if cells[0].strip("`") in tuple(REASONS)]
    documented = {cells[0].strip("`"): re.findall(r"`(\w+)`(?: \((\w+)\))?", cells[2]) for cells in phases}
    usual = {cells[0].strip("`"): cells[3].strip(" |") if len(cells) > 3 else "" for cells in phases}
    shown = {phase: {word: own or usual[phase] for word, own in words} for phase, words in documented.items()}
    assert shown == {phase.value: dict(reasons) for phase, reasons in REASONS.items()}


def test_every_condition_of_ours_is_named() -> None:
    assert {word for word in re.findall(r"`(\w+)`", section("Status"))} >= OWN_CONDITIONS


def test_hooks_and_values_are_as_written() -> None:
    known = KnownOfInstance("", "", "").document()
    assert set(re.findall(r"`(\w+)`", section("Values"))) >= known.keys()
    variables = [cells[0].strip("`") for cells in rows("Hooks")]
    assert variables == list(InstancePaths("", "", "").environment())
