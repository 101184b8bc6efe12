"""Many objects, schedules and runs: all work is done, and no memory, file or process piles up. Level: control plane."""

import asyncio
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.examples import several
from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.scripts import configmaps, hook, watching
from tests.flows.waiting import until

BUSY = '(.data // {}) | to_entries | map(.value) | add // "nothing" | tostring | length > 0'
"""A filter for the jq workers, with the same result for every object here."""


async def test_one_queue_handles_many_objects_in_synchronization_and_events(operator: Start, cms: ConfigMaps) -> None:
    """There may be fewer workers than objects. At night they are two thousand."""
    many = several(1000)
    await cms.create_many(f"old-{number}" for number in range(many))
    program = await operator({f"{name}.sh": watching(cms.namespace) for name in "abc"})
    assert [len(program.contexts(f"{name}.sh")[0]["objects"]) for name in "abc"] == [many] * 3
    await cms.create_many(f"new-{number}" for number in range(many))
    for name in "abc":
        told = await program.hears(f"{name}.sh", many)
        assert Counter(told) == Counter(("Added", f"new-{number}") for number in range(many))
    await until(lambda: not any(program.queue_list().values()), "empty queues")


def crowd(namespace: str) -> dict[str, str]:
    """Ten hooks with ten schedules each, every second, in ten queues, all with the same snapshot."""
    binding = configmaps(namespace, executeHookOnEvent=[], executeHookOnSynchronization=False)

    def schedules() -> list[dict[str, object]]:
        common = {"crontab": "* * * * * *", "includeSnapshotsFrom": ["cms"]}
        return [{**common, "name": f"s{number}", "queue": f"q{number}"} for number in range(10)]

    return {f"h{number}.sh": hook({"kubernetes": [binding], "schedule": schedules()}) for number in range(10)}


async def watched(program: Operator, seconds: float) -> None:
    """Scrape metrics and dump queues and snapshots all the time."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        for path in ("/metrics", "/metrics/hooks", "/readyz"):
            assert (await asyncio.to_thread(program.get, path))[0] == 200
        await asyncio.to_thread(program.queue_list)


async def tick_in_ten_queues(operator: Start, cms: ConfigMaps, seconds: float) -> None:
    """A hundred schedules in ten queues, for so long. A busy machine takes longer for as many ticks."""
    clock = asyncio.get_running_loop().time
    await cms.create_many(["one", "two"])
    began = clock()  # no tick is earlier, and runs of the first ones may be late
    program = await operator(crowd(cms.namespace))

    def ticks() -> Counter[tuple[int, str]]:
        return Counter((number, c["binding"]) for number in range(10) for c in program.contexts(f"h{number}.sh"))

    await watched(program, seconds)
    await until(lambda: len(ticks()) == 100 and min(ticks().values()) >= 0.5 * seconds, "ticks of all schedules")
    assert max(ticks().values()) <= clock() - began + 1
    assert all(len(c["snapshots"]["cms"]) == 2 for number in range(10) for c in program.contexts(f"h{number}.sh"))
    assert await program.stop() == 0


async def test_a_hundred_schedules_of_one_tick_run_in_ten_queues(operator: Start, cms: ConfigMaps) -> None:
    await tick_in_ten_queues(operator, cms, 3)


@pytest.mark.soak
async def test_a_hundred_schedules_run_in_ten_queues_for_ten_minutes(operator: Start, cms: ConfigMaps) -> None:
    await tick_in_ten_queues(operator, cms, 600)


def holdings(program: Operator) -> tuple[int, int, int]:
    """Open files, threads and children of the process."""
    process = Path(f"/proc/{program.pid}")
    children = (process / "task" / str(program.pid) / "children").read_text().split()
    return len(os.listdir(process / "fd")), len(os.listdir(process / "task")), len(children)


def no_more(program: Operator, before: tuple[int, int, int]) -> bool:
    """Does it hold no more of anything than before, but for the few threads and connections that a busier moment needs?
    Ninety runs that left something open would be ninety more. Less is possible: idle connections are closed."""
    return all(now <= then + 8 for now, then in zip(holdings(program), before, strict=True))


def resident(program: Operator) -> int:
    """Resident memory in bytes."""
    return int(Path(f"/proc/{program.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def runner_and_filter(namespace: str) -> dict[str, str]:
    """One hook that runs for each event, and one whose filter looks at each and never finds it new."""
    filtered = configmaps(namespace, jqFilter=BUSY, keepFullObjectsInMemory=False)
    silent = {**filtered, "executeHookOnEvent": ["Modified"], "queue": "other"}
    return {
        "run.sh": watching(namespace, settings={"combine": False}, labelSelector={"matchLabels": {"run": "yes"}}),
        "filter.sh": hook({"kubernetes": [silent]}),
    }


async def rounds(program: Operator, cms: ConfigMaps, runs: int, objects: int) -> None:
    """So many runs of the one hook and so many calls of the other's filter, then wait until all is quiet."""
    records = program.told / "run.sh.jsonl"
    records.unlink(missing_ok=True)
    names = [f"o-{number}" for number in range(objects)]
    await cms.create_many(names)
    cms.create("labelled")
    cms.cluster.request("PATCH", f"{cms.path}/labelled", {"metadata": {"labels": {"run": "yes"}}})
    for number in range(runs - 2):
        cms.change("labelled", x=str(number))
    cms.delete("labelled")
    await until(lambda: records.exists() and records.read_bytes().count(b"\n") >= runs, f"{runs} runs", 240)
    cms.cluster.request("DELETE", cms.path)
    await until(lambda: not any(program.queue_list().values()), "empty queues")


async def test_many_runs_and_filter_calls_leave_nothing_open(operator: Start, cms: ConfigMaps) -> None:
    """Three hundred runs and some two thousand calls at night, with those before."""
    program = await operator(runner_and_filter(cms.namespace))
    await rounds(program, cms, 30, 100)
    before = holdings(program)
    await rounds(program, cms, several(300), several(850))
    await until(lambda: no_more(program, before), f"no more than {before}")
    assert len(program.contexts("filter.sh")) == 1, json.dumps(program.contexts("filter.sh")[-1])


@pytest.mark.soak
async def test_twenty_thousand_runs_and_fifty_thousand_filter_calls_do_not_leak(
    operator: Start, cms: ConfigMaps
) -> None:
    """The slope of memory after a warm-up is below 1 MiB per 10,000."""
    program = await operator(runner_and_filter(cms.namespace))
    for _ in range(4):
        await rounds(program, cms, 1000, 1000)
    open_before, memory_before = holdings(program), resident(program)
    for _ in range(20):
        await rounds(program, cms, 1000, 1250)
    await until(lambda: no_more(program, open_before), f"no more than {open_before}")
    assert resident(program) - memory_before < 7 * (1 << 20)
