"""Writes JSON as YAML that a person can read and that every YAML parser reads alike.

Release records keep it, and Helm reads them with YAML 1.1, where `y`, `1:30` or `1_000` are not texts. So a text is
written plain only if it looks like a word or a path, and quoted as in JSON otherwise.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import orjson

from kubetypes.json_values import JSON

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*(?:[ :=,@+][A-Za-z0-9_./-]+)*")
_WORDS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null)", re.IGNORECASE)
_UNREADABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_BLOCK = re.compile(r"(?=\S)[^\r\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*")

_LONGEST_KEY = 1000


def dump(value: JSON) -> str:
    """One document, ending with a newline."""
    lines: list[str] = []
    _write(lines, "", value, "")
    return "\n".join(lines).lstrip(" ") + "\n"


def flow(value: JSON) -> str:
    """One line that every YAML parser reads as this value: JSON, in which characters that YAML does not allow are
    escaped."""
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", orjson.dumps(value).decode())


def _write(lines: list[str], head: str, value: JSON, indent: str) -> None:
    """`head` is the beginning of the first line: a key or a dash. The value of a dash begins on the same line."""
    if isinstance(value, dict | list) and value:
        start = f"{head} " if head.endswith("-") else indent
        if head and start == indent:
            lines.append(head)
        for mark, item in _entries(value, indent):
            _write(lines, start + mark, item, indent + "  ")
            start = indent
    elif isinstance(value, str):
        text = _block(value, indent) if "\n" in value else to_scalar(value)
        lines.append(f"{head} {text}")
    else:
        lines.append(f"{head} {orjson.dumps(value).decode()}")


def _entries(value: JSON, indent: str) -> Iterator[tuple[str, JSON]]:
    if isinstance(value, dict):
        return ((_key(key, indent), item) for key, item in value.items())
    return (("-", item) for item in value)


def _key(key: str, indent: str) -> str:
    """Parsers read no key of more than 1,024 characters, except after a question mark."""
    text = to_scalar(key)
    return f"{text}:" if len(text) <= _LONGEST_KEY else f"? {text}\n{indent}:"


@lru_cache(maxsize=4096)
def to_scalar(text: str) -> str:
    """A text as a line has it: plain if every parser reads that alike, else quoted."""
    if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
        return text
    return flow(text)


def _block(text: str, indent: str) -> str:
    """The lines unquoted, if every parser reads them alike."""
    if not _BLOCK.fullmatch(text) or text.endswith("\n\n"):
        return flow(text)
    mark = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([mark, *(indent + line if line else "" for line in lines)])
