"""What github.com/coredns/corefile-migration makes of Corefiles.

answers([Request("1.1.3", "1.5.0", False, text)]) -> [{"servers": …, "notices": …, "default": …, "error": …}]
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kubetypes.light_dataclasses import dataclass
from tests.oracles.go_programs import go_program

GO_MODULE = Path(__file__).parent / "corefile"


@dataclass(frozen=True)
class Request:
    """A Corefile for one release that another one is to read; `down` if that is older."""

    origin: str
    target: str
    down: bool
    text: str


def answers(requests: Iterable[Request]) -> list[dict[str, Any]]:
    """An answer for each request, as `corefile/main.go` writes it. Raises `BedUnavailable` without a program."""
    program = go_program("corefile", GO_MODULE)
    lines = "".join(json.dumps(vars(request)) + "\n" for request in requests)
    run = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(answer) for answer in run.stdout.splitlines()]
