"""What a chart may say although an apply does not take it: fields that the API server does not know, and items of a
list twice. Creation and Helm 3's updates pass over the former and let the last of the latter count, so that there are
charts of this kind; an object that could be created must not fail at its first change.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hookrunner.kube.refusals import without_elements
from hookrunner.model.resources import JSON
from hookrunner.releases.fields import items, parted, sets

_UNTYPED = re.compile(r"^failed to create typed patch object \(.*?\): (?:errors:\n)?(.*)$", re.DOTALL)
_UNKNOWN = re.compile(r"\s*([.\[].*): field not declared in schema")
_TWICE = re.compile(r"\s*([.\[].*): duplicate entries for key (\[.*\])")


class Fault(NamedTuple):
    """A field that is not known, or, with `key`, a list that has more than one item of this key."""

    path: str
    key: str = ""

    def __str__(self) -> str:
        return without_elements(self.path + self.key)


def faults(message: str) -> list[Fault]:
    """What the API server complains of, if it is nothing else; a wrong type, for one, has to be corrected."""
    found = _UNTYPED.match(message)
    lines = found[1].split("\n") if found else []
    known = [_UNKNOWN.fullmatch(line) or _TWICE.fullmatch(line) for line in lines]
    return [Fault(*one.groups()) for one in known if one] if all(known) else []


def tolerated(obj: JSON, found: list[Fault]) -> JSON:
    """The object without these faults."""
    for fault in found:
        obj = _mended(obj, fault.path, fault.key)
    return obj


def _mended(value: JSON, path: str, key: str) -> JSON:
    if not path:
        return _last(value, key)
    if isinstance(value, list):
        inside, rest = parted(path)
        chosen = {id(item) for item in items(value, inside)}
        return [_mended(item, rest, key) if id(item) in chosen else item for item in value]
    return {
        name: _mended(below, rest, key) if rest is not None else below for name, below, rest in _ways(value, path, key)
    }


def _ways(value: JSON, path: str, key: str) -> Iterator[tuple[str, JSON, str | None]]:
    """The entries of a map with the rest of the path for those that lie on it, without the field that is to go."""
    for name, below in value.items():
        rest = path[len(name) + 1 :]
        if not path.startswith(f".{name}") or not sets(below, rest):
            yield name, below, None
        elif rest or key:
            yield name, below, rest


def _last(value: list[JSON], key: str) -> list[JSON]:
    """The list with only the last of the items of this key."""
    chosen = {id(item) for item in items(value, key[1:-1])}
    places = [place for place, item in enumerate(value) if id(item) in chosen]
    return [item for place, item in enumerate(value) if place not in places[:-1]]
