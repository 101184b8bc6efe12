"""JSON that is kept takes the memory of its length; what is read can be written again."""

import tracemalloc

import pytest

from kubetypes import json_values
from kubetypes.bounds import DEPTH, TooLarge
from kubetypes.json_values import JSON, written


def test_written_json_is_compact_and_holds_no_more_memory_than_its_length() -> None:
    objects: list[JSON] = [{"name": f"map-{number}", "data": {"text": "x" * 1000}} for number in range(100)]
    tracemalloc.start()
    texts = [written(obj) for obj in objects]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert texts[7] == b'{"name":"map-7","data":{"text":"%s"}}' % (b"x" * 1000)
    assert taken < 1.2 * sum(map(len, texts))


@pytest.mark.parametrize(
    ("opening", "closing", "levels"),
    [("[", "]", 1), ('{"a":', "}", 1), ('{"a":[', "]}", 2), ('[{"]":', "}]", 2), ('{"[":[', "]}", 2)],
)
def test_levels_are_counted_in_maps_and_lists_and_not_in_texts(opening: str, closing: str, levels: int) -> None:
    most = DEPTH // levels
    written(json_values.loads(opening * most + "1" + closing * most))
    with pytest.raises(TooLarge, match="nested too deep"):
        json_values.loads(opening * (most + 1) + "1" + closing * (most + 1))
