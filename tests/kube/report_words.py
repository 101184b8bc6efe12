"""Reads the reports of a watch as words: `a` for an object in a list, `Added a`, `RelistStarted`, `WatchLost: why` …"""

import asyncio
from collections.abc import AsyncGenerator

from hookrunner.model.events import ObjectSeen, Report, WatchLost

Batches = AsyncGenerator[list[Report], None]


def words(reports: list[Report]) -> list[str]:
    return [word(report) for report in reports]


def word(report: Report) -> str:
    match report:
        case ObjectSeen(change=None, key=key):
            return key.name
        case ObjectSeen(change=change, key=key):
            return f"{change} {key.name}"
        case WatchLost(reason=reason):
            return f"WatchLost: {reason}"
    return type(report).__name__


async def until(batches: Batches, last: str, patience: float = 1000) -> list[str]:
    """The words up to and including one that begins so."""
    received: list[str] = []
    async with asyncio.timeout(patience):
        while not any(word.startswith(last) for word in received):
            received += words(await anext(batches))
    return received
