"""JSON that is kept takes the memory of its length."""

import tracemalloc

from kubetypes.json_values import JSON, written


def test_written_json_is_compact_and_holds_no_more_memory_than_its_length() -> None:
    objects: list[JSON] = [{"name": f"map-{number}", "data": {"text": "x" * 1000}} for number in range(100)]
    tracemalloc.start()
    texts = [written(obj) for obj in objects]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert texts[7] == b'{"name":"map-7","data":{"text":"%s"}}' % (b"x" * 1000)
    assert taken < 1.2 * sum(map(len, texts))
