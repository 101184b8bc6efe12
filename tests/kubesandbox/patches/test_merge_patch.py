"""Merge patches: the pure function says what the real API server says. Level: control plane."""

from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubetypes.patches import merge_patch
from kubetypes.patches.refusals import PatchRefused
from tests.examples import several
from tests.kubesandbox.oracle import ONLY_LIVE
from tests.kubesandbox.patches.conftest import Anything
from tests.tables import each

DOCUMENT = {"a": {"b": 1, "c": {"d": 2}}, "list": [1, {"x": 2}], "none": None, "text": "t"}

SPECS: list[Any] = [
    {},
    [],
    [{"x": None}, None],
    5,
    {"a": None},
    {"a": {"b": None, "c": {"d": None, "e": None}}},
    {"a": [{"x": None}]},
    {"list": [{"x": None}]},
    {"list": {"x": None, "y": 1}},
    {"none": {"x": None, "y": {"z": None}}},
    {"new": {"x": None, "y": {"z": None}, "l": [{"x": None}, None]}},
    {"text": {"x": 1}},
    {"none": None},
]


def outcome(obj: Any, patch: Any) -> tuple[int, Any]:
    """As `Anything.patched` tells it."""
    try:
        return 200, merge_patch.apply(obj, patch).get("spec")
    except PatchRefused as refused:
        return refused.code, refused.message


@each("patch", [None, [], "x", 5, True, {}, *({"spec": spec} for spec in SPECS)], ids=str)
def test_a_patch_does_what_it_does_on_a_real_server(anything: Anything, patch: Any) -> None:
    obj = anything.holding(DOCUMENT)
    assert outcome(obj, patch) == anything.patched("merge", patch)


def test_neither_the_document_nor_the_patch_are_changed() -> None:
    obj, patch = {"a": {"b": [1]}}, {"a": {"c": [2]}}
    before = deepcopy((obj, patch))
    result = merge_patch.apply(obj, patch)
    result["a"]["b"].append(2)
    result["a"]["c"].append(3)
    assert (obj, patch) == before


SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@ONLY_LIVE
@settings(max_examples=several(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS, DOCUMENTS)
def test_random_patches_do_what_they_do_on_a_real_server(anything: Anything, document: Any, patch: Any) -> None:
    obj = anything.holding({"inside": document})
    spec = {"spec": {"inside": patch}}
    assert outcome(obj, spec) == anything.patched("merge", spec)
