"""Changes between two versions of an object: none is overlooked, and each has the path that its author knows.

Level: pure."""

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.manifests.field_changes import FieldPlace, field_changes
from kubetypes.json_values import JSON
from tests.tables import each

KEYS = ("name", "spec", "list", "a.b/c")
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", "y", ""])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES)


def shown(before: JSON, after: JSON) -> list[str]:
    return [str(change.place) for change in field_changes({"spec": before}, {"spec": after}) if not change.within]


def named(*names: str, **fields: JSON) -> list[JSON]:
    return [{"name": name, **fields} for name in names]


@each(
    "before, after, paths",
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["spec.b"]),
        ({"a": 1}, {"a": True}, ["spec.a"]),
        ({}, {"resources": {"limits": {"cpu": 1}}}, ["spec.resources.limits.cpu"]),
        ({"a": {"b": {}}}, {}, ["spec.a.b"]),
        ({"a": {"b": 1}}, {"a": [1]}, ["spec.a"]),
        ({"a": None}, {}, ["spec.a"]),
        ({"data": {"a.conf": "x"}}, {"data": {}}, ["spec.data[a.conf]"]),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}, ["spec.args[0]", "spec.args[1]"]),
        ({"args": ["a", "b"]}, {"args": ["a"]}, ["spec.args"]),
        ({"list": [{"a": 1}, {"a": 2}]}, {"list": [{"a": 1}, {"a": 3}]}, ["spec.list[1].a"]),
        ({"list": [{"a": 1}]}, {"list": [{"a": 1}, {"a": 1}]}, ["spec.list"]),
        ({"c": named("a", "b")}, {"c": [*named("a"), *named("b", image="x")]}, ["spec.c[name=b].image"]),
        ({"c": named("a", "b")}, {"c": named("a", "x")}, ["spec.c[name=b]", "spec.c[name=x]"]),
        ({"c": named("a", "b")}, {"c": named("b", "a")}, ["spec.c"]),
        ({"containers": named("a", "b")}, {"containers": named("b", "a")}, []),
        ({"c": named("a", "b")}, {"c": named("a", "a")}, ["spec.c[1].name"]),
        ({"c": named("a")}, {"c": named("a", "a")}, ["spec.c"]),
        ({}, {"c": named("a", image="x")}, ["spec.c[name=a]"]),
    ],
)
def test_a_change_has_the_path_of_what_was_changed(before: JSON, after: JSON, paths: list[str]) -> None:
    assert shown(before, after) == paths


def test_an_added_element_is_followed_by_what_it_consists_of() -> None:
    changes = list(field_changes({"c": named("a")}, {"c": [*named("a"), *named("b", privileged=True)]}))
    assert [(str(change.place), change.within) for change in changes] == [
        ("c[name=b]", False),
        ("c[name=b].name", True),
        ("c[name=b].privileged", True),
    ]


@given(OBJECTS, OBJECTS)
def test_no_key_that_differs_is_overlooked(before: dict[str, JSON], after: dict[str, JSON]) -> None:
    changed = {key for key in {**before, **after} if repr(_sorted(before.get(key))) != repr(_sorted(after.get(key)))}
    absent = {key for key in {**before, **after} if (key in before) != (key in after)}
    assert {first_step(change.place) for change in field_changes(before, after)} == changed | absent


def first_step(place: FieldPlace) -> object:
    while place.above and place.above.above:
        place = place.above
    return place.step


def _sorted(value: JSON) -> JSON:
    """The value with the keys of all maps in one order, so that equal values have one text."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
