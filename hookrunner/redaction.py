"""Descriptions of documents that contain no value: for errors, which end in logs, Events, `/readyz` and `queue list`.

What a hook or a user wrote may hold a password anywhere. An error tells the kind of a value, its size and the names of
its keys, and never the value. Rooms write their messages without values from the start (`described`). Where others
write them (Helm, the API server, a webhook), the values that the other was given are taken out (`masked`).
"""

import re
from collections.abc import Iterable, Iterator

import orjson

from kubetypes.json_values import JSON

MASK = "***"

LONGEST_EXCERPT = 1000
"""Characters of a message that repeats a document: they name its beginning."""

_SHORTEST = 4
"""Characters. Shorter values would blank out parts of unrelated words in a message."""
_MOST_KEYS = 10
_KINDS = {dict: "a map", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
_NAME = re.compile(r"[\w./-]{1,100}", re.ASCII)
_ESCAPED = re.compile(r'[\x00-\x1f"\\\ud800-\udfff]')
"""What JSON writes in another form."""
_START = re.compile(rf"(?<!\w)(?=(.{{{_SHORTEST}}}))", re.DOTALL)
"""Where a word of `_SHORTEST` characters or more may begin, with these."""


def kind(value: JSON) -> str:
    """`a map`, `a list`, `a text`, `a number`, `true or false` or `null`."""
    return _KINDS.get(type(value), "a number")


def described(value: JSON) -> str:
    """The kind of a value, its size and its keys: `a map with the keys kind, name and 1 more`."""
    match value:
        case dict() if value:
            return f"a map with {_keys(value)}"
        case list() if value:
            return f"a list of {len(value):,} item{'s' * (len(value) > 1)}"
        case str() if value:
            return f"a text of {len(value):,} character{'s' * (len(value) > 1)}"
        case dict() | list() | str():
            return f"an empty {kind(value).removeprefix('a ')}"
    return kind(value)


def key(name: str) -> str:
    """A key for a message; `…` if it is more than a name, as when plain text is read as YAML."""
    return name if _NAME.fullmatch(name) else "…"


def words(document: JSON) -> frozenset[str]:
    """The values in a document as they may stand in a message: texts, their lines, numbers, also as JSON escapes them.
    Keys of the document are no secret, nor are its kind, name and namespace as an object."""
    known: set[str] = set()
    leaves: list[str] = []
    for value in _inner_values(document):
        if isinstance(value, dict):
            known.update(value, _names(value))
        elif isinstance(value, str):
            leaves.append(value)
        elif not isinstance(value, list | bool | None):
            leaves.append(str(value))
    escaped = (form for leaf in leaves if _ESCAPED.search(leaf) for form in _forms(leaf))
    return frozenset(word for word in (*leaves, *escaped) if len(word) >= _SHORTEST) - known


def maps(document: JSON) -> Iterator[dict[str, JSON]]:
    """All maps in a document, also the innermost, in no order."""
    return (value for value in _inner_values(document) if isinstance(value, dict))


def masked(message: str, hidden: Iterable[str]) -> str:
    """The message without any of these, which are results of `words`, where they are whole words. Words that overlap
    are one mask. The text is searched once, however many words there are."""
    return _masked(message, len(message), frozenset(hidden))


def excerpt(message: str, hidden: Iterable[str], most: int = LONGEST_EXCERPT) -> str:
    """At most `most` characters of the message, masked; for messages that may repeat a whole document. It is cut before
    it is searched, and a word that the cut divides is masked, too."""
    if len(message) <= most:
        return masked(message, hidden)
    return _masked(message[: 2 * most], most, frozenset(word[:most] for word in hidden)) + "…"


def _keys(document: dict[str, JSON]) -> str:
    names = [key for key in document if _NAME.fullmatch(key)][:_MOST_KEYS]
    more = len(document) - len(names)
    if not names:
        return f"{more:,} key{'s' * (more > 1)}"
    return f"the key{'s' * (len(document) > 1)} {', '.join(names)}" + (f" and {more:,} more" if more else "")


def _masked(message: str, most: int, hidden: frozenset[str]) -> str:
    """The first `most` characters, masked. No word is longer; one that is as long may be the start of a longer one."""
    places = [match for match in _START.finditer(message) if match.start() < most]
    heads = {match[1] for match in places}
    lengths = _lengths_by_head(word for word in hidden if word[:_SHORTEST] in heads)
    kept, at = [], 0
    for match in places:
        start = match.start()
        ends = (start + length for length in lengths.get(match[1], ()))
        end = next((end for end in ends if _is_end(message, end, start + most) and message[start:end] in hidden), 0)
        if end and start >= at:
            kept += [message[at:start], MASK]
        at = max(at, end)
    return "".join([*kept, message[at:most]])


def _lengths_by_head(hidden: Iterable[str]) -> dict[str, list[int]]:
    """The lengths of words that begin alike, the longest first: a place in a message is compared with these alone."""
    lengths: dict[str, set[int]] = {}
    for word in hidden:
        lengths.setdefault(word[:_SHORTEST], set()).add(len(word))
    return {head: sorted(several, reverse=True) for head, several in lengths.items()}


def _is_end(message: str, end: int, cut: int) -> bool:
    """Can a word end here: before something that does not continue it, or where words were cut?"""
    if end >= len(message):
        return end == len(message)
    return end == cut or not (message[end].isalnum() or message[end] == "_")


def _inner_values(document: JSON) -> list[JSON]:
    """A document and all values in it. A list, because generators in one another would take five times as long."""
    values = [document]
    for value in values:
        if isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)
    return values


def _names(value: dict[str, JSON]) -> list[str]:
    """The name, namespace and kind of an object, if a map is one."""
    metadata = value.get("metadata")
    named = [value.get("apiVersion"), value.get("kind")]
    named += [metadata.get(key) for key in ("name", "namespace")] if isinstance(metadata, dict) else []
    return [name for name in named if isinstance(name, str)]


def _forms(leaf: str) -> Iterator[str]:
    yield from leaf.split("\n")
    yield orjson.dumps(leaf.encode(errors="replace").decode())[1:-1].decode()
