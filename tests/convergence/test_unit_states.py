"""Instances of addons among the states: beside the modules, added and removed while those stay."""

import asyncio
from dataclasses import replace

import pytest

from hookrunner.convergence.unit_states import UnitStates
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
    assert ([*states], len(states), states.enabled) == ([states["a"], states["b"]], 2, [])
    assert states["dns.default.x"] is states.get("dns.default.x") is instance
    assert states.of_key("dns") is None
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
