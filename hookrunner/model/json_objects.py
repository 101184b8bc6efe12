"""Many objects as JSON, for the way from the API server through a hook and back (conversion reviews)."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import orjson

from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

IN_PLACE = 2 << 20
"""Of the work on a review, in bytes of JSON, about: less than 50 ms, and more than clients need that list in pages."""
OBJECT_WORK = 200
"""Bytes of JSON that take as long as to look at an object, however small."""


@dataclass(frozen=True, slots=True)
class JsonObjects:
    """Objects as JSON, in one text with commas between them; `ends` has the position after each.

    One text because thousands of objects may come at once: to read them, to write them, or to free their values is more
    than a step of the event loop may take. So all that looks into them is a pure function, which another process calls
    if they are large, and a text travels there and back in milliseconds.
    """

    text: bytes = b""
    ends: Sequence[int] = ()

    @classmethod
    def of(cls, objects: Iterable[JSON]) -> "JsonObjects":
        """Raises orjson.JSONEncodeError if one is nested too deep to be written."""
        return cls.joined(json_values.written(obj) for obj in objects)

    @classmethod
    def joined(cls, texts: Iterable[bytes]) -> "JsonObjects":
        """Of texts, each of one object."""
        texts = list(texts)
        if not texts:
            return cls()
        ends = accumulate((len(text) + 1 for text in texts), initial=-1)
        return cls(b",".join(texts), array("Q", list(ends)[1:]))

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[bytes]:
        begin = 0
        for end in self.ends:
            yield self.text[begin:end]
            begin = end + 1

    def values(self) -> list[JSON]:
        """The objects as values."""
        return list(orjson.loads(b"[%b]" % self.text))

    def pieces(self, size: int) -> Iterator[bytes]:
        """The text in pieces of this size."""
        return (self.text[begin : begin + size] for begin in range(0, len(self.text), size))

    @property
    def work(self) -> int:
        """The work of a function that looks at all of them, in bytes of JSON, about."""
        return len(self.text) + len(self) * OBJECT_WORK


NO_OBJECTS = JsonObjects()
