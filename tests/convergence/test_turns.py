"""Whose turn it is, from the states of modules alone."""

from pathlib import Path

import pytest

from hookrunner.convergence.state import State
from hookrunner.convergence.turns import Moment
from hookrunner.model.modules import Choice, Decision, Module, Traits
from hookrunner.modules.order import Order

ON = Decision(Choice.ON)
NOWHERE = Path("/nowhere")


def module(name: str, weight: int, *requires: str, gate: bool = False) -> State:
    traits = Traits(gate=gate, modules=tuple((other, "") for other in requires))
    return State(Module(name, name, weight, NOWHERE, NOWHERE, traits=traits), ON)


def moment(*states: State, asked: str = "", now: float = 100.0) -> Moment:
    enabled = {state.module.name: state for state in states}
    return Moment(enabled, Order(state.module for state in states), set(asked.split()), now, patience=30.0)


def turns(found: Moment) -> str:
    return " ".join(state.module.name for state in found.turns)


def working(state: State, since: float) -> State:
    state.asked, state.busy_since = 1, since
    return state


def failed(state: State) -> State:
    state.asked, state.error = 1, "no"
    return state


def test_equal_weights_go_together_and_heavier_ones_wait() -> None:
    assert turns(moment(module("a", 1), module("b", 1), module("c", 2))) == "a b"


def test_a_heavier_module_goes_when_all_lighter_ones_are_ready() -> None:
    a, b, c = module("a", 1), module("b", 1), module("c", 2)
    assert turns(moment(a, working(b, 99.0), c, asked="a b")) == ""
    b.busy_since, b.done = None, 1
    assert turns(moment(a, b, c, asked="a b")) == "c"


def test_nobody_waits_for_a_module_that_failed() -> None:
    assert turns(moment(failed(module("a", 1)), module("b", 2), asked="a")) == "b"


@pytest.mark.parametrize(("since", "expected"), [(70.1, ""), (70.0, "b")])
def test_a_module_that_hangs_is_overtaken_when_patience_is_over(since: float, expected: str) -> None:
    found = moment(working(module("a", 1), since), module("b", 2), asked="a")
    assert turns(found) == expected
    assert found.deadline == (None if expected else pytest.approx(100.1))


def test_a_gate_is_waited_for_until_it_is_ready() -> None:
    gate, b = failed(module("a", 1, gate=True)), module("b", 2)
    found = moment(gate, b, asked="a")
    assert (turns(found), found.awaited("b"), found.over) == ("", ["a"], True)
    gate.error, gate.done = "", 1
    assert turns(moment(gate, b, asked="a")) == "b"


def test_what_is_required_counts_and_not_the_weight() -> None:
    late, early = module("late", 9), module("early", 1, "late")
    assert turns(moment(early, late)) == "late"
    assert turns(moment(early, late, asked="late")) == "early"


def test_whoever_requires_a_module_that_failed_is_held_up_and_hinders_nobody() -> None:
    a, b, c = failed(module("a", 1)), module("b", 2, "a"), module("c", 3)
    assert turns(moment(a, b, c, asked="a")) == "c"
    assert moment(a, b, c, asked="a c").over


def test_a_round_is_not_over_while_a_module_is_at_it() -> None:
    a = working(module("a", 1), 99.0)
    assert not moment(a, asked="a").over
    a.busy_since, a.done = None, 1
    assert moment(a, asked="a").over


def test_without_modules_a_round_is_over_at_once() -> None:
    assert (moment().over, moment().deadline) == (True, None)


def test_modules_that_were_ready_before_are_brought_up_to_date_side_by_side() -> None:
    old, new, late = module("a", 1), module("b", 2), module("c", 3)
    old.last_success = late.last_success = 1.0
    assert turns(moment(old, new, late)) == "a c"
    assert turns(moment(working(old, 99.0), new, late, asked="a c")) == ""
