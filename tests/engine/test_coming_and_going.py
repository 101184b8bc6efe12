"""Hooks that come and go while the engine runs. Level: sandbox."""

import asyncio
import random

import pytest

from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from tests.engine.conftest import Bench
from tests.examples import several
from tests.fakes.cluster import settle
from tests.fakes.objects import config_map

BOTH = {"schedule": [{"crontab": "* * * * * *"}], "kubernetes": [{"name": "cms", "kind": "ConfigMap"}]}


async def come_and_go(bench: Bench, times: int) -> None:
    """Remove and add the hook, at once or after some of its tasks have run."""
    dice, hook = random.Random(23), bench.engine.hooks["h.sh"]
    for _ in range(times):
        bench.engine.unregister(hook)
        for _ in range(dice.randrange(3)):
            await settle()
        bench.engine.add(hook)
        for _ in range(dice.randrange(3)):
            await settle()
    await bench.idle()


@pytest.mark.slow
async def test_after_many_comings_and_goings_a_schedule_fires_once_per_tick(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.hook("h.sh", {"schedule": BOTH["schedule"]})
    await bench.start(jq, client)
    await come_and_go(bench, several(100))
    await bench.idle()
    before, began = len(bench.runs("h.sh")), asyncio.get_running_loop().time()
    runs = (await bench.wait_for_runs("h.sh", before + 5))[before:]
    ticks = 2 + asyncio.get_running_loop().time() - began  # on a busy machine a run may be for two of them
    assert sum(map(len, runs)) <= ticks


async def test_after_many_additions_and_removals_a_change_is_one_event(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("h.sh", {"kubernetes": BOTH["kubernetes"]})
    await bench.start(jq, client)
    await come_and_go(bench, several(100))
    bench.cluster.put(config_map("new"))
    contexts = [context for run in (await bench.wait_for_runs("h.sh", len(bench.runs("h.sh")) + 1)) for context in run]
    await bench.idle()
    assert [context["type"] for context in contexts].count("Event") == 1
    assert bench.cluster.open_watches == 1


@pytest.mark.slow
async def test_a_hook_that_has_gone_hears_nothing_and_leaves_no_task(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("h.sh", BOTH)
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 2)
    bench.engine.unregister(bench.engine.hooks["h.sh"])
    await bench.idle()
    runs = len(bench.runs("h.sh"))
    bench.cluster.put(config_map("new"))
    await bench.idle()
    assert (len(bench.runs("h.sh")), bench.shown(), bench.cluster.open_watches) == (runs, [], 0)
    assert list(bench.monitors) == []


async def test_a_hook_that_goes_while_its_lists_are_awaited_holds_nothing_up(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.hook("a.sh", {"kubernetes": [{"name": "slow", "kind": "Slow"}]})
    bench.hook("b.sh", {"kubernetes": BOTH["kubernetes"]})
    bench.cluster.unreachable.add("Slow")
    await bench.start(jq, client)
    await settle()
    bench.engine.unregister(bench.engine.hooks["a.sh"])
    await bench.wait_for_runs("b.sh", 1)
    assert [monitor.id.hook for monitor in bench.monitors] == ["b.sh"]


@pytest.mark.slow
async def test_a_run_of_a_hook_that_went_and_came_again_opens_nothing(bench: Bench, jq: Jq, client: Client) -> None:
    """It belongs to the old one: the new one begins with a Synchronization of its own."""
    binding = {"name": "cms", "kind": "ConfigMap", "queue": "q", "waitForSynchronization": False}
    bench.hook("h.sh", {"kubernetes": [binding]}, 'until [ -e "$0.go" ]; do sleep 0.02; done; rm "$0.go"')
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 1)
    come_again(bench, "h.sh")
    await settle()
    (bench.directory / "hooks" / "h.sh.go").touch()
    runs = await bench.wait_for_runs("h.sh", 2)
    (monitor,) = bench.monitors
    assert [context["type"] for run in runs for context in run] == ["Synchronization"] * 2
    assert monitor.locked
    (bench.directory / "hooks" / "h.sh.go").touch()
    await bench.idle()


@pytest.mark.slow
async def test_a_failure_of_a_hook_that_went_and_came_again_is_not_tried_again(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.hook("h.sh", {"onStartup": 1}, 'until [ -e "$0.go" ]; do sleep 0.02; done; rm "$0.go"; exit 1')
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 1)
    come_again(bench, "h.sh")
    (bench.directory / "hooks" / "h.sh.go").touch()
    await bench.wait_for_runs("h.sh", 2)
    (bench.directory / "hooks" / "h.sh.go").touch()
    await bench.idle()
    assert len(bench.shown()) == 1


async def test_a_hook_that_comes_again_has_the_rate_limit_that_it_asks_for_now(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.hook("h.sh", {"onStartup": 1, "settings": {"executionMinInterval": "1h", "executionBurst": 1}})
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 1)
    await bench.idle()
    come_again(bench, "h.sh")
    assert len(await bench.wait_for_runs("h.sh", 2)) == 2


def come_again(bench: Bench, name: str) -> None:
    hook = bench.engine.hooks[name]
    bench.engine.unregister(hook)
    bench.engine.add(hook)
