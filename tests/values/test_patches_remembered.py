"""Patches of hooks are remembered as few operations that mean the same as all of them, in tables and against a
model that keeps every operation and computes everything anew.

Level: pure."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner.errors import BadValues
from hookrunner.model.operations import ValuesOperation
from hookrunner.values.config_sections import Config
from hookrunner.values.patches import MOST_IN_LISTS, Patches
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.examples import several
from tests.tables import each

LOWER: JSON = {"a": {}, "l": [1], "e": [{"x": 1}], "ports": {"80": 1}}


def operation(text: str) -> ValuesOperation:
    """`+/foo/a=1` adds, `-/foo/a` removes, `?/foo/a=1` tests."""
    path, _, value = text[1:].partition("=")
    op = {"+": "add", "-": "remove", "?": "test"}[text[0]]
    return ValuesOperation(op, path, orjson.loads(value) if value else None)  # type: ignore[arg-type]


def patched(*texts: str) -> Patches:
    document: JSON = {"foo": LOWER}
    found = Patches()
    for text in texts:
        document, found = found.then(document, [operation(text)], "foo")
    assert found.reapplied({"foo": LOWER}) == (document, [])
    assert Patches().then({"foo": LOWER}, map(operation, texts), "foo") == (document, found)
    return found


@each(
    ("said", "kept"),
    [
        (["+/foo/a=1", "+/foo/a=2"], ["+/foo/a=2"]),
        (["+/foo/a/b=1", "+/foo/a/c=1"], ["+/foo/a/b=1", "+/foo/a/c=1"]),
        (["+/foo/a/b=1", "+/foo/a=2"], ["+/foo/a=2"]),
        (["+/foo/a/b=1", "-/foo/a"], ["-/foo/a"]),
        (["+/foo/ab=1", "+/foo/a/b=1", "+/foo/a=2"], ["+/foo/a=2", "+/foo/ab=1"]),
        (["+/foo/b={}", "+/foo/b/c={}", "+/foo/b/c/d=1"], ['+/foo/b={"c":{"d":1}}']),
        (["+/foo/b=[]", "+/foo/b/-=1", "+/foo/b/-=2", "-/foo/b/0"], ["+/foo/b=[2]"]),
        (["+/foo/b=1", "-/foo/b"], ["-/foo/b"]),
        (["-/foo/a", "+/foo/a=1"], ["+/foo/a=1"]),
        (["+/foo={}", "+/foo/b=1"], ['+/foo={"b":1}']),
        (["+/foo/a=1", "?/foo/a=1"], ["+/foo/a=1"]),
        (["+/foo/l/-=1", "+/foo/l/-=2"], ["+/foo/l/-=1", "+/foo/l/-=2"]),
        (["+/foo/l/0=1", "-/foo/l/0", "+/foo/l=[]"], ["+/foo/l=[]"]),
        (["+/foo/e/0/x=2", "+/foo/e/0/x=3"], ["+/foo/e/0/x=3"]),
        (["+/foo/e/0/x=2", "+/foo/e/0={}", "+/foo/e/0/x=3"], ["+/foo/e/0/x=2", "+/foo/e/0={}", "+/foo/e/0/x=3"]),
        (["+/foo/ports/80=2", "+/foo/ports/80=3"], ["+/foo/ports/80=3"]),
    ],
)
def test_only_what_still_counts_is_remembered(said: list[str], kept: list[str]) -> None:
    assert patched(*said).operations() == tuple(map(operation, kept))


def test_a_patch_without_a_place_waits_for_one() -> None:
    found = patched("+/foo/a/b=1", "-/foo/ports/80", "+/foo/l/-=2")
    document, misfits = found.reapplied({"foo": {"a": 3}})
    assert document == {"foo": {"a": 3}}
    assert misfits == ["add /foo/a/b: /foo/a is a number, so nothing can be in it", "add /foo/l/-: there is no /foo/l"]
    assert found.reapplied({"foo": LOWER})[0]["foo"]["a"] == {"b": 1}


@pytest.mark.slow
def test_endless_appending_is_refused() -> None:
    document: JSON = {"foo": {"l": []}}
    found = Patches()
    append = [operation("+/foo/l/-=1")]
    document, found = found.then(document, append * MOST_IN_LISTS, "foo")
    with pytest.raises(BadValues, match="add /foo/l as a whole instead"):
        found.then(document, append, "foo")


@dataclass(frozen=True)
class Filling:
    """A schema of defaults at the top level."""

    filled: JSON

    def defaults(self, value: JSON) -> JSON:
        return fresh(self.filled) | value

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        return []


@dataclass(frozen=True)
class Fillings:
    """Schemas of which `helm` is of no interest."""

    config: Filling
    values: Filling
    helm: None = None


def fresh(value: JSON) -> JSON:
    """A copy of which no two parts are one object."""
    return orjson.loads(orjson.dumps(value))


class Model:
    """The same rules without any cleverness: copies everything, forgets nothing, starts anew each time."""

    def __init__(self, static: JSON, schemas: Fillings) -> None:
        self.static, self.schemas = static, schemas
        self.plain: JSON = {}
        self.secret: JSON = {}
        self.said: list[ValuesOperation] = []

    def effective(self) -> JSON:
        value = overlay(self.schemas.config.defaults(self.static), overlay(self.plain, self.secret))
        return all_done(self.schemas.values.defaults(value), self.said)

    def patch(self, operations: Sequence[ValuesOperation]) -> bool | None:
        """Did it change anything? None if it is refused."""
        before = self.effective()
        document = {"foo": fresh(before)}
        if not all(done(document, one) for one in operations):
            return None
        if document["foo"] != before:
            self.said += [one for one in operations if one.op != "test"]
        return bool(document["foo"] != before)


def all_done(section: JSON, said: Sequence[ValuesOperation]) -> JSON:
    """The section after all operations that fit."""
    document = {"foo": section}
    for one in said:
        changed = fresh(document)
        document = changed if done(changed, one) else document
    return document["foo"]


def overlay(low: JSON, high: JSON) -> JSON:
    if not isinstance(low, dict) or not isinstance(high, dict):
        return fresh(high)
    low = fresh(low)
    for key, value in high.items():
        low[key] = overlay(low.get(key), value)
    return low


def done(document: JSON, one: ValuesOperation) -> bool:
    """Does the operation in place; False if it does not fit."""
    *way, last = one.path.split("/")[1:]
    try:
        for token in way:
            document = document[int(token) if isinstance(document, list) else token]
        if isinstance(document, list):
            spare = one.op == "add"
            place: JSON = len(document) if last == "-" and spare else int(last)
            if not 0 <= place < len(document) + spare:
                return False
            document[place:place] = [fresh(one.value)] if spare else []
        else:
            place = last
            if one.op == "add":
                document[place] = fresh(one.value)
        if one.op == "remove":
            del document[place]
        return one.op != "test" or document[place] == one.value
    except (KeyError, ValueError, TypeError, IndexError):
        return False


# What is a list in one version of a lower layer is no list in another: the meaning of a position in it is unknown.
ALL_LOWERS: list[JSON] = [
    {},
    {"m": {}},
    {"m": {"m": {"0": "p"}}, "l": ["p", {"m": "p"}]},
    {"m": {"m": "p", "l": [{"m": {}}]}, "0": {"m": {}}},
    {"m": "p", "l": "p"},
    {"l": [{"m": {"m": "p"}}, "q", "p"], "0": {}},
]
LOWERS = st.sampled_from(ALL_LOWERS)
PATHS = st.sampled_from(
    ["m", "m/m", "m/m/0", "m/l", "m/l/-", "m/l/0", "m/l/0/m", "l", "l/-", "l/0", "l/1", "l/0/m", "l/1/m", "0", "0/m"]
)
VALUES = st.sampled_from(["p", "q", {}, [], {"m": {"m": "q"}}, [{"m": "q"}, "p"], {"l": ["q"]}])
OPERATIONS = st.builds(
    ValuesOperation, st.sampled_from(["add", "add", "remove", "test"]), PATHS.map("/foo/{}".format), VALUES
)
STEPS = st.one_of(
    *[st.tuples(st.just("patch"), st.lists(OPERATIONS, min_size=1, max_size=most)) for most in (1, 1, 3)],
    st.tuples(st.just("adopt"), st.tuples(LOWERS, LOWERS)),
    st.tuples(st.sampled_from(["forget", "patch"]), st.just([])),
)
PATCHES = st.lists(st.lists(OPERATIONS, min_size=1, max_size=2), min_size=5, max_size=20)
SCHEMAS = st.builds(Fillings, st.builds(Filling, LOWERS), st.builds(Filling, LOWERS))


@pytest.mark.slow
@settings(max_examples=several(60), deadline=None)
@given(LOWERS, PATCHES)
def test_on_any_lower_layers_few_operations_mean_what_all_of_them_mean(
    lower: JSON, asked: list[list[ValuesOperation]]
) -> None:
    document, found, said = {"foo": lower}, Patches(), list[ValuesOperation]()
    for operations in asked:
        with suppress(BadValues):
            document, found = found.then(document, operations, "foo")
            said += [one for one in operations if one.op != "test"]
    for other in (lower, *ALL_LOWERS):
        assert found.reapplied({"foo": other})[0]["foo"] == all_done(other, said)


@pytest.mark.slow
@settings(max_examples=several(60), deadline=None)
@given(LOWERS, SCHEMAS, st.lists(STEPS, min_size=10, max_size=40))
def test_the_store_equals_a_model_that_does_everything_anew(
    static: JSON, schemas: Fillings, steps: list[tuple[str, JSON]]
) -> None:
    store, model = SectionStore({"foo": static}, {"foo": schemas}), Model(static, schemas)
    for step, given_ in steps:
        take(step, given_, store, model)
        assert store.effective("foo") == model.effective()


def take(step: str, given_: JSON, store: SectionStore, model: Model) -> None:
    """One step on both sides."""
    if step == "patch":
        try:
            changed: bool | None = store.patch("foo", given_)
        except BadValues:
            changed = None
        assert changed == model.patch(given_)
    elif step == "adopt":
        model.plain, model.secret = given_
        store.adopt(Config({"foo": given_[0]}), Config({"foo": given_[1]}), {"foo"})
    else:
        model.said.clear()
        store.forget("foo")
