"""Reads and writes YAML in block style, as Go programs write their configuration: mappings, scalars, lists of scalars.

Hooks have only the standard library, which has no YAML. What is not of this subset (anchors, block scalars, comments
behind values, lists of mappings) raises ValueError instead of being guessed.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

_ENTRY = re.compile(r"""("[^"]*"|[^\s:"'\[{&*!|>#-][^\s:]*):(?: +(.*))?""")
_PLAIN = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
_WORDS = {"null": None, "~": None, "true": True, "false": False}

Lines = deque[tuple[int, str]]
"""Lines that are not read yet: how far each is indented, and the rest of it."""


def parse(text: str) -> dict[str, Any]:
    """The mapping of a document. Raises ValueError with the line that cannot be read."""
    lines = deque(
        (len(line) - len(line.lstrip(" ")), line.strip())
        for line in text.splitlines()
        if line.strip() not in ("", "---") and not line.lstrip().startswith("#")
    )
    mapping = _mapping(lines, 0)
    if lines:
        raise ValueError(f"line {lines[0][1]!r} is indented in an unexpected way")
    return mapping


def write(mapping: dict[str, Any], indent: int = 0) -> str:
    """The mapping as a document, keys sorted. Scalars, lists and keys that are not one word are written as JSON, which
    is YAML."""
    return "".join(f"{line}\n" for line in _written(mapping, indent))


def _written(mapping: dict[str, Any], indent: int) -> Iterator[str]:
    for name, value in sorted(mapping.items()):
        key = name if _PLAIN.fullmatch(name) else json.dumps(name)
        if isinstance(value, dict) and value:
            yield f"{' ' * indent}{key}:"
            yield from _written(value, indent + 2)
        else:
            yield f"{' ' * indent}{key}: {json.dumps(value)}"


def _mapping(lines: Lines, indent: int) -> dict[str, Any]:
    mapping = {}
    while lines and lines[0][0] == indent:
        content = lines.popleft()[1]
        if not (entry := _ENTRY.fullmatch(content)):
            raise ValueError(f"line {content!r} is neither `key: value` nor `- value`")
        mapping[entry[1].strip('"')] = _scalar(entry[2]) if entry[2] else _nested(lines, indent)
    return mapping


def _nested(lines: Lines, indent: int) -> Any:
    """The value below a key: a list may be indented as the key itself is."""
    if lines and lines[0][1].startswith("- ") and lines[0][0] >= indent:
        return list(_items(lines, lines[0][0]))
    return _mapping(lines, lines[0][0]) if lines and lines[0][0] > indent else None


def _items(lines: Lines, indent: int) -> Iterator[Any]:
    while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
        yield _scalar(lines.popleft()[1][2:].strip())


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch("'([^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    if text[0] in '"[{':
        return json.loads(text)
    if text[0] in "&*!|>'" or re.search(r": | #|:$", text):
        raise ValueError(f"value {text!r} is no plain scalar")
    return int(text) if re.fullmatch("-?[0-9]+", text) else text
