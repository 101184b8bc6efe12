"""The lines of the protocol `hookrunner.io/resident`, version 1 (docs/hook-protocol.md): one JSON object each, with one
key, its kind. Kinds and keys that are unknown are ignored on both sides."""

import re
from collections.abc import Iterable
from typing import Literal

import orjson

from hookrunner.process.line_session import BadLine
from hookrunner.shapes import INTEGER, TEXT, Integer, Many, Table, check
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

PROTOCOL = "hookrunner.io/resident"
VERSION = 1
CAPABILITIES = ("cancel", "file", "log", "progress")
_LARGE = 256 << 10
"""Bytes of a line from which on it is not read in the event loop, if its id stands first."""
_MOST_CONCURRENT = 1000
_HELLO = Table(
    {
        "version": INTEGER,
        "capabilities": Many(TEXT, at_least=0),
        "concurrency": Integer(1, _MOST_CONCURRENT),
        "sdk": TEXT,
    },
    open=True,
)
_ID_FIRST = re.compile(rb'\s*\{\s*"answer"\s*:\s*\{\s*"id"\s*:\s*"([^"\\]{1,100})"')

CancelReason = Literal["deadline", "shutdown", "fenced"]

OUR_HELLO = orjson.dumps({"hello": {"protocol": PROTOCOL, "versions": [VERSION], "capabilities": list(CAPABILITIES)}})


@dataclass(frozen=True, slots=True)
class Hello:
    """What a process states in its hello: how many runs it takes at once, what it can do, its library."""

    capabilities: frozenset[str] = frozenset()
    concurrency: int = 1
    sdk: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One line: its kind, and what is in it. `text` is the line where it was too long to be read."""

    kind: str
    body: JSON
    text: bytes = b""

    @property
    def id(self) -> str:
        """The run that it is about."""
        return str(self.body.get("id", ""))


def run_line(pieces: Iterable[bytes]) -> bytes:
    """A run. Line feeds between values, which a document may have, become spaces."""
    return b'{"run":%b}' % b"".join(pieces).replace(b"\n", b" ")


def file_line(run_id: str, path: str) -> bytes:
    """A run that stands in a file."""
    return orjson.dumps({"run": {"id": run_id, "file": path}})


def cancel_line(run_id: str, reason: CancelReason) -> bytes:
    """The answer to this run is no longer needed, or must come soon."""
    return orjson.dumps({"cancel": {"id": run_id, "reason": reason}})


def read_line(line: bytes) -> Message:
    """Raises BadLine for one that is no JSON object."""
    if len(line) > _LARGE and (head := _ID_FIRST.match(line)):
        return Message("answer", {"id": head[1].decode()}, line)
    try:
        value = json_values.loads(line)
    except ValueError as error:
        raise BadLine(f"it wrote a line on descriptor 4 that is not JSON: {error}") from None
    if not isinstance(value, dict) or not value:
        raise BadLine("it wrote a line on descriptor 4 that is no JSON object with a key")
    kind, body = next(iter(value.items()))
    if not isinstance(body, dict):
        raise BadLine(f"its line '{kind[:40]}' on descriptor 4 has no JSON object")
    return Message(kind, body)


def whole_body(message: Message) -> JSON:
    """What is in an answer, read now if its line was too long before. Raises BadLine."""
    if not message.text:
        return message.body
    try:
        return json_values.loads(message.text)["answer"]
    except ValueError as error:
        raise BadLine(f"it wrote an answer that is not JSON: {error}") from None


def read_hello(body: JSON) -> Hello:
    """Raises BadLine with what is wrong with it."""
    if problems := list(check(body, _HELLO)):
        raise BadLine(f"its hello is not valid: {'; '.join(map(str, problems))}")
    if body.get("version") != VERSION:
        raise BadLine(
            f"it speaks version {body.get('version')} of {PROTOCOL}, and hookrunner speaks {VERSION}; answer "
            f'{{"hello": {{"version": {VERSION}}}}}'
        )
    known = frozenset(body.get("capabilities", ())) & frozenset(CAPABILITIES)
    return Hello(known, int(body.get("concurrency", 1)), body.get("sdk", "")[:100])
