"""Mistakes in schemas that addon-operator overlooks. Its modules must work unchanged, so a slip is read as there, and
reported.

Most invalid schemas cannot be used there either, because they do not fit go-openapi's types. Those that do fit are
found here; observed with go-openapi/validate 0.25.1, as addon-operator calls it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hookrunner.shapes import suggestion
from hookrunner.values.schemas.node import KINDS
from kubetypes import patterns
from kubetypes.json_values import JSON

FOR_HELM = "x-required-for-helm"


class Slip(NamedTuple):
    """`place` is where it is written: file and JSON pointer; `text` says what is wrong, and its consequence."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place} {self.text}"


_Found = Iterator[tuple[str, str]]
"""The rest of the pointer, and the message."""


def found(raw: Mapping[str, JSON]) -> _Found:
    """All slips of one schema, without those of inner schemas."""
    for key, look in _LOOKS.items():
        if key in raw:
            yield from look(key, raw[key])


def without(raw: Mapping[str, JSON]) -> dict[str, JSON]:
    """The schema without slips that have no effect. A slip that nothing can fit stays."""
    kept = {key: value for key, value in raw.items() if key not in _SILENT or not any(_LOOKS[key](key, value))}
    if "additionalProperties" in raw and "additionalProperties" not in kept:
        kept["additionalProperties"] = True
    if isinstance(kept.get("patternProperties"), dict):
        kept["patternProperties"] = {key: item for key, item in kept["patternProperties"].items() if not _refused(key)}
    if isinstance(kept.get("dependencies"), dict):
        kept["dependencies"] = {
            key: item for key, item in kept["dependencies"].items() if isinstance(item, dict | list)
        }
    return kept


def _type(key: str, value: JSON) -> _Found:
    known = tuple(KINDS.values())
    for item in [value] if isinstance(value, str) else value if names(value) else ():
        if item not in known:
            meant = suggestion(item, known) or f"; types are {', '.join(known)}"
            yield key, f"{item!r} is no type, so nothing is of it{meant}"


def _items(key: str, value: JSON) -> _Found:
    if not isinstance(value, dict | list):
        yield key, "is no schema, so items may be anything; write `items: {type: string}`, for one"


def _additional(key: str, value: JSON) -> _Found:
    if not isinstance(value, dict | bool):
        yield key, "is neither true nor false nor a schema, so anything may be there"


def _count(key: str, value: JSON) -> _Found:
    if number(value) and value < 0:
        yield key, f"is below 0, so {'nothing fits' if key.startswith('max') else 'it says nothing'}"


def _multiple(key: str, value: JSON) -> _Found:
    if number(value) and value <= 0:
        yield key, "is not above 0, so no number fits"


def _pattern(key: str, value: JSON) -> _Found:
    if isinstance(value, str) and (why := _refused(value)):
        yield key, f"{why}; so no text fits"


def _patterns(key: str, value: JSON) -> _Found:
    for item in value if isinstance(value, dict) else ():
        if why := _refused(item):
            yield key, f"{why}; so it stands for no key"


def _dependencies(key: str, value: JSON) -> _Found:
    for name, item in value.items() if isinstance(value, dict) else ():
        if not isinstance(item, dict | list):
            yield f"{key}/{name}", "is neither a list of keys nor a schema, so nothing depends on it"


def _for_helm(key: str, value: JSON) -> _Found:
    if not isinstance(value, str) and not names(value):
        yield key, "is neither a key nor a list of keys, so nothing is required"


def _refused(pattern: str) -> str:
    """Why Go refuses a pattern, "" if it does not."""
    try:
        patterns.compiled(pattern)
    except patterns.InvalidInGo as error:
        return f"{pattern!r} is no regular expression: {error}"
    except patterns.BadPattern:
        return ""
    return ""


def names(value: JSON) -> bool:
    """Is it a list of texts?"""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def number(value: JSON) -> bool:
    """Is it a number?"""
    return isinstance(value, int | float) and not isinstance(value, bool)


_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LOOKS: Mapping[str, Callable[[str, JSON], _Found]] = {
    "type": _type,
    "items": _items,
    **dict.fromkeys(("additionalProperties", "additionalItems"), _additional),
    **dict.fromkeys(_COUNTS, _count),
    "multipleOf": _multiple,
    "pattern": _pattern,
    "patternProperties": _patterns,
    "dependencies": _dependencies,
    FOR_HELM: _for_helm,
}
_SILENT = frozenset(("items", "additionalProperties", "additionalItems", FOR_HELM))
"""Keywords that a slip makes ineffective as a whole."""
