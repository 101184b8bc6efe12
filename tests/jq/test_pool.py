"""Workers come when needed, go when idle, and are replaced when lost. Level: pure."""

import asyncio
import os
import select
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.pool import CHUNK_BYTES, CHUNK_OBJECTS, Pool
from tests.fakes.cluster import settle, until
from tests.tables import each

MEMORY = 256 << 20
PATIENCE = 60.0


def children() -> set[int]:
    """The living jq workers of this process."""
    pids = (int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split())
    return {pid for pid in pids if b"jq/worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes()}


async def first_result(pool: Pool, program: str, text: bytes = b"null") -> bytes | FilterFailed:
    [result] = await pool.results(program, [text])
    return result


async def test_no_worker_runs_before_the_first_need_or_after_the_end() -> None:
    pool = Pool(2, PATIENCE, MEMORY, 60)
    assert children() == set()
    assert await first_result(pool, "1+1") == b"2"
    assert len(children()) == 1
    await pool.close()
    assert children() == set()


@pytest.mark.slow
async def test_an_idle_worker_ends_and_the_next_request_starts_another() -> None:
    pool = Pool(1, PATIENCE, MEMORY, 0.0)
    assert await first_result(pool, "1+1") == b"2"
    ended = os.pidfd_open(children().pop())
    assert await asyncio.to_thread(select.select, [ended], [], [], PATIENCE) == ([ended], [], [])
    os.close(ended)
    assert await first_result(pool, "1+1") == b"2"
    await pool.close()


@pytest.mark.slow
async def test_a_worker_killed_from_outside_costs_nothing() -> None:
    pool = Pool(1, PATIENCE, MEMORY, 60)
    assert await first_result(pool, "1+1") == b"2"
    os.kill(children().pop(), signal.SIGKILL)
    assert await first_result(pool, "1+2") == b"3"
    await pool.close()


@pytest.mark.slow
async def test_a_worker_that_gets_no_cpu_for_longer_than_its_deadline_costs_nothing() -> None:
    pool = Pool(1, 0.4, MEMORY, 60)
    assert await first_result(pool, "1+1") == b"2"
    [worker] = children()
    asking = asyncio.create_task(pool.results("def f: if . < 40000 then . + 1 | f else . end; f", [b"0"]))
    await settle()
    for _ in range(10):
        os.kill(worker, signal.SIGSTOP)
        await asyncio.wait([asking], timeout=0.05)
        os.kill(worker, signal.SIGCONT)
        await asyncio.wait([asking], timeout=0.001)
    assert await asking == [b"40000"]
    assert children() == {worker}
    await pool.close()


@pytest.mark.slow
async def test_at_most_so_many_workers_run() -> None:
    pool = Pool(2, PATIENCE, MEMORY, 60)
    results = await asyncio.gather(*(first_result(pool, f"[range(20000)] | length + {number}") for number in range(6)))
    assert results == [b"%d" % (20000 + number) for number in range(6)]
    assert len(children()) == 2
    await pool.close()


ENDLESS = "def f: f; f"


@each("runs", [True, False], ids=lambda runs: "while it runs" if runs else "while its worker starts")
async def test_a_cancelled_request_leaves_no_worker_and_does_not_answer_the_next_one(runs: bool) -> None:
    pool = Pool(1, PATIENCE, MEMORY, 60)
    if runs:
        assert await first_result(pool, "1+1") == b"2"
    asking = asyncio.create_task(first_result(pool, ENDLESS))
    await until(lambda: len(children()) == 1)
    await asyncio.sleep(0.1 * runs)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert children() == set()
    assert await first_result(pool, "1+1") == b"2"
    await pool.close()


async def test_a_stopped_worker_fails_its_request_and_not_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped, it uses no CPU, so its own deadline never comes."""
    pool = Pool(1, 0.05, MEMORY, 60)
    assert await first_result(pool, "1+1") == b"2"
    os.kill(children().pop(), signal.SIGSTOP)
    with monkeypatch.context() as patched:
        patched.setattr("hookrunner.jq.pool.PATIENCE", 0.05)
        async with asyncio.timeout(30):
            failed = await first_result(pool, "1+1")
    assert str(failed) == "no result within 0.1 s"
    assert children() == set()
    assert await first_result(pool, "1+1") == b"2"
    await pool.close()


@each(
    "texts",
    [
        [b"%d" % number for number in range(2 * CHUNK_OBJECTS + 1)],
        [b'"' + b"x" * CHUNK_BYTES + b'"', b"1", b'"' + b"y" * CHUNK_BYTES + b'"'],
        [],
    ],
)
async def test_a_batch_of_any_size_is_answered_in_order(texts: Sequence[bytes]) -> None:
    pool = Pool(1, PATIENCE, MEMORY, 60)
    assert await pool.results("def f: .; f", texts) == texts
    await pool.close()


async def test_ctrl_c_ends_no_worker() -> None:
    pool = Pool(1, PATIENCE, MEMORY, 60)
    await first_result(pool, "1+1")
    [worker] = children()
    os.kill(worker, signal.SIGINT)
    assert await first_result(pool, "1+1") == b"2"
    assert children() == {worker}
    await pool.close()


async def test_without_a_process_to_be_had_a_program_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    pool = Pool(1, PATIENCE, MEMORY, 60)
    with pytest.raises(BadFilter, match="no jq worker can be started"):
        await pool.check("1+1")
    await pool.close()
