"""Loops run for one term as the leader, and for what the provider has. Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial

import pytest

from hookrunner.cloud.answers import CloudCapabilities, Interface
from hookrunner.cloud.leader_terms import LeaderTerms, MakeLoop
from tests.cloud.fake_cloud import EVERYTHING

pytestmark = pytest.mark.looptime


class Loop:
    """Takes a second to finish what is under way; fails first if it should."""

    def __init__(self, name: str, log: list[str], fails: bool = False) -> None:
        self.name, self.log, self.fails = name, log, fails
        self.stopped = asyncio.Event()

    async def run(self) -> None:
        self.log.append(f"{self.name} begins")
        if self.fails:
            self.fails = False
            raise RuntimeError("broken")
        try:
            await self.stopped.wait()
            await asyncio.sleep(1)
            self.log.append(f"{self.name} finished")
        except asyncio.CancelledError:
            self.log.append(f"{self.name} cancelled")
            raise

    def stop(self) -> None:
        self.stopped.set()


class World:
    """A provider whose capabilities can change, and terms with a loop for each interface."""

    def __init__(self, fails: bool = False) -> None:
        self.log: list[str] = []
        self.answers = asyncio.Queue[CloudCapabilities]()
        self.fails = fails
        self.terms = LeaderTerms(self.follow, self.loops_for)

    async def follow(self) -> AsyncIterator[CloudCapabilities]:
        while True:
            yield await self.answers.get()

    def answer(self, *, load_balancer: bool = True) -> None:
        self.answers.put_nowait(EVERYTHING if load_balancer else EVERYTHING.without(Interface.LOAD_BALANCER))

    def loops_for(self, capabilities: CloudCapabilities) -> Mapping[str, MakeLoop]:
        needs = {"nodes": Interface.INSTANCES, "services": Interface.LOAD_BALANCER}
        on = [name for name, interface in needs.items() if capabilities.offers(interface)]
        return {name: partial(Loop, name, self.log, self.fails and name == "nodes") for name in on}


async def test_no_loop_begins_before_the_provider_has_answered() -> None:
    world = World()
    term = asyncio.create_task(world.terms.lead())
    await asyncio.sleep(100)
    assert world.log == []
    world.answer()
    await asyncio.sleep(1)
    assert world.log == ["nodes begins", "services begins"]
    term.cancel()


async def test_a_stop_lets_loops_finish() -> None:
    world = World()
    world.answer()
    term = asyncio.create_task(world.terms.lead())
    await asyncio.sleep(1)
    world.terms.stop()
    await term
    assert world.log[2:] == ["nodes finished", "services finished"]
    assert world.terms.loops == {}


async def test_a_lost_term_ends_at_once_and_the_next_has_new_loops() -> None:
    world = World()
    for _ in range(2):
        world.answer()
        term = asyncio.create_task(world.terms.lead())
        await asyncio.sleep(1)
        term.cancel()
        await asyncio.gather(term, return_exceptions=True)
    begun, ended = ["nodes begins", "services begins"], ["nodes cancelled", "services cancelled"]
    assert [world.log[:2], sorted(world.log[2:4]), world.log[4:6], sorted(world.log[6:])] == [begun, ended] * 2


async def test_loops_follow_the_interfaces() -> None:
    world = World()
    world.answer()
    term = asyncio.create_task(world.terms.lead())
    await asyncio.sleep(1)
    world.answer(load_balancer=False)
    await asyncio.sleep(2)
    assert list(world.terms.loops) == ["nodes"]
    world.answer()
    await asyncio.sleep(2)
    assert world.log[2:] == ["services finished", "services begins"]
    term.cancel()


async def test_a_loop_that_fails_is_started_again_and_holds_up_no_other() -> None:
    world = World(fails=True)
    world.answer()
    term = asyncio.create_task(world.terms.lead())
    await asyncio.sleep(10)
    assert world.log == ["nodes begins", "services begins", "nodes begins"]
    assert world.terms.background
    assert world.terms.background.crashes == {"nodes": 1}
    term.cancel()
