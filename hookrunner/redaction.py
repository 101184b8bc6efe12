"""Descriptions of documents that contain no value: for errors, which end in logs, Events, `/readyz` and `queue list`.

What a hook or a user wrote may hold a password anywhere. An error tells the kind of a value, its size and the names of
its keys, and never the value. Rooms write their messages without values from the start (`described`). Where others
write them (Helm, the API server, a webhook), the values that the other was given are taken out (`masked`).
"""

import re
from collections.abc import Iterable, Iterator
from functools import reduce

import orjson

from kubetypes.json_values import JSON

MASK = "***"

_SHORTEST = 4
"""Characters. Shorter values would blank out parts of unrelated words in a message."""
_MOST_KEYS = 10
_KINDS = {dict: "a map", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
_NAME = re.compile(r"[\w./-]{1,100}", re.ASCII)


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
    known = set(_names(document))
    return frozenset(word for leaf in _leaves(document) for word in _forms(leaf) if len(word) >= _SHORTEST) - known


def masked(message: str, hidden: Iterable[str]) -> str:
    """The message without any of these where they are whole words; the longest first, since one may be in another."""
    present = sorted((word for word in hidden if word in message), key=len, reverse=True)
    return reduce(_without, present, message)


def _keys(document: dict[str, JSON]) -> str:
    names = [key for key in document if _NAME.fullmatch(key)][:_MOST_KEYS]
    more = len(document) - len(names)
    if not names:
        return f"{more:,} key{'s' * (more > 1)}"
    return f"the key{'s' * (len(document) > 1)} {', '.join(names)}" + (f" and {more:,} more" if more else "")


def _without(message: str, word: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", MASK, message)


def _forms(leaf: str) -> Iterator[str]:
    yield leaf
    yield from leaf.split("\n")
    yield orjson.dumps(leaf.encode(errors="replace").decode())[1:-1].decode()


def _leaves(value: JSON) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif not isinstance(value, bool | None):
        yield str(value)


def _names(document: JSON) -> Iterator[str]:
    """Keys at any depth, and the name, namespace and kind of an object."""
    if isinstance(document, dict):
        yield from document
        metadata = document.get("metadata")
        named = [document.get("apiVersion"), document.get("kind")]
        named += [metadata.get(key) for key in ("name", "namespace")] if isinstance(metadata, dict) else []
        yield from (name for name in named if isinstance(name, str))
    if isinstance(document, dict | list):
        for inner in document.values() if isinstance(document, dict) else document:
            yield from _names(inner)
