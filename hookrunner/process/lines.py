"""What a hook prints, read line by line: bytes become lines, lines become records for the log.

Pure: bytes or text in, lines or records out. The rules are those of shell-operator, without its defect: a line that
looks like JSON and is not JSON is logged as it is, never lost and never at a lower level.
"""

import re
from dataclasses import dataclass

import orjson

LINE_CAP = 64 * 1024  # bytes of one line that are kept; the rest of it is dropped
SHOWN = 10_000  # characters of one line, or of one JSON object, that are logged
_OBJECT_CAP = 256 * 1024  # characters of an object over several lines, before it counts as plain text
_CUT = ":truncated"
_LEVELS = {word: word for word in ("trace", "debug", "info", "warn", "error", "fatal")} | {"warning": "warn"}
# A text with its end, or the rest of the line: to look for the end of one behind each of its quotes would take minutes.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|(".*)')

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Record:
    """One line for the log: its level, its message, and the fields that it brings."""

    level: str
    message: str
    fields: Json


class Lines:
    """Cuts a stream of bytes into lines of text without their newline, each at most `LINE_CAP` bytes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that end in this chunk."""
        *ends, rest = chunk.split(b"\n")
        if not ends:
            self._hold(rest)
            return []
        self._hold(ends[0])
        first, self._held = self._held, bytearray(rest[:LINE_CAP])
        return [_text(first), *map(_text, ends[1:])]

    def flush(self) -> list[str]:
        """The last line, if no newline has ended it."""
        last, self._held = self._held, bytearray()
        return [_text(last)] if last else []

    def _hold(self, part: bytes) -> None:
        self._held += part[: LINE_CAP - len(self._held)]


class Records:
    """Turns the lines of one stream into log records.

    A line that is a JSON object is *proxied*: its own level and message are used. An object over several lines is put
    together when its `{` stands alone on a line, with `multiline` also when the line goes on after it. Lines that turn
    out to be no object are logged one by one.
    """

    def __init__(self, multiline: bool = False) -> None:
        self._multiline = multiline
        self._held: list[str] = []
        self._size = 0
        self._depth = 0

    def feed(self, line: str) -> list[Record]:
        """The records that this line completes."""
        line = line.strip()
        if not line:
            return []
        if self._held:
            return self._add(line)
        record = _record(line)
        opens = line.startswith("{") if self._multiline else line == "{"
        return self._add(line) if opens and not record.fields else [record]

    def flush(self) -> list[Record]:
        """The records of lines that were waiting for the end of their object."""
        lines, self._held, self._size, self._depth = self._held, [], 0, 0
        return [_record(line) for line in lines]

    def _add(self, line: str) -> list[Record]:
        """Hold the line until the braces outside strings are balanced, then see whether it all is an object."""
        self._held.append(line)
        self._size += len(line)
        code = _STRING.sub(r"\1", line)
        self._depth += code.count("{") - code.count("}")
        hopeless = '"' in code or self._depth < 0 or self._size > _OBJECT_CAP
        if self._depth > 0 and not hopeless:
            return []
        whole = None if hopeless else _proxied("\n".join(self._held))
        singles = self.flush()
        return [whole] if whole else singles


def _text(line: bytes | bytearray) -> str:
    return line[:LINE_CAP].decode(errors="replace")


def _record(line: str) -> Record:
    return _proxied(line) or Record("info", _cut(line), {})


def _proxied(text: str) -> Record | None:
    """A JSON object as a record: level, message and time are taken out, every other key becomes `hook_<key>`."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        rest: Json = orjson.loads(text)
        rest.pop("time", None)
        level = _LEVELS.get(str(rest.get("level")).lower())
        if level:
            del rest["level"]
        message = rest.pop("msg") if isinstance(rest.get("msg"), str) else "hook result"
        shown = orjson.dumps(rest).decode()
    except (ValueError, TypeError):  # not JSON, or nested too deep to be written again
        return None
    long: Json = {"hook": {"truncated": _cut(shown)}}
    fields = long if len(shown) > SHOWN else {f"hook_{key}": value for key, value in rest.items()}
    return Record(level or "info", _cut(str(message)), fields | {"proxyJsonLog": True})


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + _CUT
