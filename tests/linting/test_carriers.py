"""What lint reports about how Python hooks are run. Level: pure."""

import os
import sys

import pytest

from hookrunner.linting.hook_linter import Linter
from tests.linting.conftest import Write

pytestmark = pytest.mark.slow  # each starts a Python

CONFIG = 'print("configVersion: v1\\nonStartup: 1\\nsettings: {}")'


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (f"import json\n{CONFIG}", "a fork of a prepared Python (prepared: json)"),
        (f"import json, yaml\n{CONFIG}", "a fork of a prepared Python (prepared: json; yaml is not prepared)"),
        (CONFIG.replace("{}", "{fork: false}"), "a process of its own: its `settings` have `fork: false`"),
    ],
)
async def test_each_python_hook_has_its_carrier(linter: Linter, write: Write, text: str, report: str) -> None:
    hook = write("hook", f"#!{sys.executable}\n{text}\n")
    os.utime(hook, (1e9, 1e9))
    remarks = [finding.text for finding in (await linter.lint([hook])).findings if finding.code == "carrier"]
    assert remarks == [f"each run is {report}"]


async def test_other_hooks_have_none(linter: Linter, write: Write) -> None:
    hook = write("hook", "#!/bin/sh\necho 'configVersion: v1\nonStartup: 1'")
    assert "carrier" not in {finding.code for finding in (await linter.lint([hook])).findings}
