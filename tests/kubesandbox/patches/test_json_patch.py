"""JSON patches: the pure function says what the real API server says. Level: control plane."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from kubetypes.patches import json_patch
from kubetypes.patches.refusals import PatchRefused
from tests.examples import several
from tests.kubesandbox.oracle import ONLY_LIVE, Panicked
from tests.kubesandbox.patches.conftest import Anything
from tests.tables import each

DOCUMENT = {"a": {"b/c": 1, "d~e": [1, 2, 3]}, "list": [{"x": 1}, {"x": None}], "text": "héllo", "none": None, "f": 1.5}

PATCHES: list[Any] = [
    [],
    None,
    {},
    "x",
    5,
    True,
    [5],
    [[]],
    [None],
    [{"op": 1}],
    [{"op": "add", "path": 5}],
    [{"op": "move", "from": [], "path": "/spec/x"}],
    [{"op": "add"}],
    [{"op": "add", "path": "", "value": {}}],
    [{"op": "foo", "path": "/spec/x"}],
    [{"OP": "add", "path": "/spec/x", "value": 1}],
    [{"op": "add", "path": "/spec/x", "value": {"y": [None]}}],
    [{"op": "add", "path": "/spec/x"}],
    [{"op": "add", "path": "/spec/no/x", "value": 1}],
    [{"op": "add", "path": "/spec/text/x", "value": 1}],
    [{"op": "add", "path": "/spec/none/x", "value": 1}],
    [{"op": "add", "path": "/spec/a/d~0e/-", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/3", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/4", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/-1", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/-4", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/-5", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/+1", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/01", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/x", "value": 4}],
    [{"op": "add", "path": "/spec/a/d~0e/1_0", "value": 4}],
    [{"op": "add", "path": "spec/a/new", "value": 4}],
    [{"op": "remove", "path": "/spec/a/b~1c"}],
    [{"op": "remove", "path": "/spec/a/d~0e/-1"}],
    [{"op": "remove", "path": "/spec/a/d~0e/-"}],
    [{"op": "remove", "path": "/spec/no"}],
    [{"op": "remove", "path": "/spec/none"}],
    [{"op": "replace", "path": "/spec/no", "value": 1}],
    [{"op": "replace", "path": "/spec/list/-2", "value": 1}],
    [{"op": "replace", "path": "/spec/list/2", "value": 1}],
    [{"op": "replace", "path": "", "value": 5}],
    [{"op": "replace", "path": "", "value": None}],
    [{"op": "move", "from": "/spec/a", "path": "/spec/a/b"}],
    [{"op": "move", "from": "/spec/no", "path": "/spec/x"}],
    [{"op": "move", "from": "/spec/list/0", "path": "/spec/list/-"}],
    [{"op": "copy", "from": "/spec/no", "path": "/spec/x"}],
    [{"op": "copy", "from": "/spec/list/7", "path": "/spec/x"}],
    [{"op": "copy", "from": "/spec/a", "path": "/spec/x"}, {"op": "add", "path": "/spec/a/y", "value": 1}],
    [{"op": "copy", "path": "/spec/x"}],
    [{"op": "test", "path": "/spec/no"}],
    [{"op": "test", "path": "/spec/no", "value": None}],
    [{"op": "test", "path": "/spec/none", "value": 0}],
    [{"op": "test", "path": "/spec/text", "value": "héllo"}],
    [{"op": "test", "path": "/spec/text", "value": "x"}],
    [{"op": "test", "path": "/spec/a/d~0e", "value": [1, 2, 3]}],
    [{"op": "test", "path": "/spec/a/d~0e", "value": [1, 2]}],
    [{"op": "test", "path": "/spec/a/b~1c", "value": True}],
    [{"op": "test", "path": "/spec/f", "value": 1}],
    [{"op": "test", "path": "/spec/list/9", "value": 1}],
    [{"op": "add", "path": "/spec/x", "value": 1}] * 10_001,
]


def outcome(obj: Any, patch: Any) -> tuple[int, Any]:
    """As `Anything.patched` tells it."""
    try:
        return 200, json_patch.apply(obj, patch).get("spec")
    except PatchRefused as refused:
        return refused.code, refused.message


@each("patch", PATCHES, ids=lambda patch: str(patch)[:60])
def test_a_patch_does_what_it_does_on_a_real_server(anything: Anything, patch: Any) -> None:
    obj = anything.holding(DOCUMENT)
    assert outcome(obj, patch) == anything.patched("json", patch)


def test_neither_the_document_nor_the_patch_are_changed() -> None:
    obj, patch = (
        {"a": {"b": [1]}},
        [{"op": "add", "path": "/a/c", "value": {"d": 1}}, {"op": "add", "path": "/a/c/e", "value": 2}],
    )
    before = deepcopy((obj, patch))
    result = json_patch.apply(obj, patch)
    result["a"]["b"].append(2)
    assert (obj, patch) == before


KEYS = st.sampled_from(["a", "b", "~", "/"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "é"])
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
PARTS = st.sampled_from(["a", "b", "~0", "~1", "0", "1", "-1", "-"])
PATHS = st.lists(PARTS, max_size=3).map(lambda parts: "/".join(["/spec", *parts]))


@st.composite
def operations(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(["add", "add", "remove", "replace", "move", "copy", "test"]))
    operation = {"op": name, "path": draw(PATHS)}
    if name in ("move", "copy"):
        return {**operation, "from": draw(PATHS)}
    return operation if name == "remove" else {**operation, "value": draw(DOCUMENTS)}


@ONLY_LIVE
@settings(max_examples=several(250), deadline=None, suppress_health_check=list(HealthCheck))
@given(DOCUMENTS, st.lists(operations(), min_size=1, max_size=3))
def test_random_patches_do_what_they_do_on_a_real_server(anything: Anything, document: Any, patch: Any) -> None:
    # The document comes as the first operation: one request for each example.
    whole = [{"op": "add", "path": "/spec", "value": document}, *patch]
    try:
        expected = anything.patched("json", whole)
    except Panicked:  # such as `test` of [null] against [null]: nothing to compare with
        reject()
    assert outcome(anything.template, whole) == expected


@pytest.mark.slow
def test_copies_of_all_operations_together_have_a_bound() -> None:
    copy = {"op": "copy", "from": "/text", "path": "/again"}
    text = "x" * 1022
    fitting = json_patch.MOST_COPIED // 1024
    assert json_patch.apply({"text": text}, [copy] * fitting) == {"text": text, "again": text}
    with pytest.raises(PatchRefused) as raised:
        json_patch.apply({"text": text}, [copy] * (fitting + 1))
    assert raised.value.detail == (
        "Unable to complete the copy, the accumulated size increase of copy is 3146752, exceeding the limit 3145728"
    )
