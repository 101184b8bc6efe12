"""Names of snapshots: which a binding gets, and which are unknown or ambiguous. Level: pure."""

from typing import Any

from hookrunner.hooks.config.rules import (
    ambiguous_includes,
    binding_names,
    effective_includes,
    include_problems,
    snapshot_groups,
)
from tests.tables import each


def bindings(*names: str | None, group: str = "", **keys: Any) -> list[dict[str, Any]]:
    named = [{"kind": "Pod", "group": group, **keys} for _ in names]
    return [item | ({"name": name} if name else {}) for item, name in zip(named, names, strict=True)]


@each(
    ("own", "members", "names"),
    [
        ([], [], ()),
        (["a"], [], ("a",)),
        ([], ["a", "b"], ("a", "b")),
        (["3", "2", "1"], ["1", "4", "3"], ("3", "2", "1", "4")),
        (["a", "a"], ["b", "b", "a"], ("a", "b")),
    ],
)
def test_own_includes_come_first_and_the_group_fills_up(own: list[str], members: list[str], names: tuple[str]) -> None:
    binding = {"group": "g", "includeSnapshotsFrom": own}
    assert effective_includes(binding, snapshot_groups(bindings(*members, group="g"))) == names


def test_a_group_of_other_bindings_only_includes_nothing() -> None:
    assert effective_includes({"group": "lonely"}, snapshot_groups(bindings("a", group="g"))) == ()


def lines(*included: str, among: list[dict[str, Any]]) -> list[str]:
    binding, names = {"includeSnapshotsFrom": list(included)}, binding_names(among)
    return [str(problem) for problem in include_problems("schedule[0]", binding, names)]


def test_an_included_name_must_be_there() -> None:
    assert lines("pods", "kubernetes", among=bindings("pods", None)) == []
    assert lines("pod", among=bindings("pods")) == [
        "schedule[0].includeSnapshotsFrom is invalid: 'pod' binding name not found; did you mean 'pods'?"
    ]
    assert "binding name not found; kubernetes bindings are named []" in lines("pods", among=[])[0]


def test_equal_names_in_a_group_are_fine_only_for_equal_bindings() -> None:
    same = bindings(None, None, group="g")
    assert list(ambiguous_includes(same)) == []
    (problem,) = ambiguous_includes([*same[:1], same[1] | {"kind": "Node"}])
    assert str(problem) == (
        "kubernetes[1].name 'kubernetes' is also the name of kubernetes[0] in group 'g'; give each a name of its own"
    )


def test_equal_names_are_fine_where_no_lookup_uses_them() -> None:
    assert list(ambiguous_includes(bindings(None) + bindings(None, kind="Node") + bindings(None, group="g"))) == []
