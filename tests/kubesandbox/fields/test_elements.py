"""Path elements: how they are distinguished, written, read and shown. Level: pure."""

import pytest

from kubesandbox.fields.elements import NoElement, canonical, element, ordered, paths, shown, written
from kubesandbox.fields.shapes import Shape
from kubetypes import field_sets as sets
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema
from tests.kubesandbox.fields.widgets import SPEC
from tests.tables import each

PORTS = Shape(Schema(SPEC["properties"]["ports"]))
SET = Shape(Schema(SPEC["properties"]["set"]))


@each(
    ("port", "key"),
    [
        ({"protocol": "UDP", "port": 80}, 'k:{"port":80,"protocol":"UDP"}'),
        ({"port": 80}, 'k:{"port":80,"protocol":"TCP"}'),
        ({"port": None}, 'k:{"port":null,"protocol":"TCP"}'),
        ({}, 'k:{"protocol":"TCP"}'),
    ],
)
def test_an_element_is_identified_by_its_keys_and_their_defaults(port: JSON, key: str) -> None:
    assert element(port, PORTS) == key


@each("port", [None, 3, "a", []])
def test_what_is_no_object_has_no_keys(port: JSON) -> None:
    with pytest.raises(NoElement, match="associative list with keys may not have"):
        element(port, PORTS)


@each(("value", "text"), [("<a&b>", '"\\u003ca\\u0026b\\u003e"'), (1.0, "1"), (1.5, "1.5"), ("ä", '"ä"')])
def test_values_are_written_as_go_does(value: JSON, text: str) -> None:
    assert written(value) == text
    assert element(value, SET) == f"v:{text}"


@each(
    ("key", "form"),
    [
        ("f:a", "f:a"),
        ('k:{"b":1, "a":"x"}', 'k:{"a":"x","b":1}'),
        ("v:1.0", "v:1"),
        ("i:3", "i:3"),
        ("i:x", None),
        ("k:[]", None),
        ("k:{", None),
        ("spec", None),
    ],
)
def test_what_clients_write_has_one_form(key: str, form: str | None) -> None:
    assert canonical(key) == form


@each(
    ("key", "text"),
    [
        ("f:a.b", ".a.b"),
        ('k:{"port":80,"p":"TCP"}', '[p="TCP",port=80]'),
        ('v:"a"', '[="a"]'),
        ("v:true", "[=true]"),
        ("i:3", "[3]"),
    ],
)
def test_paths_are_shown_as_the_api_server_words_them(key: str, text: str) -> None:
    assert shown(key) == text


def test_paths_come_in_the_order_of_their_elements_members_first() -> None:
    keys = ('k:{"port":80}', 'k:{"port":443}', "f:b", "v:10", "v:9", 'v:"a"')
    assert [path[0] for path in paths(sets.of(*((key,) for key in keys)))] == [
        "f:b",
        'k:{"port":80}',
        'k:{"port":443}',
        "v:9",
        "v:10",
        'v:"a"',
    ]
    assert list(paths(sets.of(("f:a", "f:x"), ("f:b",)))) == [("f:b",), ("f:a", "f:x")]


def test_keys_are_written_in_order() -> None:
    fields: sets.Fields = {"f:b": {}, "f:a": {"v:10": {}, "v:9": {}, ".": {}}}
    assert [*ordered(fields), *ordered(fields)["f:a"]] == ["f:a", "f:b", ".", "v:9", "v:10"]
