"""Hooks are loaded while the modules before theirs are at work. Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.background import Background
from hookrunner.convergence.runs.hook_loading import HookPrefetch
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.model.units import Unit

MODULES = tuple(Module(name, name, weight, Path("/modules"), Path("/modules")) for weight, name in enumerate("abcdef"))


class Loads:
    """Remembers who was asked, and lets them wait until `go`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()

    async def __call__(self, unit: Unit) -> Catalog:
        self.asked.append(unit.name)
        if unit.name != "a":
            await self.go.wait()
        return Catalog(())


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        yield background
        background.stop()


@pytest.fixture
def states() -> UnitStates:
    states = UnitStates(MODULES)
    for state in states.modules:
        state.decide(Decision(Choice.ON, "Static", ""))
    return states


async def test_loading_a_module_prefetches_the_next_enabled_ones(background: Background, states: UnitStates) -> None:
    states.module("c").decide(Decision(Choice.OFF, "Static", ""))
    loads = Loads()
    ahead = HookPrefetch(loads, states, background)
    await ahead(states["a"].unit)
    await asyncio.sleep(0)
    assert sorted(loads.asked) == ["a", "b", "d", "e"]


async def test_prefetched_hooks_are_not_loaded_again(background: Background, states: UnitStates) -> None:
    loads = Loads()
    ahead = HookPrefetch(loads, states, background)
    await ahead(states["a"].unit)
    waiting = asyncio.create_task(ahead(states["b"].unit))
    await asyncio.sleep(0)
    assert not waiting.done()
    loads.go.set()
    await waiting
    assert loads.asked.count("b") == 1


async def test_a_retry_loads_the_hooks_again(background: Background, states: UnitStates) -> None:
    loads = Loads()
    loads.go.set()
    ahead = HookPrefetch(loads, states, background)
    for name in "abb":
        await ahead(states[name].unit)
    assert loads.asked.count("b") == 2
