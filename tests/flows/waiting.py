"""How stories wait: poll until a condition holds, or fail with the name of the condition."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

INTERVAL, LONGEST, PATIENCE = 0.02, 0.2, 60.0


def _pauses(within: float, longest: float = LONGEST) -> Iterator[float]:
    """The pauses after looks, until so many seconds have been waited: an eighth of what was waited before, in bounds.

    A look costs the story and the program one or two milliseconds of CPU, at an API server more, and several stories
    wait at the same time: what they wait for needs that CPU."""
    waited = 0.0
    while waited < within:
        pause = max(INTERVAL, min(waited / 8, longest))
        yield pause
        waited += pause


async def until(reached: Callable[[], T], what: str | Callable[[], str], within: float = PATIENCE) -> T:
    """The first true result of `reached()`, asked for again and again. Raises TimeoutError naming `what`: a function
    if it has more to say, such as the end of a log, which is of no use as it was before the wait.

    Patience is the sum of all pauses: while the machine stands still, or is slow, none of it is lost."""
    for pause in _pauses(within):
        if result := reached():
            return result
        await asyncio.sleep(pause)
    raise TimeoutError(f"waited {within:g} s for: {what if isinstance(what, str) else what()}")


async def until_is(get: Callable[[], Awaitable[object]], wanted: object, what: str, longest: float = LONGEST) -> None:
    """Wait until something asked for anew is what is wanted, with the same patience, and `longest` seconds at most
    between two looks. Raises TimeoutError that says what it is."""
    for pause in _pauses(PATIENCE, longest):
        if (found := await get()) == wanted:
            return
        await asyncio.sleep(pause)
    raise TimeoutError(f"{what}: wanted {wanted}, is {found}")


async def stays(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Watch that something goes on being so. Raises AssertionError when it is not."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        assert holds(), f"no longer so: {what}"
        await asyncio.sleep(INTERVAL)
