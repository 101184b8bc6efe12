"""How long a source on a network may take, how much of it is read at once, and how much is kept of it.

async with fetch_deadline("channel 'stable'", "https://example.com/addons", 60.0):
    await side_by_side(paths, read_file)
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from hookrunner.errors import PackageError

_T = TypeVar("_T")
_Key = TypeVar("_Key")

_AT_ONCE = 8
"""Files of one package that are read side by side."""


@asynccontextmanager
async def fetch_deadline(what: str, location: str, seconds: float) -> AsyncIterator[None]:
    """Bounds one channel or package as a whole; 0 is no limit. Raises PackageError with the reason Unreachable."""
    try:
        async with asyncio.timeout(seconds or None):
            yield
    except TimeoutError:
        text = f"no complete answer from {location} within {seconds:g} s"
        raise PackageError("Unreachable", f"{what}: {text}; raise --addon-fetch-timeout if it is slow") from None


async def side_by_side(items: Sequence[_T], read: Callable[[_T], Awaitable[None]]) -> None:
    """Read several at a time; the first error ends the others, and is raised."""
    waiting = iter(items)

    async def read_next() -> None:
        for item in waiting:
            await read(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(_AT_ONCE, len(items))):
                group.create_task(read_next())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


def remember(known: OrderedDict[_Key, _T], key: _Key, value: _T, most: int) -> None:
    """Keep a value as the newest; of more than `most` the oldest is dropped."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)
