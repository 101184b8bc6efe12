"""Our dataclasses behave as those of the standard library. Level: pure."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import asdict, field, replace
from inspect import isfunction, signature
from pathlib import Path
from typing import Any

import pytest

from kubetypes.light_dataclasses import dataclass

ROOT = Path(__file__).parents[2]
NOT_OURS = ("hookrunner/sdk/", "hookrunner/provider.py", "hookrunner/process/fork_", "kubetypes/light_dataclasses.py")
"""Programs of others, which need nothing but the standard library."""


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    tags: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "p"


@dataclass(slots=True)
class Counter:
    step: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.step * 2


@dataclass(frozen=True)
class Open:
    value: int = 1


@dataclass(slots=True, eq=False)
class Cell:
    inner: "Cell | None" = None


def _refusal(call: Callable[[], object]) -> tuple[type, str]:
    with pytest.raises(Exception) as raised:
        call()
    return raised.type, str(raised.value)


def _behaviour(decorate: Any) -> list[object]:
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, hash=False)

        def __eq__(self, other: object) -> bool:
            return True

    made = decorate(frozen=True, slots=True)(Point)
    parameters = [*signature(made).parameters]
    point = made(1, tags=["a"])
    texts = repr(point), made.__match_args__, made.__slots__, asdict(point)
    refused = [lambda: setattr(point, "x", 3), lambda: delattr(point, "x"), lambda: made(), lambda: made(1, z=2)]
    return [*texts, parameters, point == 5, replace(point, y=3).y, *(_refusal(call) for call in refused)]


def test_same_as_the_standard_librarys() -> None:
    assert _behaviour(dataclass) == _behaviour(dataclasses.dataclass)


def test_equal_fields_are_equal_and_have_one_hash_but_for_those_that_do_not_count() -> None:
    assert Point(1, ["a"], "n") == Point(1, ["a"], "m") != Point(2, ["a"])
    assert hash(Point(1, ["a"])) == hash(Point(1, ["b"]))
    assert Named(1) != Point(1)
    assert _refusal(lambda: hash(Counter(1)))[0] is TypeError
    assert Counter(1) == Counter(1)
    assert Cell() != Cell()


def test_each_instance_has_its_own_default() -> None:
    assert Point(1).tags is not Point(1).tags
    assert (Counter(2).total, Open().value, Named(1, name="q").name) == (4, 1, "q")


def test_copies_and_pickles_are_equal() -> None:
    named = Named(1, ["a"], "n", "q")
    assert pickle.loads(pickle.dumps(named)) == named == copy.copy(named) == copy.deepcopy(named)  # noqa: S301


def test_frozen_instances_refuse_every_change() -> None:
    changes: list[Callable[[], object]] = [
        lambda: setattr(Open(), "value", 3),
        lambda: delattr(Open(), "value"),
        lambda: setattr(Point(1), "other", 3),
    ]
    assert {_refusal(change)[0] for change in changes} == {dataclasses.FrozenInstanceError}


def test_instance_that_contains_itself_can_be_shown() -> None:
    cell = Cell()
    cell.inner = cell
    assert repr(cell) == "Cell(inner=...)"


def test_init_is_compiled_at_the_first_instance_only() -> None:
    @dataclass(slots=True)
    class Late:
        value: int

    assert not isfunction(vars(Late)["__init__"])
    assert [Late(1).value, Late(2).value] == [1, 2]
    compiled = vars(Late)["__init__"]
    Late(3)
    assert isfunction(compiled)
    assert compiled is vars(Late)["__init__"]


def test_product_has_no_other_dataclasses() -> None:
    """Each that the standard library compiles costs a start a millisecond."""
    files = [file for room in ("hookrunner", "kubesandbox", "kubetypes") for file in (ROOT / room).rglob("*.py")]
    others = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    found = {str(file.relative_to(ROOT)) for file in files if others.search(file.read_text())}
    assert {name for name in found if not name.startswith(NOT_OURS)} == set()
