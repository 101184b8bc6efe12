"""JSON pointers (RFC 6901) into values, and the changes of RFC 6902 that hooks may make there.

Documents are never changed: changes give a new one that shares with the old everything off the pointers' paths.
That makes it cheap to keep the last good state and to drop refused changes. Positions in lists are read as
addon-operator reads them: `-` is the end for `add`, a negative number counts from the end.
"""

import re
from typing import TypeAlias

from hookrunner import redaction
from kubetypes.json_values import JSON

Pointer: TypeAlias = tuple[str, ...]
"""The tokens of a pointer, decoded."""

_NUMBER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)


class Misfit(ValueError):
    """A change does not fit the document; the message says which part is missing or of another kind."""


def tokens(text: str) -> Pointer:
    """`/a/b~1c` → `("a", "b/c")`."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def text(pointer: Pointer) -> str:
    """`("a", "b/c")` → `/a/b~1c`."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in pointer)


def found(document: JSON, pointer: Pointer) -> JSON:
    """The value at a pointer. Raises Misfit."""
    for depth in range(len(pointer)):
        document = _child(document, pointer[: depth + 1])
    return document


class Draft:
    """A document that is changed step by step. A map or list of the original, or of an added value, is copied before
    its first change and is our own from then on, so that a thousand changes of one map do not copy it a thousand
    times."""

    def __init__(self, document: JSON) -> None:
        self.document = document
        self._own: dict[int, JSON] = {}
        """By `id`; held here, so that no other value gets the `id` of one that was removed."""

    def add(self, pointer: Pointer, value: JSON) -> None:
        """Set a member, or insert an element before the one at this position. Raises Misfit, and changes nothing."""
        held = self._container(pointer)
        if isinstance(held, dict):
            held[pointer[-1]] = value
        else:
            held.insert(len(held) if pointer[-1] == "-" else _index(pointer, len(held) + 1), value)

    def remove(self, pointer: Pointer) -> None:
        """Remove a member or an element. Raises Misfit, and changes nothing."""
        held = self._container(pointer)
        _child(held, pointer)
        del held[pointer[-1] if isinstance(held, dict) else _index(pointer, len(held))]

    def _container(self, pointer: Pointer) -> JSON:
        """The map or list in which the pointer ends, our own as all around it."""
        held = self.document = self._owned(self.document)
        for depth in range(1, len(pointer)):
            child = self._owned(_child(held, pointer[:depth]))
            held[pointer[depth - 1] if isinstance(held, dict) else _index(pointer[:depth], len(held))] = child
            held = child
        if not isinstance(held, dict | list):
            raise Misfit(f"{text(pointer[:-1])} is {redaction.kind(held)}, so nothing can be in it")
        return held

    def _owned(self, value: JSON) -> JSON:
        if not isinstance(value, dict | list) or id(value) in self._own:
            return value
        copied = value.copy()
        self._own[id(copied)] = copied
        return copied


def way_to_list(document: JSON, pointer: Pointer) -> int | None:
    """The number of tokens to the first list on the pointer's path, None without such a list."""
    for depth, token in enumerate(pointer):
        if isinstance(document, list):
            return depth
        document = document.get(token) if isinstance(document, dict) else None
    return None


def _child(container: JSON, pointer: Pointer) -> JSON:
    """The value of the pointer's last token in the container."""
    if isinstance(container, dict):
        if pointer[-1] not in container:
            raise Misfit(f"there is no {text(pointer)}")
        return container[pointer[-1]]
    if isinstance(container, list):
        return container[_index(pointer, len(container))]
    raise Misfit(f"{text(pointer[:-1])} is {redaction.kind(container)}, so there is no {text(pointer)}")


def _index(pointer: Pointer, count: int) -> int:
    """A position among `count`."""
    if not _NUMBER.fullmatch(pointer[-1]):
        raise Misfit(f"{text(pointer[:-1])} is a list, and '{pointer[-1]}' is not a position in it")
    index = int(pointer[-1])
    if not -count <= index < count:
        raise Misfit(f"{text(pointer)} is outside of the list")
    return index % count
