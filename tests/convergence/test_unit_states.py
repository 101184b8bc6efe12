"""Instances of addons among the states: beside the modules, added and removed while those stay; each reader of changes
sees each unit that has changed, once.

Level: pure."""

import asyncio
import gc
from dataclasses import replace

import pytest

from hookrunner.convergence.unit_states import UnitChanges, UnitStates
from hookrunner.errors import BadModule
from hookrunner.model.modules import Choice
from hookrunner.model.tasks import own_queue
from hookrunner.model.units import is_unit_of_addon
from tests.convergence.planners import INSTANCE
from tests.convergence.site import module


def test_instances_are_found_beside_modules_and_are_not_among_them() -> None:
    states = UnitStates([module("a", 1), module("b", 2)])
    instance = states.add(INSTANCE)
    instance.choose(Choice.ON)
    assert [state.name for state in states.units] == ["a", "b", "dns.default.x"]
    assert (states.modules, states.enabled) == ((states["a"], states["b"]), [])
    assert states["dns.default.x"] is states.get("dns.default.x") is instance
    assert "dns" not in states.by_key
    states.remove(instance)
    assert (states.get("dns.default.x"), states.instances) == (None, ())


@pytest.mark.parametrize("taken", ["a", "dns.default.x"])
def test_name_of_a_unit_cannot_be_taken_twice(taken: str) -> None:
    states = UnitStates([module("a", 1)])
    states.add(INSTANCE)
    with pytest.raises(BadModule, match=f"{taken} is the name of two units"):
        states.add(replace(INSTANCE, name=taken))


async def test_removal_of_an_instance_wakes_those_that_wait_for_it() -> None:
    states = UnitStates([])
    state = states.add(INSTANCE)
    waiting = asyncio.ensure_future(states.changed.next())
    await asyncio.sleep(0)
    states.remove(state)
    await waiting


def test_queue_says_whether_it_is_of_a_module_or_of_an_instance() -> None:
    names = "cert-manager", "v1.2", "coredns.kube-system.default", "calico.default"
    assert [*map(is_unit_of_addon, names)] == [False, False, True, True]
    assert [*map(own_queue, names)][1:3] == ["module/v1.2", "addon/coredns.kube-system.default"]


@pytest.mark.looptime
async def test_reader_gets_each_changed_unit_once_in_order() -> None:
    changes = UnitChanges()
    feed = changes.subscribe()
    for unit in ("b", "a", "b"):
        changes.note(unit)
    assert await feed.next_batch() == ("b", "a")
    waiting = asyncio.create_task(feed.next_batch())
    await asyncio.sleep(1)
    assert not waiting.done()
    changes.note("a")
    assert await waiting == ("a",)


@pytest.mark.looptime
async def test_each_reader_has_its_own_changes_from_when_it_subscribed() -> None:
    changes = UnitChanges()
    first = changes.subscribe()
    changes.note("a")
    second = changes.subscribe()
    changes.note("b")
    assert (await first.next_batch(), await second.next_batch()) == (("a", "b"), ("b",))


@pytest.mark.looptime
async def test_feed_without_a_reader_is_forgotten() -> None:
    changes = UnitChanges()
    changes.subscribe()
    gc.collect()
    assert len(changes._feeds) == 0
