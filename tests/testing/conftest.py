"""Hooks as files, and a bench to run them on."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hookrunner.settings import HooksSettings
from hookrunner.testing.bench import Bench, bench

Author = Callable[..., Path]


@pytest.fixture
def write_hook(tmp_path: Path) -> Author:
    """Write an executable that answers `--config` with these keys and else does what the script says."""

    def write(config: dict[str, Any], script: str = "", name: str = "hook.sh") -> Path:
        path = tmp_path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        answer = json.dumps(config if "onKubernetesEvent" in config else {"configVersion": "v1", **config})
        path.write_text(f"#!/bin/bash\n[ \"$1\" = --config ] && {{ echo '{answer}'; exit; }}\n{script}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
async def tools() -> AsyncIterator[Bench]:
    async with bench(HooksSettings(environ={"PATH": os.environ["PATH"]}), timeout=60) as tools:
        yield tools
