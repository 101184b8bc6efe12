"""Which declared conversions lead where : its vectors, ties, and any rules against a plain
search.

Level: pure."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.engine.reviews.chains import Chains, Leg, Step, completed, matches, plan
from hookrunner.errors import ReviewFailed
from hookrunner.model.bindings import ConversionBinding, Hook, HookConfig
from tests.tables import each

CRD = "crontabs.example.com"
ALPHABET = ("alpha->beta", "beta->gamma", "gamma->delta", "delta->gamma", "gamma->beta", "beta->alpha")
GROUPS = ("group.io/alpha->beta", "unstable.example.com/beta->gamma", "stable.example.com/gamma->next.io/delta")
MOVED = ("alpha.example.com/v1beta1->alpha.example.io/v1beta1",)


def hook(name: str, *rules: str, crd: str = CRD) -> Hook:
    """A hook with one binding of these rules, each written `from->to`."""
    pairs = [rule.split("->") for rule in rules]
    binding = ConversionBinding(f"of {name}", crd, tuple((source, target) for source, target in pairs))
    return Hook(name, Path("/hooks") / name, HookConfig("v1", conversions=(binding,)))


def rules(chain: Sequence[Step] | None) -> list[str] | None:
    return None if chain is None else [f"{step.source}->{step.target}" for step in chain]


@each(
    ("declared", "source", "target", "chain"),
    [
        (ALPHABET, "alpha", "delta", list(ALPHABET[:3])),
        (ALPHABET, "delta", "alpha", list(ALPHABET[3:])),
        (ALPHABET, "beta", "delta", list(ALPHABET[1:3])),
        (ALPHABET, "alpha", "omega", None),
        (ALPHABET, "omega", "alpha", None),
        (ALPHABET, "example.com/alpha", "example.com/gamma", list(ALPHABET[:2])),
        (GROUPS, "group.io/alpha", "delta", list(GROUPS)),
        (GROUPS, "alpha", "next.io/delta", list(GROUPS)),
        (GROUPS, "other.io/alpha", "delta", None),
        (GROUPS, "alpha", "stable.example.com/delta", None),
        (MOVED, "v1beta1", "v1beta1", list(MOVED)),
        (MOVED, "alpha.example.com/v1beta1", "v1beta1", list(MOVED)),
        (MOVED, "v1beta1", "alpha.example.io/v1beta1", list(MOVED)),
        (MOVED, "alpha.example.com/v1beta1", "alpha.example.io/v1beta1", list(MOVED)),
        (MOVED, "alpha.example.io/v1beta1", "v1beta1", None),
        ((), "v1", "v2", None),
    ],
)
def test_a_chain_is_made_of_declared_rules(
    declared: Sequence[str], source: str, target: str, chain: list[str] | None
) -> None:
    assert rules(Chains([hook("h", *declared)]).find(CRD, source, target)) == chain


def test_hooks_may_each_declare_a_part() -> None:
    chain = Chains([hook("b", "v2->v3"), hook("a", "v1->v2")]).find(CRD, "v1", "v3")
    assert [step.hook.name for step in chain or ()] == ["a", "b"]


def test_a_version_whose_name_begins_alike_is_another_one() -> None:
    """In shell-operator `v1alpha1` was taken for `v1`."""
    assert Chains([hook("h", "v0->v1", "v1alpha1->v2")]).find(CRD, "v0", "v2") is None


def test_definitions_do_not_mix() -> None:
    chains = Chains([hook("a", "v1->v2"), hook("b", "v2->v3", crd="others.example.com")])
    assert chains.find(CRD, "v1", "v3") is None
    assert [chains.has(crd) for crd in (CRD, "others.example.com", "crontabs")] == [True, True, False]


@each(
    ("declared", "chosen"),
    [
        (["v1->v2", "v2->v3", "v1->v3"], ["v1->v3"]),
        (["v1->a", "v1->b", "b->v3", "a->v3"], ["v1->a", "a->v3"]),
        (["v1->v3", "g/v1->v3", "v1->g/v3", "g/v1->g/v3"], ["g/v1->g/v3"]),
        (["v1->v3", "g/v1->v3", "v1->g/v3"], ["v1->g/v3"]),
        (["v1->v3", "g/v1->v3"], ["g/v1->v3"]),
        (["v1->v3", "g/v1->g/v2", "g/v2->g/v3"], ["v1->v3"]),
        (["v1->a", "g/v1->a", "a->v3", "a->g/v3"], ["g/v1->a", "a->g/v3"]),
    ],
    ids=["short", "declared first", "both exact", "end exact", "start exact", "short before exact", "all the way"],
)
def test_of_several_chains_the_choice_is_always_the_same(declared: Sequence[str], chosen: list[str]) -> None:
    assert rules(Chains([hook("h", *declared)]).find(CRD, "g/v1", "g/v3")) == chosen


def test_of_equal_rules_the_first_hooks_is_taken() -> None:
    chain = Chains([hook("a", "v1->v2"), hook("b", "v1->v2")]).find(CRD, "v1", "v2")
    assert [step.hook.name for step in chain or ()] == ["a"]


def test_a_step_knows_its_binding() -> None:
    two = ConversionBinding("two", CRD, (("v1", "v2"),))
    binding = ConversionBinding("one", "others.example.com", (("v1", "v2"),))
    (step,) = Chains([Hook("h", Path("/h"), HookConfig("v1", conversions=(binding, two)))]).find(CRD, "v1", "v2") or ()
    assert (step.index, step.binding, str(step)) == (1, two, "hook 'h', binding 'two', v1→v2")


@each(
    ("version", "other", "same"),
    [
        ("v1", "v1", True),
        ("v1", "a/v1", True),
        ("a/v1", "b/v1", False),
        ("v1", "v1beta1", False),
        ("v1", "v2", False),
        ("a/v1", "v1b", False),
    ],
)
def test_versions_match_if_only_a_group_is_missing(version: str, other: str, same: bool) -> None:
    assert matches(version, other) is matches(other, version) is same


@each(("version", "full"), [("v1", "example.com/v1"), ("other.io/v1", "other.io/v1"), ("g/v1", "g/v1")])
def test_a_version_gets_the_group_of_its_definition(version: str, full: str) -> None:
    assert completed(version, CRD) == full


def test_the_versions_that_can_be_reached_are_known() -> None:
    assert Chains([hook("h", "v1->v2", "v2->v3", "v3->v1", "v4->v5")]).reachable(CRD, "example.com/v1") == ["v2", "v3"]


def legs(chosen: Sequence[Leg]) -> list[str]:
    return [f"{leg.source.removeprefix('example.com/')}->{leg.target.removeprefix('example.com/')}" for leg in chosen]


@each(
    ("versions", "runs"),
    [
        ([], []),
        (["v3"], []),
        (["v2", "v1"], ["v1->v2", "v2->v3"]),
        (["v0", "v3", "v2"], ["v0->v1", "v1->v2", "v2->v3"]),
        (["x", "v1", "y"], ["y->v2", "v1->v2", "x->v3", "v2->v3"]),
    ],
    ids=["nothing", "there already", "one catches up", "all on one way", "two meet"],
)
def test_the_furthest_go_first_so_that_each_version_is_one_run(versions: Sequence[str], runs: list[str]) -> None:
    chains = Chains([hook("h", "v0->v1", "v1->v2", "v2->v3", "x->v3", "y->v2")])
    assert legs(plan(chains, CRD, [f"example.com/{version}" for version in versions], "example.com/v3")) == runs


def test_a_missing_conversion_is_reported_with_the_reachable_versions() -> None:
    chains = Chains([hook("h", "v1->v2", "v2->v4", "v3->v9")])
    with pytest.raises(ReviewFailed, match=r"crontabs.example.com from example.com/v1 to example.com/v9: .* v2, v4;"):
        plan(chains, CRD, ["example.com/v1"], "example.com/v9")


def test_a_version_without_any_conversion_is_reported() -> None:
    with pytest.raises(ReviewFailed, match="to nowhere; declare"):
        plan(Chains([]), CRD, ["example.com/v1"], "example.com/v2")


@each("declared", [["v1->v2", "g/v2->v3"], ["v1->v2", "g/v2->v3", "example.com/v2->v1"]])
def test_rules_of_a_foreign_group_lead_nowhere(declared: Sequence[str]) -> None:
    """The second would go in circles."""
    with pytest.raises(ReviewFailed, match="no hook converts"):
        plan(Chains([hook("h", *declared)]), CRD, ["example.com/v1"], "example.com/v3")


VERSIONS = st.sampled_from(["v1", "v2", "v3", "v4", "a/v1", "a/v2", "a/v3", "b/v1", "b/v2"])
RULES = st.lists(st.builds("{}->{}".format, VERSIONS, VERSIONS), max_size=8)


def distance(declared: Sequence[str], source: str, target: str) -> int | None:
    """How many rules it takes, by trying all of them as often as there are rules."""
    pairs = [rule.split("->") for rule in declared]
    ends = {source}
    for steps in range(1, len(pairs) + 1):
        ends = {after for before, after in pairs if any(matches(before, end) for end in ends)}
        if any(matches(end, target) for end in ends):
            return steps
    return None


@given(st.lists(RULES, max_size=3), VERSIONS, VERSIONS)
def test_a_chain_is_as_short_as_can_be_and_hangs_together(
    declared: Sequence[Sequence[str]], source: str, target: str
) -> None:
    hooks = [hook(f"h{number}", *some) for number, some in enumerate(declared)]
    chain = Chains(hooks).find(CRD, source, target)
    assert (chain and len(chain)) == distance([rule for some in declared for rule in some], source, target)
    for step in chain or ():
        assert (step.source, step.target) in step.hook.config.conversions[step.index].rules
    ends = [source, *(step.target for step in chain or ())]
    assert all(matches(step.source, end) for step, end in zip(chain or (), ends, strict=False))
    assert chain is None or matches(ends[-1], target)


FULL = st.sampled_from([f"example.com/v{number}" for number in range(6)])
FULL_RULES = st.lists(st.builds("{}->{}".format, FULL | FULL.map(lambda full: full[12:]), FULL), max_size=12)


@given(FULL_RULES, st.sets(FULL), FULL)
def test_a_plan_brings_every_version_home_and_leaves_each_once(
    declared: Sequence[str], versions: set[str], desired: str
) -> None:
    chains = Chains([hook("h", *declared)])
    try:
        chosen = plan(chains, CRD, versions, desired)
    except ReviewFailed:
        assert any(version != desired and chains.find(CRD, version, desired) is None for version in versions)
        return
    versions_left = set(versions)
    for leg in chosen:
        assert leg.source in versions_left
        versions_left = (versions_left | {leg.target}) - {leg.source}
    assert versions_left <= {desired}
    assert len({leg.source for leg in chosen}) == len(chosen)
