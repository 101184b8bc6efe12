"""Reviews from strangers, made to take as much memory as can be: what the program has afterwards is counted.

Level: sandbox."""

import asyncio
from pathlib import Path

import pytest

from hookrunner.web.review_limits import ReviewLimits
from tests.flows.operator import whole_lines
from tests.flows.scripts import HOLD, hook
from tests.flows.waiting import until
from tests.security.attacked import ALLOW, VALIDATING, admission, attacked
from tests.tables import each
from tests.web.connecting import connected, head
from tests.web.reviewing import ScriptedReviewer, Setup, conversion, served

MIB = 1 << 20
PARSED = 4 * ReviewLimits().admission_body // MIB
"""MiB that parsing may take at any moment."""


def empties(size: int) -> bytes:
    """A review of this size: a list of `{}`, which takes 25 times its text."""
    return admission(b"[" + b",".join([b"{}"] * (size // 3)) + b"]")


@pytest.mark.usefixtures("launcher")
async def test_reviews_of_many_small_values_stay_below_the_documented_memory(tmp_path: Path) -> None:
    """Four of 16.5 MB took 1.77 GB. Those that are small enough wait here for a hook, all together, as text."""
    begun = 'echo >> "$TOLD/begun"\n'
    async with attacked(tmp_path, {"h.sh": hook(VALIDATING, begun + HOLD + ALLOW)}) as target:
        before = target.memory()
        assert await target.reviews(*[empties(16 * MIB)] * 4) in ([413] * 4, [0] * 4)
        assert await target.reviews(*[empties(7 * MIB)] * 8) == [413] * 8
        waiting = [asyncio.create_task(target.review(empties(MIB // 2))) for _ in range(8)]
        await until(lambda: len(whole_lines(target.program.told / "begun")) >= 4, "four hooks")
        await until(lambda: target.program.metric("webhook_running") == len(waiting), "all reviews wait")
        assert target.memory("VmHWM") - before < 2 * PARSED + 4 * len(waiting)
        target.program.tell("go")
        assert [status for status, _ in await asyncio.gather(*waiting)] == [200] * len(waiting)


@each("path", ["/hooks/stranger", "/strangers.example.com", "/stranger"])
async def test_bodies_for_unknown_paths_are_not_read(path: str) -> None:
    reviewer = ScriptedReviewer()
    reviewer.undeclared = {"stranger", "strangers.example.com"}
    async with served(reviewer) as server, asyncio.timeout(60), connected(server) as (reader, writer):
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n" % path.encode())
        assert (await head(reader)).startswith(b"HTTP/1.1 404")
    assert reviewer.reviews == []


async def test_a_conversion_is_parsed_when_there_is_room_for_it() -> None:
    """Each takes 25 times its text for as long as it runs."""
    reviewer, many = ScriptedReviewer(paused=True), conversion(*[{}] * 10_000)
    async with served(reviewer, Setup(memory=3 * MIB)) as server, asyncio.timeout(60):
        asked = [asyncio.create_task(server.post("/a.example.com", many)) for _ in range(3)]
        await reviewer.wait_for_reviews(1)
        while b"webhook_running 3\n" not in server.metrics.exposition():  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.005)
        assert len(reviewer.reviews) == 1
        status, text = await server.post("/a.example.com?timeout=300ms", many)
        assert (status, "for parsing: no more are taken now" in text) == (429, True)
        reviewer.unpaused.set()
        assert [status for status, _ in await asyncio.gather(*asked)] == [200] * 3


async def test_a_conversion_that_never_has_room_is_refused() -> None:
    async with served(ScriptedReviewer(), Setup(memory=2 * MIB)) as server:
        status, text = await server.post("/a.example.com", conversion(*[{}] * 50_000))
    assert (status, "more than 1048576 bytes of memory" in text) == (413, True)
