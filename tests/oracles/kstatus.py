"""The status of objects by cli-utils' kstatus itself.

    verdicts(objects) -> [("InProgress", "LessReady"), …]

The program is built from `go/` in half a minute, and kept outside the checkout, apart from the control plane: keyed by
its sources and the kind of machine.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.controlplane.build import find_go
from tests.controlplane.cache import cached, run

GO_MODULE = Path(__file__).parent / "go"
UNKNOWN = ("Unknown", "")


def verdicts(objects: Iterable[Any]) -> list[tuple[str, str]]:
    """Status and reason of each object; unknown if the library gives up. Raises `BedUnavailable` without a program."""
    program = cached(f"kstatus-{_key()}", _build) / "kstatus"
    lines = "".join(json.dumps(obj) + "\n" for obj in objects)
    answers = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    return [_verdict(json.loads(answer)) for answer in answers]


def _verdict(answer: dict[str, str]) -> tuple[str, str]:
    return UNKNOWN if answer["error"] else (answer["status"], answer["reason"])


def _key() -> str:
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()}".encode())
    for file in sorted(GO_MODULE.iterdir()):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _build(into: Path) -> None:
    env = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    command = [str(find_go()), "build", "-ldflags=-s -w", "-o", str(into / "kstatus"), "."]
    run(command, cwd=GO_MODULE, env=env, why="the oracle of kstatus could not be built")
