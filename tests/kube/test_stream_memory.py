"""What a watch keeps while it waits: the last chunk was its whole list. Level: pure."""

import tracemalloc
from typing import Any, cast

from hookrunner.kube.client import _lines

_CHUNK = 2**20


class Content:
    """Two chunks, of which the second comes late: `kept` are the bytes in memory until then."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    async def readany(self) -> bytes:
        self.kept.append(tracemalloc.get_traced_memory()[0])
        return (b"x" * 1023 + b"\n") * (_CHUNK // 1024) + b"rest" if len(self.kept) < 3 else b""


async def test_nothing_of_a_chunk_is_kept_while_the_next_one_is_awaited() -> None:
    content, count = Content(), 0
    tracemalloc.start()
    try:
        async for lines in _lines(cast(Any, content)):
            count += len(lines)
            del lines
    finally:
        tracemalloc.stop()
    assert count == 2 * _CHUNK // 1024 + 1
    assert max(content.kept) - content.kept[0] < _CHUNK / 10
