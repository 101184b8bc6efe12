"""JSON pointers (RFC 6901) into values, and the changes of RFC 6902 that hooks may make there.

Documents are never changed: a change gives a new one that shares with the old everything off the pointer's path.
That makes it cheap to keep the last good state and to drop a refused change. Positions in lists are read as
addon-operator reads them: `-` is the end for `add`, a negative number counts from the end.
"""

import re
from collections.abc import Callable
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


def added(document: JSON, pointer: Pointer, value: JSON) -> JSON:
    """The document with a member set, or an element inserted before the one at this position. Raises Misfit."""

    def change(held: JSON) -> JSON:
        if isinstance(held, dict):
            return held | {pointer[-1]: value}
        index = len(held) if pointer[-1] == "-" else _index(pointer, len(held) + 1)
        return [*held[:index], value, *held[index:]]

    return _changed(document, pointer, change)


def removed(document: JSON, pointer: Pointer) -> JSON:
    """The document without a member or an element. Raises Misfit."""

    def change(held: JSON) -> JSON:
        _child(held, pointer)
        if isinstance(held, dict):
            return {key: value for key, value in held.items() if key != pointer[-1]}
        index = _index(pointer, len(held))
        return [*held[:index], *held[index + 1 :]]

    return _changed(document, pointer, change)


def way_to_list(document: JSON, pointer: Pointer) -> int | None:
    """The number of tokens to the first list on the pointer's path, None without such a list."""
    for depth, token in enumerate(pointer):
        if isinstance(document, list):
            return depth
        document = document.get(token) if isinstance(document, dict) else None
    return None


def _changed(document: JSON, pointer: Pointer, change: Callable[[JSON], JSON]) -> JSON:
    """The document with the container at the end of the path replaced, and all containers around it."""
    held = [document]
    for depth in range(1, len(pointer)):
        held.append(_child(held[-1], pointer[:depth]))
    if not isinstance(held[-1], dict | list):
        raise Misfit(f"{text(pointer[:-1])} is {redaction.kind(held[-1])}, so nothing can be in it")
    made = change(held.pop())
    for depth in range(len(pointer) - 1, 0, -1):
        container = held.pop()
        if isinstance(container, dict):
            made = container | {pointer[depth - 1]: made}
        else:
            index = _index(pointer[:depth], len(container))
            made = [*container[:index], made, *container[index + 1 :]]
    return made


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
