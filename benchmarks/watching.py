"""When a watch of the benchmark's own reports that objects are as they should be."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeAlias

from benchmarks.cluster import Cluster, Refused
from benchmarks.programs import LIMIT, Running, TookTooLong

_LOOK = 0.02
"""Seconds between two looks at what no watch shows."""
_QUIET = 0.2
"""Seconds without work before something is created."""

Judge: TypeAlias = Callable[[Any], bool]
"""Is an object as it should be?"""


async def seconds_until(
    events: AsyncGenerator[bytes, None], change: Callable[[], Awaitable[None]], names: Collection[str], enough: Judge
) -> float:
    """Make a change; seconds from just before it until a watch has shown all objects of these names so that it is
    enough. `events` are of a watch that first shows what exists. Raises TookTooLong."""
    async with aclosing(events):
        await see(events, names, lambda _: True)
        began = time.perf_counter()
        reached = asyncio.create_task(see(events, names, enough))
        await change()
        return await reached - began


async def see(events: AsyncIterator[bytes], names: Collection[str], enough: Judge) -> float:
    """When a watch has shown all these objects so that it is enough. Raises TookTooLong."""
    missing = set(names)
    with suppress(TimeoutError):
        async with asyncio.timeout(LIMIT):
            while missing:
                obj = json.loads(await anext(events))["object"]
                missing -= {obj["metadata"]["name"]} if enough(obj) else set()
    if missing:
        raise TookTooLong(f"not as it was to be after {LIMIT:g} s: {', '.join(sorted(missing))}")
    return time.perf_counter()


async def measure_creation(cluster: Cluster, path: str, obj: Any, enough: Judge) -> tuple[float, int]:
    """Create an object of a collection after a quiet moment; seconds until a watch has shown it so that it is enough,
    and how often it was written until then. Raises TookTooLong."""
    name, shown = obj["metadata"]["name"], 0

    def count(seen: Any) -> bool:
        nonlocal shown
        shown += seen["metadata"]["name"] == name
        return enough(seen)

    await asyncio.sleep(_QUIET)
    version = (await cluster.read(f"{path}?limit=1"))["metadata"]["resourceVersion"]
    began = time.perf_counter()
    watching = asyncio.create_task(see(cluster.watch_path(path, version), {name}, count))
    await cluster.post(path, obj)
    return await watching - began, shown - 1


async def exists(cluster: Cluster, path: str, operator: Running) -> None:
    """Wait until there is such an object or collection. Raises TookTooLong.

    A collection whose definition is new is refused with 429 at first."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        with suppress(Refused):
            if await cluster.read(path) is not None:
                return
        await asyncio.sleep(_LOOK)
    raise TookTooLong(f"{operator.program.name}: {path} does not exist after {LIMIT:g} s")


async def disappears(cluster: Cluster, path: str) -> None:
    """Wait until there is no such object. Raises TookTooLong."""
    deadline = time.monotonic() + LIMIT
    while await cluster.read(path) is not None:
        if time.monotonic() > deadline:
            raise TookTooLong(f"{path} exists after {LIMIT:g} s")
        await asyncio.sleep(_LOOK)


def shows_data(data: Mapping[str, str]) -> Judge:
    """Does a ConfigMap have this data, beside other data?"""
    return lambda obj: data.items() <= obj["data"].items()


def shows_phase(phase: str) -> Judge:
    """Is an instance in this phase?"""
    return lambda obj: bool(obj.get("status", {}).get("phase") == phase)
