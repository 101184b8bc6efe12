"""An engine to bring modules' hooks to, and modules in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypeAlias

import pytest

from hookrunner.background import Background
from tests.convergence.site import Site
from tests.engine.conftest import bench, client, jq

__all__ = ["MakeSite", "bench", "client", "jq", "make_site"]

MakeSite: TypeAlias = Callable[..., Site]


@pytest.fixture
async def make_site() -> AsyncIterator[MakeSite]:
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            yield lambda *modules, **more: Site(background, *modules, **more)
            background.stop()
