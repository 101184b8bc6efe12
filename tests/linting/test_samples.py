"""Each code is reported for the bad samples of its directory, and no code for the good ones. Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.linting.findings import CODES, Finding
from hookrunner.linting.hook_linter import Linter

SAMPLES = Path(__file__).parent / "samples"
BAD = sorted(SAMPLES.glob("*/bad*"))
GOOD = sorted(SAMPLES.glob("*/good*"))


def test_every_code_has_a_bad_and_a_good_sample() -> None:
    assert (
        {path.parent.name for path in BAD}
        == {path.parent.name for path in GOOD}
        == CODES.keys() - {"next-runs", "carrier", "writable"}
    )


@pytest.mark.slow
async def test_bad_samples_are_reported(linter: Linter) -> None:
    findings = (await replace(linter, is_strict=True).lint(BAD)).findings
    reported = {(finding.code, sample) for finding in findings for sample in BAD if is_in(finding, sample)}
    assert {(sample.parent.name, sample) for sample in BAD} - reported == set()


@pytest.mark.slow
async def test_good_samples_are_not_reported(linter: Linter) -> None:
    findings = (await linter.lint(GOOD)).findings
    assert [str(finding) for finding in findings if finding.code not in ("next-runs", "carrier")] == []


def is_in(finding: Finding, sample: Path) -> bool:
    return Path(finding.path).is_relative_to(sample)
