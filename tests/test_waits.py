"""Notices, batches and pauses, in virtual time. Level: pure."""

import asyncio
from itertools import islice

import pytest

from hookrunner.waits import Batches, Notifier, Pauses

pytestmark = pytest.mark.looptime

AT_ONCE, WITHIN = 3, 1.5
CALM, MOST = 0.25, 12


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_notice_wakes_all_that_wait_and_none_that_come_later() -> None:
    notifier, woken = Notifier(), list[tuple[str, float]]()

    async def wait(name: str, until: float | None) -> None:
        await notifier.next(until)
        woken.append((name, now()))

    began = now()
    notifier.notify()  # before anyone waits
    waiting = [asyncio.create_task(wait(name, until)) for name, until in (("a", None), ("b", began + 9))]
    await asyncio.sleep(1)
    notifier.notify()
    waiting.append(asyncio.create_task(wait("c", began + 3)))
    await asyncio.gather(*waiting)
    assert [(name, round(at - began, 2)) for name, at in woken] == [("a", 1.0), ("b", 1.0), ("c", 3.0)]


def test_pauses_double_with_each_failure_in_a_row_up_to_the_longest() -> None:
    assert [Pauses(0.5, 5.0).after(failures) for failures in range(6)] == [0, 0.5, 1.0, 2.0, 4.0, 5.0]
    assert Pauses(0.1, 1e9).after(10_000) == 1e9


def test_pauses_grow_by_another_factor() -> None:
    assert list(islice(Pauses(1.0, 3.0, 1.5), 4)) == [1.0, 1.5, 2.25, 3.0]


async def test_a_batch_has_each_key_once_in_order() -> None:
    batches = Batches[str]()
    batches.add(["b", "a", "b"])
    assert await batches.next_batch() == ("b", "a")


async def test_a_reader_waits_for_the_first_item() -> None:
    batches = Batches[str]()
    waiting = asyncio.create_task(batches.next_batch())
    batches.add([])
    await asyncio.sleep(1)
    assert not waiting.done()
    batches.add(["a"])
    assert await waiting == ("a",)


async def test_an_item_takes_the_place_of_the_one_that_waits_under_its_key() -> None:
    batches = Batches[int]()
    for item, key in ((1, "a"), (2, "b"), (3, "a")):
        batches.put(item, key)
    assert (batches.get("a"), batches.get("c"), batches.are_waiting) == (3, None, True)
    assert await batches.next_batch() == (3, 2)
    assert not batches.are_waiting


async def test_items_without_a_key_come_as_often_as_they_were_put() -> None:
    batches = Batches[str]()
    for item in ("a", "b", "a"):
        batches.put(item)
    assert await batches.next_batch() == ("a", "b", "a")


async def test_dropped_items_are_in_no_batch() -> None:
    batches = Batches[int]()
    batches.add([1, 2, 3])
    batches.drop(lambda number: number == 2)
    assert await batches.next_batch() == (1, 3)


async def test_a_batch_is_empty_after_the_longest_wait() -> None:
    batches = Batches[str]()
    assert await batches.next_batch(5.0) == await batches.next_calm_batch(CALM, longest=2.0) == ()
    assert now() == pytest.approx(7.0, abs=0.01)


async def read_batches(*added: tuple[float, str]) -> list[tuple[float, str]]:
    """When which batch comes, of keys that are added at these times; "" adds none."""
    read, batches = list[tuple[float, str]](), Batches[str](AT_ONCE, WITHIN)

    async def read_on() -> None:
        while True:
            keys = await batches.next_batch()
            read.append((round(now(), 2), " ".join(sorted(keys))))

    reading = asyncio.create_task(read_on())
    for at, key in added:
        await asyncio.sleep(at - now())
        batches.add([key] if key else [])
    await asyncio.sleep(2 * WITHIN)
    reading.cancel()
    return read


@pytest.mark.parametrize(
    "added",
    [[(0, "a")], [(0, "a"), (0.1, "b"), (0.2, "a")], [(number * WITHIN / AT_ONCE, "a") for number in range(10)]],
    ids=["one", "a few", "steadily"],
)
async def test_a_few_batches_come_at_once(added: list[tuple[float, str]]) -> None:
    assert await read_batches(*added) == added


async def test_constant_items_are_gathered_and_the_last_one_comes_soon() -> None:
    added = [(number / 50, "last" if number == 149 else f"a{number}") for number in range(150)]
    batches = await read_batches(*added)
    assert len(batches) <= AT_ONCE * (1 + 3 / WITHIN)
    assert added[-1][0] <= batches[-1][0] <= added[-1][0] + WITHIN
    assert {key for _, keys in batches for key in keys.split()} == {key for _, key in added}


async def test_adding_no_key_makes_no_batch() -> None:
    assert await read_batches((0, ""), (0, ""), (0, ""), (0.1, "a")) == [(0.1, "a")]


async def test_a_calm_batch_has_all_that_comes_until_nothing_does() -> None:
    batches = Batches[str]()
    waiting = asyncio.create_task(batches.next_calm_batch(CALM, MOST))
    for key in ("b", "a", "b"):
        batches.add([key])
        await asyncio.sleep(0.8 * CALM)
        assert not waiting.done()
    assert await waiting == ("b", "a")


async def test_a_calm_batch_ends_though_items_keep_coming() -> None:
    batches = Batches[str]()
    waiting = asyncio.create_task(batches.next_calm_batch(CALM, MOST))
    for _ in range(4 * MOST):
        batches.add(["a"])
        await asyncio.sleep(0.3 * CALM)
    assert waiting.done()
    assert now() == pytest.approx(1.2 * MOST * CALM)
