"""The body of a request: whether it is accepted, how much of it is read, and what parsing it will cost.

Everything that is refused is an `aiohttp.web.HTTPException` with a text. How long a body may take to arrive is checked
elsewhere (connections.py), what stands in it in review_documents.py.
"""

import re
from collections.abc import Callable

from aiohttp import HttpVersion11, web

from kubetypes.light_dataclasses import dataclass

_WORST = 40
"""No text takes more times its size when it is parsed."""


@dataclass(frozen=True, slots=True)
class Most:
    """What a body may have: bytes, and bytes that parsing it takes. Below `uncounted` of the latter nothing is counted,
    and the worst is assumed."""

    size: int
    cost: int
    uncounted: int


def check(request: web.BaseRequest, most: int) -> None:
    """Refuse by the head alone. Raises HTTPUnsupportedMediaType, HTTPRequestEntityTooLarge, HTTPExpectationFailed."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Content-Type must be application/json\n")
    # A few bytes of gzip can be gigabytes; the API server never compresses what it asks.
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="compressed bodies are not taken: send it without Content-Encoding\n")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        raise web.HTTPExpectationFailed(text="the only expectation that can be met is 100-continue\n")


async def read(request: web.BaseRequest, most: Most, take: Callable[[int], None]) -> tuple[bytearray, int]:
    """The whole body, and what parsing it will take; `take` is given the size of each piece, and may raise.

    Raises HTTPRequestEntityTooLarge as soon as one of them is more than `most`.
    """
    _encourage(request)
    body, counter = bytearray(), ParsingCost()
    while chunk := await request.content.readany():
        take(len(chunk))
        counting = _worst(body) > most.uncounted
        body += chunk
        if len(body) > most.size:
            raise _too_large(most.size)
        if _worst(body) > most.uncounted:
            counter.feed(chunk if counting else bytes(body))
        if counter.estimate > most.cost:
            raise _too_costly(most.cost)
    return body, min(_worst(body), max(counter.estimate, most.uncounted))


async def drain(request: web.BaseRequest) -> None:
    """Read and drop the rest of the body, so that the connection can be used again."""
    while await request.content.readany():
        pass


def _worst(body: bytearray) -> int:
    return len(body) * _WORST


def _encourage(request: web.BaseRequest) -> None:
    """Answer `Expect: 100-continue`, as aiohttp does in the routes of an application, which this server lacks."""
    if "Expect" in request.headers and request.version >= HttpVersion11 and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _too_costly(most: int) -> web.HTTPRequestEntityTooLarge:
    text = f"parsing the body would take more than {most} bytes of memory: it has too many values for its size\n"
    return web.HTTPRequestEntityTooLarge(most, most + 1, text=text)


def _too_large(most: int) -> web.HTTPRequestEntityTooLarge:
    return web.HTTPRequestEntityTooLarge(most, most + 1, text=f"the body is larger than {most} bytes\n")


_PART = 64 * 1024
"""Bytes that are examined at a time: a text that is cut at its quotes may take 40 times its memory."""

_EMPTY, _OBJECT, _MEMBER = 64, 152, 32
"""Bytes of an empty dict, of one with members, and of each member."""
_LIST, _SLOT = 56, 8
"""Bytes of a list, and of each of its items."""
_STRING, _KEY, _NUMBER = 56, 24, 32
"""Bytes of a string beyond its text, of a key (most keys repeat and are shared), and of a number."""
_PARSER = 16
"""Bytes of each value in the parser's own tree, which it builds first."""

_WIDE = re.compile(rb"[\xc4-\xf4]")
"""The first byte of a character that takes two bytes in a Python string, or four."""
_WIDEST = re.compile(rb"[\xf0-\xf4]")


class ParsingCost:
    """Estimates the memory that parsing a JSON text will take from its bytes, before anything is parsed.

    `feed` takes the parts of the text, in order; `estimate` is what is known by then. A list of `{}` takes 25 times its
    text, an ordinary object about 6 times, one long string hardly more than its text. Nothing is nested or built here:
    the characters outside of strings are counted, a part of the text at a time, as it comes from the network. So a text
    that would cost too much is refused before all of it has arrived.

    The text has to be UTF-8. For a text that is not JSON the estimate means nothing, and the parser refuses it.
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
        outside = b"_".join(pieces[int(self._in_string) :: 2])
        for what in self._counts:
            self._counts[what] += outside.count(what)
        self._measure(pieces[1 - self._in_string :: 2], part.isascii())
        self._in_string ^= len(pieces) % 2 == 0

    def _measure(self, texts: list[bytes], is_ascii: bool) -> None:
        """Each character of a Python string takes as many bytes as the widest one of the string."""
        if is_ascii and self._width == 1:
            self._text += sum(map(len, texts))
            self._length = (self._length if self._in_string and len(texts) == 1 else 0) + len(texts[-1]) if texts else 0
            return
        for index, text in enumerate(texts):
            if index or not self._in_string:
                self._width, self._length = 1, 0
            width = self._width if text.isascii() else max(self._width, _width(text))
            self._text += width * (self._length + len(text)) - self._width * self._length
            self._width, self._length = width, self._length + len(text)


def _width(text: bytes) -> int:
    if _WIDEST.search(text):
        return 4
    return 2 if _WIDE.search(text) else 1
