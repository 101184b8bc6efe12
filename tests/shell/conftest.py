"""A hook written with the shell framework, run by the real bash with the real jq."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "hookrunner" / "shell" / "shell_lib.sh"

Hook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    """`hook(script, contexts, *arguments)`: the script gets the framework in front and `hook::run "$@"` behind it."""

    def call(script: str, contexts: object = None, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "context.json").write_text(json.dumps(contexts or [{"binding": "onStartup"}]))
        file = tmp_path / "hook.sh"
        file.write_text(f'source {LIBRARY}\n{script}\nhook::run "$@"\n')
        environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "BINDING_CONTEXT_PATH": str(tmp_path / "context.json")}
        return subprocess.run(["bash", str(file), *arguments], env=environ, capture_output=True, text=True)

    return call
