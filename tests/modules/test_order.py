"""In which order modules run, what each waits for, and which wait for themselves. Level: pure."""

import random

import pytest

from hookrunner.model.modules import Module, Traits
from hookrunner.modules.order import ModuleOrder, cycles, sequence
from tests.fakes.cost import QUADRATIC, growth
from tests.modules.conftest import module, requiring
from tests.tables import each

GATE = Traits(gate=True)


def names(modules: tuple[Module, ...]) -> str:
    return " ".join(module.name for module in modules)


@each(
    ("modules", "order"),
    [
        ((), ""),
        ((module("b", 2), module("c", 1), module("a", 10), module("d", 1)), "c d b a"),
        ((module("a", 1, requiring("b")), module("b", 5), module("c", 3)), "c b a"),
        ((module("a", 1, requiring("b >=1", "c")), module("b", 5, requiring("c")), module("c", 9)), "c b a"),
        ((module("a", 1, requiring("gone")), module("b", 0)), "b a"),
        ((module("a", 1, requiring("b")), module("b", 1, requiring("a")), module("c", 9)), "c a b"),
    ],
)
def test_modules_run_by_weight_and_name_and_after_what_they_require(modules: tuple[Module, ...], order: str) -> None:
    assert names(sequence(modules)) == order
    assert names(sequence(modules[::-1])) == order


@each(
    ("name", "waits"),
    [
        ("first", set()),
        ("gate", {("first", "weight"), ("second", "weight")}),
        ("third", {("gate", "gate"), ("beside", "weight")}),
        ("beside", {("first", "weight"), ("second", "weight")}),
        ("free", {("beside", "requires"), ("first", "requires")}),
        ("alone", set()),
        ("last", {("gate", "gate"), ("late-gate", "gate"), ("third", "weight")}),
    ],
)
def test_a_module_waits_for_gates_and_the_weight_below_or_for_what_it_requires(
    name: str, waits: set[tuple[str, str]]
) -> None:
    order = ModuleOrder(
        [
            module("first", 1),
            module("second", 1),
            module("gate", 2, GATE),
            module("beside", 2),
            module("third", 3),
            module("free", 9, requiring("first", "beside >=1")),
            module("alone", 9, requiring("is-off")),
            module("late-gate", 10, requiring("third", gate=True)),
            module("last", 11),
        ]
    )
    assert {(wait.name, wait.kind) for wait in order.waits_for(name)} == waits


def test_no_module_waits_for_the_weight_of_one_with_requirements() -> None:
    order = ModuleOrder([module("a", 1), module("free", 5, requiring("a")), module("b", 9)])
    assert [wait.name for wait in order.waits_for("b")] == ["a"]


@each(
    ("modules", "expected"),
    [
        ((module("a", 1, requiring("b")), module("b", 2), module("c", 3, requiring("a", "b"))), {}),
        ((module("a", 1, requiring("a")),), {"a": "a requires a;"}),
        (
            (module("a", 1, requiring("b")), module("b", 1, requiring("c")), module("c", 1, requiring("a"))),
            {
                "a": "a requires b, b requires c, c requires a;",
                "b": "b requires c, c requires a, a requires b;",
                "c": "c requires a, a requires b, b requires c;",
            },
        ),
        (
            (module("a", 1, requiring("b", "d")), module("b", 1, requiring("a")), module("c", 1, requiring("a"))),
            {"a": "a requires b, b requires a;", "b": "b requires a, a requires b;"},
        ),
        (
            (module("g", 1, requiring("x", gate=True)), module("x", 20), module("y", 20)),
            {"g": "g requires x, x waits for the gate g;", "x": "x waits for the gate g, g requires x;"},
        ),
        ((module("g", 1, GATE), module("h", 1, GATE), module("x", 2, requiring("g")), module("y", 3)), {}),
        ((module("g", 9, requiring("x", gate=True)), module("x", 1)), {}),
    ],
)
def test_a_module_that_would_wait_for_itself_is_named_with_its_cycle(
    modules: tuple[Module, ...], expected: dict[str, str]
) -> None:
    problems = cycles(modules)
    assert problems.keys() == expected.keys()
    assert [name for name, words in expected.items() if f"indefinitely: {words}" not in problems[name]] == []


@pytest.mark.slow
def test_the_cost_of_the_order_grows_with_the_number_of_modules() -> None:
    modules = [
        module(f"m{n}", n, requiring(*(f"m{n - k}" for k in range(1, 10) if n >= k)) if n % 3 else GATE)
        for n in range(1000)
    ]

    def work(size: int) -> None:
        chosen = random.Random(1).sample(modules[:size], size)
        assert cycles(chosen) == {}
        order = ModuleOrder(chosen)
        assert len(order.sequence) == size
        assert sum(len(order.waits_for(module.name)) for module in chosen) > size

    assert growth(work, 250) < QUADRATIC * 0.7
