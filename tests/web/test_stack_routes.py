"""Stacks of tasks and threads: where each one waits, and no values. Level: pure."""

import asyncio
import threading

from hookrunner.web.views.stack_routes import describe_tasks, describe_threads


async def outer(secret: str, event: asyncio.Event) -> None:
    await inner(secret, event)


async def inner(secret: str, event: asyncio.Event) -> None:
    await event.wait()


async def test_a_task_shows_where_it_waits_and_no_values() -> None:
    event = asyncio.Event()
    tasks = [asyncio.create_task(outer("s3cret", event), name=name) for name in ("b", "a")]
    tasks.append(asyncio.create_task(inner("s3cret", event), name="alone"))
    await asyncio.sleep(0)
    lines = describe_tasks(tasks).splitlines()
    assert [line for line in lines if "task" in line] == ["2 tasks a, b", "task alone"]
    frames = [line for line in lines[: lines.index("")] if line.startswith("  ")]
    assert [frame.partition(": ")[0].rpartition(" ")[2] for frame in frames] == ["outer", "inner", "Event.wait"]
    assert "s3cret" not in "".join(lines)
    event.set()
    await asyncio.gather(*tasks)


async def test_a_task_that_has_ended_and_one_that_has_not_begun_are_shown() -> None:
    new, done = asyncio.create_task(asyncio.sleep(0), name="new"), asyncio.create_task(asyncio.sleep(0), name="done")
    assert "task" in describe_tasks([new])
    await asyncio.gather(new, done)
    assert describe_tasks([done]) == "task done\n\n"


async def test_many_tasks_with_one_stack_are_counted() -> None:
    event = asyncio.Event()
    tasks = [asyncio.create_task(event.wait(), name=f"t{number:03}") for number in range(25)]
    await asyncio.sleep(0)
    first, *_ = describe_tasks(tasks).splitlines()
    assert first.startswith("25 tasks t000, t001, ")
    assert first.endswith("t019 and 5 more")
    event.set()
    await asyncio.gather(*tasks)


def test_each_thread_shows_its_stack() -> None:
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait, name="waits for leave")
    thread.start()
    text = describe_threads()
    leave.set()
    thread.join()
    assert "thread waits for leave\n" in text
    assert "test_each_thread_shows_its_stack" in text
