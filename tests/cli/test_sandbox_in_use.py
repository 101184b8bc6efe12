"""`hookrunner sandbox` under load: many clients at once, some that do not read, and a kill during writes.

Level: sandbox."""

import asyncio
import itertools
import json
import random
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.cli.test_sandbox import sandbox
from tests.examples import several
from tests.flows.waiting import until
from tests.sandboxes import read_access

pytestmark = pytest.mark.usefixtures("launcher")

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
FOREVER = aiohttp.ClientTimeout(total=None)


@asynccontextmanager
async def connected(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A client without a limit of connections."""
    access = read_access(tmp_path / "kc")
    connector = aiohttp.TCPConnector(limit=0, ssl=access.tls or False)
    session = aiohttp.ClientSession(access.url, headers=access.headers, connector=connector, timeout=FOREVER)
    async with session:
        yield session


def resident(pid: int) -> int:
    """MB of memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


async def create(session: aiohttp.ClientSession, name: str, data: str = "") -> int:
    body = {"metadata": {"name": name}, "data": {"x": data}}
    async with session.post(CONFIGMAPS, json=body) as answer:
        return answer.status


@pytest.mark.slow
async def test_many_clients_at_once_each_see_everything(tmp_path: Path) -> None:
    many = several(200)
    async with sandbox(tmp_path), connected(tmp_path) as session:

        async def work(number: int) -> tuple[int, int]:
            """Write one, and watch until all are there."""
            created = await create(session, f"c{number}")
            async with session.get(f"{CONFIGMAPS}?watch=1") as watch:
                seen = [await watch.content.readline() for _ in range(many)]
            return created, len(set(seen))

        done = await asyncio.wait_for(asyncio.gather(*map(work, range(many))), 120)
        assert set(done) == {(201, many)}


@pytest.mark.slow
async def test_no_write_of_many_counting_clients_is_lost(tmp_path: Path) -> None:
    """Each reads, adds one, and writes what it has read with its resourceVersion; a conflict means again."""
    async with sandbox(tmp_path), connected(tmp_path) as session:
        assert await create(session, "counter", "0") == 201
        conflicts = 0

        async def count() -> None:
            nonlocal conflicts
            done = 0
            while done < 10:
                async with session.get(f"{CONFIGMAPS}/counter") as answer:
                    counter = await answer.json()
                counter["data"]["x"] = str(int(counter["data"]["x"]) + 1)
                async with session.put(f"{CONFIGMAPS}/counter", json=counter) as answer:
                    done += answer.status == 200
                    conflicts += answer.status == 409

        await asyncio.gather(*(count() for _ in range(10)))
        async with session.get(f"{CONFIGMAPS}/counter") as answer:
            assert (await answer.json())["data"] == {"x": "100"}
        assert conflicts


async def test_watchers_that_reconnect_see_the_same_events(tmp_path: Path) -> None:
    dice = random.Random(7)
    async with sandbox(tmp_path), connected(tmp_path) as session:
        async with session.get(CONFIGMAPS) as answer:
            start = (await answer.json())["metadata"]["resourceVersion"]

        async def follow() -> list[tuple[str, str]]:
            """Go on from the last version until the last object is seen."""
            seen, version = [("", "")], start
            while seen[-1][1] != "last":
                with suppress(aiohttp.ClientError):
                    async with session.get(f"{CONFIGMAPS}?watch=1&resourceVersion={version}") as watch:
                        async for line in watch.content:
                            event = json.loads(line)
                            meta = event["object"]["metadata"]
                            version = meta["resourceVersion"]
                            seen.append((event["type"], meta["name"]))
                            if meta["name"] == "last":
                                break
            return seen

        watchers = [asyncio.create_task(follow()) for _ in range(10)]
        for number in range(100):
            assert await create(session, f"c{number}") == 201
            if dice.random() < 0.3:
                await (await session.delete(f"{CONFIGMAPS}/c{dice.randrange(number + 1)}")).read()
            if dice.random() < 0.2:
                await (await session.post("/_sandbox/cut")).read()
        assert await create(session, "last") == 201
        first, *others = await asyncio.wait_for(asyncio.gather(*watchers), 60)
        assert len(first) > 100
        assert all(other == first for other in others)


@pytest.mark.slow
async def test_sigterm_ends_fifty_watches_and_the_program_at_once(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as (child, _), connected(tmp_path) as session, AsyncExitStack() as stack:
        url = f"{CONFIGMAPS}?watch=1"
        watches = [await stack.enter_async_context(session.get(url)) for _ in range(50)]
        assert await create(session, "a") == 201
        assert all([b"ADDED" in await watch.content.readline() for watch in watches])
        child.program.send_signal(signal.SIGTERM)
        # A server that waits for its clients gives them a minute.
        assert await child.ended() == 0
        assert child.errors.read_text().count("\n") == 1  # what it said when it began


async def test_watcher_that_never_reads_costs_no_memory_and_delays_no_client(tmp_path: Path) -> None:
    """What it has not read yet stays in the history, which all watchers share; no copy is kept for it."""
    async with sandbox(tmp_path) as (child, _), connected(tmp_path) as session, AsyncExitStack() as stack:
        url = f"{CONFIGMAPS}?watch=1"
        many = several(2000)  # objects: 20 MB at night; for 20 watchers apart they would be 400
        reads, *_ = [await stack.enter_async_context(session.get(url)) for _ in range(21)]
        before = resident(child.program.pid)
        for start in range(0, many, 20):
            await asyncio.gather(*(create(session, f"c{start + n}", "x" * 10_000) for n in range(20)))
            for _ in range(20):
                await asyncio.wait_for(reads.content.readline(), 60)
        assert resident(child.program.pid) - before < many // 20


@pytest.mark.slow
async def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    kept: set[str] = set()
    flags = ("--data", str(tmp_path / "data"))
    async with sandbox(tmp_path, *flags) as (child, _), connected(tmp_path) as session:

        async def write(writer: int) -> None:
            """Make two, delete one of them, and so on."""
            for number in itertools.count():
                name = f"w{writer}-{number}"
                if await create(session, name) == 201:
                    kept.add(name)
                if number % 2:
                    kept.discard(name)  # from now on it may be either way
                    await (await session.delete(f"{CONFIGMAPS}/{name}")).read()

        writers = [asyncio.create_task(write(number)) for number in range(8)]
        await until(lambda: len(kept) >= 200, "two hundred answers")
        child.program.send_signal(signal.SIGKILL)
        ends = await asyncio.gather(*writers, return_exceptions=True)
        assert all(isinstance(end, aiohttp.ClientError) for end in ends), ends
    async with sandbox(tmp_path, *flags), connected(tmp_path) as session, session.get(CONFIGMAPS) as answer:
        there = {item["metadata"]["name"] for item in (await answer.json())["items"]}
    assert kept <= there
    assert len(there - kept) <= 8  # one of each writer was under way
