"""Merging, owning and removing by a schema. Level: pure."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.fields.merge import merged, owned, removed
from kubesandbox.fields.shapes import Shape
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema
from tests.kubesandbox.fields.widgets import SPEC
from tests.tables import each

SHAPE = Shape(Schema(SPEC))


@each(
    ("live", "config", "result"),
    [
        ("ab", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "axc", "abxc"),
        ("abcd", "db", "acdb"),
        ("a", "xay", "xay"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
    ],
)
def test_a_merged_list_follows_the_configuration_and_keeps_the_rest_in_place(
    live: str, config: str, result: str
) -> None:
    assert merged({"set": list(live)}, {"set": list(config)}, SHAPE) == {"set": list(result)}


LETTERS = st.lists(st.sampled_from("abcdef"), unique=True)


@given(LETTERS, LETTERS)
def test_a_merged_list_has_each_element_once_and_the_stated_ones_in_their_order(
    live: Sequence[str], config: Sequence[str]
) -> None:
    result = merged({"set": live}, {"set": config}, SHAPE)["set"]
    assert sorted(result) == sorted({*live, *config})
    assert [one for one in result if one in config] == config
    assert [one for one in result if one not in config] == [one for one in live if one not in config]


@each(
    ("live", "config", "result"),
    [
        ({"struct": {"a": "1"}}, {"struct": {"b": "2"}}, {"struct": {"a": "1", "b": "2"}}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"list": ["a"]}, {"list": ["b"]}, {"list": ["b"]}),
        ({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}),
        ({"text": "a"}, {"text": None}, {"text": None}),
        ({"free": {"x": {"a": 1}}}, {"free": {"x": [1]}}, {"free": {"x": [1]}}),
        ({"ports": [{"port": 1, "name": "a"}]}, {"ports": [{"port": 1, "protocol": "TCP"}]}, None),
    ],
)
def test_maps_merge_field_by_field_unless_they_are_atomic(live: JSON, config: JSON, result: JSON) -> None:
    port = {"port": 1, "name": "a", "protocol": "TCP"}
    assert merged(live, config, SHAPE) == (result or {"ports": [port]})


@each(
    ("config", "fields"),
    [
        ({"text": "a"}, {"f:text": {}}),
        ({"struct": {}}, {"f:struct": {}}),
        ({"struct": {"tags": []}}, {}),
        ({"struct": {"a": "1"}}, {"f:struct": {"f:a": {}}}),
        ({"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}),
        ({"structs": {"a": {"b": "1"}}}, {"f:structs": {"f:a": {".": {}, "f:b": {}}}}),
        ({"set": ["a"]}, {"f:set": {'v:"a"': {}}}),
        ({"numbers": []}, {}),
        ({"list": []}, {"f:list": {}}),
        ({"whole": {"a": "1"}}, {"f:whole": {}}),
        ({"free": {"x": {"y": 1}}}, {"f:free": {"f:x": {".": {}, "f:y": {}}}}),
    ],
)
def test_a_configuration_owns_what_it_states(config: JSON, fields: JSON) -> None:
    assert owned(config, SHAPE) == fields


def test_a_struct_that_loses_all_is_null_and_an_element_goes_as_one() -> None:
    value = {"struct": {"a": "1"}, "set": ["a", "b"], "ports": [{"port": 1}, {"port": 2}]}
    gone: JSON = {"f:struct": {"f:a": {}}, "f:set": {'v:"a"': {}}, "f:ports": {'k:{"port":2,"protocol":"TCP"}': {}}}
    assert removed(value, gone, SHAPE) == {"struct": None, "set": ["b"], "ports": [{"port": 1}]}
