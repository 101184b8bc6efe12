"""The order of any modules against the rules as one would write them down, without a thought of their cost.

Level: pure."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.model.modules import Module, Traits
from hookrunner.modules.order import ModuleOrder, cycles
from tests.modules.conftest import module

NAMES = "abcdefg"


@st.composite
def any_modules(draw: st.DrawFn) -> list[Module]:
    found = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        requires = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
        traits = Traits(modules=tuple((other, "") for other in requires), gate=draw(st.booleans()))
        found.append(module(name, draw(st.integers(0, 3)), traits))
    return found


def wants_ready(one: Module, other: Module) -> bool:
    """Whether a module waits for another without patience."""
    if one.traits.modules:
        return other.name in dict(one.traits.modules)
    return other.traits.gate and other.weight < one.weight


def reached(modules: list[Module]) -> dict[str, set[str]]:
    """For each module all that it waits for, at first or second hand."""
    found = {one.name: {other.name for other in modules if wants_ready(one, other)} for one in modules}
    for _ in modules:
        found = {name: others.union(*(found[other] for other in others)) for name, others in found.items()}
    return found


@given(any_modules())
def test_cycles_are_the_modules_that_reach_themselves_each_with_a_real_cycle(modules: list[Module]) -> None:
    broken = cycles(modules)
    assert broken.keys() == {name for name, others in reached(modules).items() if name in others}
    known = {one.name: one for one in modules}
    for name, words in broken.items():
        steps = [step.split() for step in words.partition("indefinitely: ")[2].partition(";")[0].split(", ")]
        assert (steps[0][0], steps[-1][-1]) == (name, name)
        assert all(wants_ready(known[step[0]], known[step[-1]]) for step in steps)
        assert all(step[-1] == after[0] for step, after in pairwise(steps))


@given(any_modules())
def test_all_come_after_what_they_require_and_wait_for_what_they_should(modules: list[Module]) -> None:
    """By way of others, a module in the chain waits for every lower one in it, and for every gate below."""
    broken = cycles(modules)
    whole = [one for one in modules if one.name not in broken]
    order = ModuleOrder(whole)
    names = [one.name for one in order.sequence]
    assert sorted(names) == sorted(one.name for one in whole)
    free = [one for one in order.sequence if not one.traits.modules]
    assert [(one.weight, one.name) for one in free] == sorted((one.weight, one.name) for one in free)
    found = waited_for(order)
    wanted = reached(whole)
    for one in whole:
        assert all(names.index(other) < names.index(one.name) for other, _ in one.traits.modules if other in names)
        chain = {other.name for other in free if other.weight < one.weight and not one.traits.modules}
        assert wanted[one.name] | chain <= found[one.name] <= set(names) - {one.name}


def waited_for(order: ModuleOrder) -> dict[str, set[str]]:
    """What the order makes each wait for, at first or second hand."""
    found = {name: {wait.name for wait in order.waits_for(name)} for name in order.modules}
    for _ in order.modules:
        found = {name: others.union(*(found[other] for other in others)) for name, others in found.items()}
    return found
