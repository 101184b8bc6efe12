"""JSON that is kept takes the memory of its length; what is read can be written again. Level: pure."""

import tracemalloc

import pytest

from kubetypes import json_values
from kubetypes.bounds import DEPTH, TooLarge
from kubetypes.json_values import JSON, written
from tests.tables import each


def test_written_json_is_compact_and_holds_no_more_memory_than_its_length() -> None:
    objects: list[JSON] = [{"name": f"map-{number}", "data": {"text": "x" * 1000}} for number in range(100)]
    tracemalloc.start()
    texts = [written(obj) for obj in objects]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert texts[7] == b'{"name":"map-7","data":{"text":"%s"}}' % (b"x" * 1000)
    assert taken < 1.2 * sum(map(len, texts))


@each(
    ("opening", "closing", "levels"),
    [("[", "]", 1), ('{"a":', "}", 1), ('{"a":[', "]}", 2), ('[{"]":', "}]", 2), ('{"[":[', "]}", 2)],
)
def test_levels_are_counted_in_maps_and_lists_and_not_in_texts(opening: str, closing: str, levels: int) -> None:
    most = DEPTH // levels
    written(json_values.loads(opening * most + "1" + closing * most))
    with pytest.raises(TooLarge, match="nested too deep"):
        json_values.loads(opening * (most + 1) + "1" + closing * (most + 1))


@each(
    ("one", "other", "are_equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [1, 2], False),
        ({}, [], False),
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": [1]}, {"a": [True]}, False),
    ],
)
def test_values_are_compared_as_json(one: JSON, other: JSON, are_equal: bool) -> None:
    assert json_values.equal_in_value(one, other) is are_equal
    whole = map(json_values.canonical, map(json_values.with_integers, (one, other)))
    assert len(set(whole)) == (1 if are_equal else 2)


def test_integers_end_at_a_bound() -> None:
    assert json_values.with_integers([1e6, 1.5, {"a": 2.0**63}]) == [1000000, 1.5, {"a": 2.0**63}]
    assert isinstance(json_values.with_integers(2.0**63), float)
    assert isinstance(json_values.with_integers(2.0**63, 1e21), int)
