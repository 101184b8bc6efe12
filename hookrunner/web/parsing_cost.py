"""The memory that parsing a JSON text will take, worked out from its bytes before anything is parsed.

A list of `{}` takes 25 times its text, an object as people write them about 6 times, one long string hardly more than
its text. Nothing is nested or built here: what stands outside of strings is counted, a part of the text at a time, as
it comes from the network. So a text that would cost too much is refused before all of it has arrived.
"""

import re

_PART = 64 * 1024
"""Bytes that are looked at in one go: a text that is cut at its quotes may take 40 times its memory."""

_EMPTY, _OBJECT, _MEMBER = 64, 152, 32
"""Bytes of an empty dict, of one with members, and of each member."""
_LIST, _SLOT = 56, 8
"""Of a list, and of each of its items."""
_STRING, _KEY, _NUMBER = 56, 24, 32
"""Of a string above its text, of a key (most keys come more than once and are shared), and of a number."""
_PARSER = 16
"""Of each value in the parser's own tree, which it builds first."""

_WIDE = re.compile(rb"[\xc4-\xf4]")
"""The first byte of a character that takes two bytes in a Python string, or four."""
_WIDEST = re.compile(rb"[\xf0-\xf4]")


class ParsingCost:
    """Counts while a text comes in. `feed` takes its parts, in order; `estimate` is what is known by then.

    The text has to be UTF-8. Of one that is no JSON the estimate means nothing, and the parser refuses it.
    """

    def __init__(self) -> None:
        self._held = b""
        self._in_string = False
        self._width, self._length = 1, 0
        self._counts = dict.fromkeys((b"{", b"{}", b"[", b"[]", b",", b":"), 0)
        self._quotes = self._text = 0

    @property
    def estimate(self) -> int:
        """Bytes of the finished value and of what the parser needs beside it, without the text that it reads."""
        count = self._counts
        empty, objects, members = count[b"{}"], count[b"{"], count[b":"]
        containers = objects + count[b"["]
        values = count[b","] + containers - empty - count[b"[]"] + 1
        strings = self._quotes // 2
        numbers = max(values + members - strings - containers, 0)
        return (
            empty * _EMPTY
            + (objects - empty) * _OBJECT
            + members * (_MEMBER + _KEY)
            + count[b"["] * _LIST
            + values * _SLOT
            + max(strings - members, 0) * _STRING
            + numbers * _NUMBER
            + (values + members) * _PARSER
            + self._text
        )

    def feed(self, chunk: bytes) -> None:
        """Count the next part of the text."""
        for start in range(0, len(chunk), _PART):
            self._feed(self._held + chunk[start : start + _PART])

    def _feed(self, part: bytes) -> None:
        # What a last backslash is about comes with the next part.
        escapes = (len(part) - len(part.rstrip(b"\\"))) % 2
        self._held, part = part[len(part) - escapes :], part[: len(part) - escapes]
        if b"\\" in part:
            part = part.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        pieces = part.split(b'"')
        self._quotes += len(pieces) - 1
        self._count(b"_".join(pieces[int(self._in_string) :: 2]))
        self._measure(pieces[1 - self._in_string :: 2], part.isascii())
        self._in_string ^= len(pieces) % 2 == 0

    def _count(self, outside: bytes) -> None:
        for what in self._counts:
            self._counts[what] += outside.count(what)

    def _measure(self, texts: list[bytes], is_ascii: bool) -> None:
        """Each character of a Python string takes as many bytes as the widest one of the string."""
        if is_ascii and self._width == 1:
            self._text += sum(map(len, texts))
            self._length = (self._length if self._in_string and len(texts) == 1 else 0) + len(texts[-1]) if texts else 0
            return
        for place, text in enumerate(texts):
            if place or not self._in_string:
                self._width, self._length = 1, 0
            width = self._width if text.isascii() else max(self._width, _width(text))
            self._text += width * (self._length + len(text)) - self._width * self._length
            self._width, self._length = width, self._length + len(text)


def _width(text: bytes) -> int:
    if _WIDEST.search(text):
        return 4
    return 2 if _WIDE.search(text) else 1
