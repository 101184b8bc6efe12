"""How soon edits are answered, in virtual time."""

import asyncio

import pytest

from hookrunner.convergence.reactions import AT_ONCE, WITHIN, EditBatches

pytestmark = pytest.mark.looptime


async def answered(*edits: tuple[float, str]) -> list[tuple[float, str]]:
    """When what is answered, of edits of these keys at these times."""
    batches, all_, loop = list[tuple[float, str]](), EditBatches(), asyncio.get_running_loop()
    began = loop.time()

    async def read() -> None:
        while True:
            changed = await all_.next_batch()
            batches.append((round(loop.time() - began, 2), " ".join(sorted(changed))))

    reading = asyncio.create_task(read())
    for at, key in edits:
        await asyncio.sleep(began + at - loop.time())
        all_.add({key} if key else set())
    await asyncio.sleep(2 * WITHIN)
    reading.cancel()
    return batches


@pytest.mark.parametrize(
    "edits",
    [
        [(0, "a")],
        [(0, "a"), (0.1, "b"), (0.2, "a")],
        [(number * WITHIN / AT_ONCE, "a") for number in range(10)],
    ],
    ids=["one", "a few", "steadily"],
)
async def test_edits_are_answered_at_once(edits: list[tuple[float, str]]) -> None:
    assert await answered(*edits) == edits


async def test_constant_edits_are_gathered_and_the_last_one_is_answered_soon() -> None:
    edits = [(number / 50, "last" if number == 149 else f"a{number}") for number in range(150)]
    batches = await answered(*edits)
    assert len(batches) <= AT_ONCE * (1 + 3 / WITHIN)
    assert edits[-1][0] <= batches[-1][0] <= edits[-1][0] + WITHIN
    assert {key for _, keys in batches for key in keys.split()} == {key for _, key in edits}


async def test_an_edit_without_changes_makes_no_batch() -> None:
    assert await answered((0, ""), (0, ""), (0, ""), (0.1, "a")) == [(0.1, "a")]
