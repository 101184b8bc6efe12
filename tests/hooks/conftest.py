"""Hooks as files, and what runs them."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hookrunner.jq.program import Jq
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

MakeHook = Callable[[str, str], Path]


@pytest.fixture
def settings(tmp_path: Path) -> HooksSettings:
    (tmp_path / "hooks").mkdir()
    return HooksSettings(directory=tmp_path / "hooks", tmp_dir=tmp_path / "tmp", environ={"PATH": os.environ["PATH"]})


@pytest.fixture
def hooks_directory(settings: HooksSettings) -> Path:
    assert settings.directory
    return settings.directory


@pytest.fixture
def make_hook(hooks_directory: Path) -> MakeHook:
    def make(name: str, script: str) -> Path:
        path = hooks_directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
async def children() -> Children:
    return Children(Patience(kill=0.2, linger=0.05))


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    async with Jq(workers=1) as jq:
        yield jq
