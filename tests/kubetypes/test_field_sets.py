"""Sets of paths obey the laws of sets; the oracle is Python's own `set` of tuples. Level: pure."""

from hypothesis import given
from hypothesis import strategies as st

from kubetypes import field_sets as sets
from kubetypes.field_sets import Path

PATHS = st.lists(st.sampled_from(["f:a", "f:b", 'k:{"id":1}', "v:1"]), min_size=1, max_size=3).map(tuple)
SETS = st.frozensets(PATHS, max_size=8)


def plain(fields: sets.Fields, above: Path = ()) -> set[Path]:
    below = {path for key, node in fields.items() if key != "." for path in plain(node, (*above, key))}
    return below | ({above} if above and sets.member(fields) else set())


@given(SETS)
def test_a_set_has_the_paths_it_was_made_of(one: frozenset[Path]) -> None:
    fields = sets.of(*one)
    assert plain(fields) == one
    assert all(sets.has(fields, path) for path in one)


@given(SETS, SETS)
def test_union_intersection_and_difference(one: frozenset[Path], other: frozenset[Path]) -> None:
    left, right = sets.of(*one), sets.of(*other)
    assert plain(sets.union(left, right)) == one | other
    assert plain(sets.intersection(left, right)) == one & other
    assert plain(sets.difference(left, right)) == one - other


@given(SETS, SETS)
def test_without_takes_what_is_below_along(one: frozenset[Path], other: frozenset[Path]) -> None:
    below = {path for path in one if any(path[: len(above)] == above for above in other)}
    assert plain(sets.without(sets.of(*one), sets.of(*other))) == one - below


@given(SETS, SETS)
def test_nothing_changes_its_arguments(one: frozenset[Path], other: frozenset[Path]) -> None:
    left, right = sets.of(*one), sets.of(*other)
    for work in (sets.union, sets.intersection, sets.difference, sets.without):
        work(left, right)
    assert (left, right) == (sets.of(*one), sets.of(*other))


@given(SETS, SETS)
def test_a_set_that_loses_nothing_comes_back_as_it_is(one: frozenset[Path], other: frozenset[Path]) -> None:
    fields = sets.of(*one)
    rest = sets.difference(fields, sets.of(*(other - one)))
    assert rest is fields


def test_one_set_has_one_form() -> None:
    assert sets.of(("f:a",), ("f:a", "f:b")) == {"f:a": {".": {}, "f:b": {}}}
    assert sets.difference(sets.of(("f:a",), ("f:a", "f:b")), sets.of(("f:a", "f:b"))) == {"f:a": {}}
    assert sets.difference(sets.of(("f:a",), ("f:a", "f:b")), sets.of(("f:a",))) == {"f:a": {"f:b": {}}}
