"""How stories wait: poll until a condition holds, or fail with the name of the condition."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

INTERVAL, PATIENCE = 0.02, 60.0


async def until(reached: Callable[[], T], what: str, within: float = PATIENCE) -> T:
    """The first true result of `reached()`, asked for every few milliseconds. Raises TimeoutError naming `what`.

    Patience is a number of looks: while the machine stands still, or is slow, none is lost."""
    for _ in range(int(within / INTERVAL)):
        if result := reached():
            return result
        await asyncio.sleep(INTERVAL)
    raise TimeoutError(f"waited {within:g} s for: {what}")


async def stays(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Watch that something goes on being so. Raises AssertionError when it is not."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        assert holds(), f"no longer so: {what}"
        await asyncio.sleep(INTERVAL)
