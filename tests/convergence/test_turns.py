"""Whose turn it is, from the states of modules alone. Level: pure."""

from collections.abc import Callable

import pytest

from hookrunner.convergence.turns import TurnRules, Turns
from hookrunner.model.modules import Choice, Decision
from hookrunner.model.unit_state import ModuleState
from hookrunner.modules.order import ModuleOrder
from tests.convergence.site import module

ON = Decision(Choice.ON)


def new(name: str, weight: int, *requires: str, gate: bool = False) -> ModuleState:
    """A module whose turn has not come, and that was never ready."""
    return ModuleState(module(name, weight, *requires, gate=gate), ON)


def old(name: str, weight: int, *requires: str, gate: bool = False) -> ModuleState:
    """One whose turn has not come, and that was ready in an earlier round."""
    state = new(name, weight, *requires, gate=gate)
    state.become_ready()
    return state


def working(state: ModuleState, since: float = 90.0) -> ModuleState:
    state.request(since)
    return state


def failed(state: ModuleState, since: float = 90.0) -> ModuleState:
    working(state, since).begin(since, "")
    state.fail("no")
    state.end_attempt(since + 1)
    return state


def ready(state: ModuleState) -> ModuleState:
    working(state).begin(91.0, "")
    state.succeed(92.0)
    state.end_attempt(92.0)
    state.become_ready()
    return state


def moment(*states: ModuleState, now: float = 100.0, strict: bool = False) -> Turns:
    """Ten seconds after everything began, if nothing else is said, with patience for 30."""
    order = ModuleOrder(state.module for state in states)
    return Turns({state.name: state for state in states}, order, TurnRules(30.0, strict), now)


def turns(*states: ModuleState, now: float = 100.0, strict: bool = False) -> str:
    return " ".join(state.name for state in moment(*states, now=now, strict=strict).next)


def test_equal_weights_go_together_and_heavier_ones_wait() -> None:
    assert turns(new("a", 1), new("b", 1), new("c", 2)) == "a b"


def test_a_module_that_had_its_turn_is_not_due_again() -> None:
    assert turns(working(new("a", 1)), new("b", 1)) == "b"


def test_a_heavier_module_goes_when_all_lighter_ones_are_ready() -> None:
    assert turns(ready(new("a", 1)), working(new("b", 1)), new("c", 2)) == ""
    assert turns(ready(new("a", 1)), ready(new("b", 1)), new("c", 2)) == "c"


def test_a_new_module_waits_for_all_lower_weights_and_not_only_for_the_nearest() -> None:
    """That next one, if it was ready before, has not waited for those below it."""
    states = working(old("a", 1)), ready(old("b", 2)), new("c", 3)
    assert turns(*states) == ""
    assert moment(*states).awaited("c") == ("a",)


def test_no_module_waits_for_one_that_failed() -> None:
    assert turns(failed(new("a", 1)), new("b", 2)) == "b"


def test_a_failed_module_is_waited_for_until_it_fails_at_the_present_request() -> None:
    a = failed(new("a", 1), since=0.0)
    a.await_turn()
    assert turns(a, new("b", 2)) == "a"
    a.request(99.0)
    assert turns(a, new("b", 2)) == ""
    a.begin(99.5, "")
    a.fail("no")
    assert turns(a, new("b", 2)) == "b"


@pytest.mark.parametrize(("since", "expected"), [(70.1, ""), (70.0, "b")])
def test_a_module_that_hangs_is_overtaken_when_patience_is_over(since: float, expected: str) -> None:
    present = moment(working(new("a", 1), since), new("b", 2))
    assert " ".join(state.name for state in present.next) == expected
    assert present.deadline == (None if expected else pytest.approx(100.1))


def test_patience_ends_next_with_a_module_that_is_waited_for_and_not_late_yet() -> None:
    """A deadline in the past would be a wait that never sleeps."""
    late, hangs = working(new("late", 1), since=10.0), working(new("hangs", 1), since=80.0)
    assert moment(late, hangs).deadline == pytest.approx(110.0)
    hangs.await_turn()
    assert moment(late, hangs).deadline is None


def test_patience_with_a_module_that_hangs_does_not_begin_again_in_the_next_round() -> None:
    a = working(new("a", 1), since=10.0)
    a.await_turn()
    a.request(99.0)
    assert turns(a, new("b", 2)) == "b"


def test_retries_and_more_work_of_a_module_that_fails_give_it_no_more_time() -> None:
    a = failed(new("a", 1), since=60.0)
    for now in (75.0, 85.0, 95.0):  # more is asked, and it fails before it gets to that
        a.begin(now, "")
        a.request(now + 1)
        a.fail("no")
        a.end_attempt(now + 2)
    assert turns(a, new("b", 2), now=89.9) == ""
    assert turns(a, new("b", 2), now=90.0) == "b"


@pytest.mark.parametrize("later", [new, old])
def test_a_gate_is_waited_for_until_it_is_ready_in_this_round(later: Callable[..., ModuleState]) -> None:
    """Also by those that were ready before."""
    assert turns(old("a", 1, gate=True), later("b", 2)) == "a"
    present = moment(failed(old("a", 1, gate=True)), later("b", 2))
    assert (present.next, present.awaited("b"), present.is_over) == ([], ("a",), True)
    assert turns(ready(old("a", 1, gate=True)), later("b", 2)) == "b"


@pytest.mark.parametrize("later", [new, old])
def test_requirements_count_and_not_weights(later: Callable[..., ModuleState]) -> None:
    """Also for those that were ready before: a database is upgraded before what uses it."""
    assert turns(later("early", 1, "late"), old("late", 9)) == "late"
    assert turns(later("early", 1, "late"), working(old("late", 9), since=0.0)) == ""
    assert turns(later("early", 1, "late"), ready(old("late", 9))) == "early"


def test_a_dependent_of_a_failed_module_waits_and_holds_up_no_other() -> None:
    assert turns(failed(new("a", 1)), new("b", 2, "a"), new("c", 3)) == "c"
    assert moment(failed(new("a", 1)), new("b", 2, "a"), ready(new("c", 3))).is_over


def test_a_round_is_not_over_while_a_module_runs_or_can_begin() -> None:
    assert not moment(working(new("a", 1))).is_over
    assert not moment(ready(new("a", 1)), new("b", 2)).is_over
    assert moment(ready(new("a", 1))).is_over


def test_without_modules_a_round_is_over_at_once() -> None:
    assert (moment().is_over, moment().deadline) == (True, None)


def test_modules_that_were_ready_before_are_brought_up_to_date_side_by_side() -> None:
    """As for a change of a global value: no module waits for another."""
    states = [old(f"m{number:02}", number) for number in range(29)]
    assert len(moment(*states).next) == 29


def test_modules_that_were_ready_before_wait_for_lower_weights_that_never_were() -> None:
    first, low, beside, high = old("first", 1), new("low", 2), old("beside", 2), old("high", 3)
    states = first, low, beside, high
    assert turns(*states) == "first beside"
    working(first), working(beside)
    assert (turns(*states), moment(*states).awaited("low"), moment(*states).awaited("high")) == (
        "",
        ("first",),
        ("low",),
    )
    ready(first), working(low)
    assert turns(*states) == ""
    failed(low)
    assert turns(*states) == "high", "though `beside` still runs"


def test_a_gate_is_waited_for_by_all_higher_weights() -> None:
    states = failed(old("gate", 1, gate=True)), old("b", 2), old("c", 3)
    assert (moment(*states).awaited("b"), moment(*states).awaited("c")) == (("gate",), ("gate",))


def test_a_lower_weight_that_waits_for_a_gate_is_waited_for_as_long_as_the_gate() -> None:
    states = failed(old("gate", 1, gate=True)), new("low", 2), old("high", 3)
    assert (turns(*states), moment(*states).is_over) == ("", True)


def test_the_strict_chain_is_kept_by_those_that_were_ready_before() -> None:
    states = old("a", 1), old("b", 2), old("c", 3)
    for name in "abc":
        assert turns(*states, strict=True) == name
        ready(next(state for state in states if state.name == name))
    assert moment(*states, strict=True).is_over


@pytest.mark.parametrize(("since", "expected"), [(70.1, ""), (70.0, "b")])
def test_the_strict_chain_has_patience_with_what_has_failed(since: float, expected: str) -> None:
    states = failed(old("a", 1), since), old("b", 2)
    assert turns(*states, strict=True) == expected
    assert moment(*states, strict=True).deadline == (None if expected else pytest.approx(100.1))
    assert not moment(failed(old("a", 1), since=70.1), strict=True).is_over
    assert moment(failed(old("a", 1), since=70.0), strict=True).is_over


@pytest.mark.parametrize("strict", [False, True])
def test_a_module_with_requirements_is_in_no_chain(strict: bool) -> None:
    assert turns(working(old("a", 1)), ready(old("b", 5)), old("c", 9, "b"), strict=strict) == "c"


def test_overtakers_of_a_lower_weight_are_found() -> None:
    """Not one that has begun once more since then."""
    states = ready(new("a", 1)), ready(old("beside", 1)), ready(old("b", 2)), old("c", 3), ready(old("d", 4, "b"))
    later = working(old("later", 5))
    later.begin(92.0, "")
    assert [state.name for state in moment(*states, later).overtakers("a")] == ["b"]
    assert moment(*states, ready(old("heavier", 9))).overtakers("d") == [], "no weight waits for one with requirements"


def test_the_cost_of_turns_grows_with_the_number_of_modules() -> None:
    """Of many that are waited for, the nearest are named."""
    present = moment(*(new(f"m{number:03}", number) for number in range(1000)))
    assert max(len(present.awaited(name)) for name in present.enabled) == 1
    assert [state.name for state in present.next] == ["m000"]
