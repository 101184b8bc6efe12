"""As PID 1, orphans are reaped and no exit status is stolen. Level: pure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import several

ROOT = Path(__file__).parents[2]
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]
HOOK = """#!/bin/sh
[ "$1" = wait ] && exec sleep 0.5
(sleep 0.01 &) >/dev/null 2>&1
exit "$1"
"""


def allowed(command: list[str]) -> bool:
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "init"), [(several(400), []), (several(2000), NAMESPACE)])
def test_orphans_are_reaped_and_every_exit_code_is_right(tmp_path: Path, runs: int, init: list[str]) -> None:
    """As a subreaper, and as PID 1 where the system lets us make a PID namespace (else as a subreaper again)."""
    hook = tmp_path / "hook.sh"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    prefix = init if allowed(init or ["env"]) else []
    command = [*prefix, sys.executable, "-m", "tests.process.adopter", str(hook), str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["wrong"], result["zombies"]) == (0, 0)
    assert (result["pid"] == 1) == bool(prefix)
