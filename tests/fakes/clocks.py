"""Time as a story may bound it: a machine that stands still for seconds lets none of it pass."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

TICK, LONGEST = 0.02, 0.1


@asynccontextmanager
async def awake() -> AsyncIterator[Callable[[], float]]:
    """How many seconds the machine has been at work since the beginning, whenever asked. A tick of this process counts
    for a tenth of a second at most, however late it is."""
    passed = 0.0

    async def tick() -> None:
        nonlocal passed
        while True:
            began = time.monotonic()
            await asyncio.sleep(TICK)
            passed += min(time.monotonic() - began, LONGEST)

    ticking = asyncio.create_task(tick())
    try:
        yield lambda: passed
    finally:
        ticking.cancel()
        await asyncio.wait([ticking])
