"""An engine to bring modules' hooks to, and modules in virtual time. A test without an end fails within seconds."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import NoReturn, TypeAlias

import pytest

from hookrunner.background import Background
from tests.convergence.site import Site
from tests.engine.conftest import bench, client, jq

__all__ = ["MakeSite", "bench", "client", "jq", "limited", "make_site"]

LONGEST = 60.0
"""Seconds of CPU for one test: in virtual time, a wait that never sleeps would go on without an end."""
LAST = 100_000.0
"""Virtual seconds for one test. Without any timer, time would stand still where all wait for each other."""

MakeSite: TypeAlias = Callable[..., Site]


@pytest.fixture
async def make_site() -> AsyncIterator[MakeSite]:
    end = asyncio.get_running_loop().call_later(LAST, _stop)
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            yield lambda *modules, **more: Site(background, *modules, **more)
            background.stop()
    end.cancel()


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """End a test that is busy without an end."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST, LONGEST)  # once more if its end has no end
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, before)


def _stop(number: int = 0, frame: FrameType | None = None) -> NoReturn:
    """No exception of another kind leaves a running event loop at once."""
    raise SystemExit("the test has no end")
