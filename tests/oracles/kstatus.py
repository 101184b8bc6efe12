"""The status of objects by cli-utils' kstatus itself.

verdicts(objects) -> [("InProgress", "LessReady"), …]
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.oracles.go_programs import go_program

GO_MODULE = Path(__file__).parent / "go"
UNKNOWN = ("Unknown", "")


def verdicts(objects: Iterable[Any]) -> list[tuple[str, str]]:
    """Status and reason of each object; unknown if the library gives up. Raises `BedUnavailable` without a program."""
    program = go_program("kstatus", GO_MODULE)
    lines = "".join(json.dumps(obj) + "\n" for obj in objects)
    answers = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    return [_verdict(json.loads(answer)) for answer in answers]


def _verdict(answer: dict[str, str]) -> tuple[str, str]:
    return UNKNOWN if answer["error"] else (answer["status"], answer["reason"])
