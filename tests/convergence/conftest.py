"""An engine to bring modules' hooks to, and modules in virtual time."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import TypeAlias

import pytest

from hookrunner.background import Background
from tests.convergence.site import Site
from tests.engine.conftest import bench, client, jq

__all__ = ["MakeSite", "bench", "client", "jq", "limited", "make_site"]

LONGEST = 10.0
"""Seconds of CPU for one test. In virtual time, a wait that never sleeps would go on without an end."""

MakeSite: TypeAlias = Callable[..., Site]


@pytest.fixture
async def make_site() -> AsyncIterator[MakeSite]:
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            yield lambda *modules, **more: Site(background, *modules, **more)
            background.stop()


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """End a test that is busy without an end. No exception of another kind leaves a running event loop at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(f"no end after {LONGEST:.0f} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, before)
