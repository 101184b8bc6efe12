"""Each code is reported for the bad samples of its directory, and no code for the good ones. Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.linting.findings import CODES
from hookrunner.linting.hook_linter import Linter
from tests.tables import each

SAMPLES = Path(__file__).parent / "samples"
BAD = sorted(SAMPLES.glob("*/bad*"))
GOOD = sorted(SAMPLES.glob("*/good*"))


def told(path: Path) -> str:
    return str(path.relative_to(SAMPLES))


def test_every_code_has_a_bad_and_a_good_sample() -> None:
    assert (
        {path.parent.name for path in BAD}
        == {path.parent.name for path in GOOD}
        == CODES.keys() - {"next-runs", "carrier", "writable"}
    )


@pytest.mark.slow
@each("sample", BAD, ids=told)
async def test_bad_sample_is_reported(linter: Linter, sample: Path) -> None:
    findings = (await replace(linter, is_strict=True).lint([sample])).findings
    assert sample.parent.name in {finding.code for finding in findings}


@pytest.mark.slow
@each("sample", GOOD, ids=told)
async def test_good_sample_is_not_reported(linter: Linter, sample: Path) -> None:
    findings = (await linter.lint([sample])).findings
    assert [str(finding) for finding in findings if finding.code not in ("next-runs", "carrier")] == []
