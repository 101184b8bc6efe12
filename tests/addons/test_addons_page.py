"""docs/addons.md and the part of docs/operations.md about addons say what the code does. Level: pure."""

import re
from pathlib import Path

from hookrunner.addons.addon_values import known_of
from hookrunner.addons.instance_fields import SHAPES, WITH_DEFAULT_IN_FILE, read_instance
from hookrunner.addons.version_resolver import ResolvedVersion
from hookrunner.hooks.workspace import InstancePaths
from hookrunner.model.addon_status import OWN_CONDITIONS, REASONS
from tests.addons.conftest import addon, instance_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "addons.md").read_text()
OPERATIONS = (DOCS / "operations.md").read_text()
METRICS = (DOCS / "metrics.md").read_text()


def section(title: str, page: str = PAGE) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


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
    coredns = addon()
    known = known_of(read_instance(coredns, instance_of({})), coredns, ResolvedVersion(""), "")
    assert set(re.findall(r"`(\w+)`", section("Values"))) >= known.keys()
    variables = [cells[0].strip("`") for cells in rows("Hooks")]
    assert variables == list(InstancePaths("", "", "").environment())


def test_operations_say_what_to_do_for_every_reason() -> None:
    table = re.findall(r"^\| (`\w+`)? ?\| (`[^|]*`) \| (.+) \| (.+) \|$", section("Addons", OPERATIONS), re.MULTILINE)
    documented, phase = dict[str, set[str]](), ""
    for named, reasons, _, _ in table:
        phase = named.strip("`") or phase
        documented.setdefault(phase, set()).update(re.findall(r"`(\w+)`", reasons))
    assert documented == {phase.value: set(reasons) for phase, reasons in REASONS.items()}


def test_alerts_use_metrics_and_labels_that_there_are() -> None:
    alerts = re.findall(r"expr: (.*?)\n    (?:for|annotations)", OPERATIONS, re.DOTALL)
    used = {name.removesuffix("_bucket") for text in alerts for name in re.findall(r"hookrunner_(\w+)", text)}
    rows = dict(re.findall(r"^\| `\{PREFIX\}(\w+)` \| ([^|]*) \|", METRICS, re.MULTILINE))
    assert len(alerts) > 20
    assert used - rows.keys() == set()
    of_addons = [text for text in alerts if "hookrunner_addon" in text]
    labels = {(name, label) for text in of_addons for name, label in re.findall(r"hookrunner_(\w+)\{(\w+)", text)}
    assert [pair for pair in labels if f"`{pair[1]}`" not in rows[pair[0]]] == []
