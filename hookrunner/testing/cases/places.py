"""Where each value of a YAML text stands: for errors that name a line, and for changing one value and nothing else.

Paths are spelled as in `hooks/shapes`: `[0].when.object`. The text has been read as values before, so it is YAML.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import yaml

from kubetypes import yaml_values


@dataclass(slots=True)
class Place:
    """A value, from its first character to behind its last; lines and columns count from 0. `key` is where the key
    begins whose value it is, None in a list and at the root. `flow` values stand in brackets. `again`: the mapping has
    the key twice, and this is the later one."""

    start: tuple[int, int]
    end: tuple[int, int]
    key: tuple[int, int] | None = None
    flow: bool = False
    again: bool = False


Places = dict[str, Place]


def places(text: str) -> Places:
    """The places of all values in the first document."""
    events = (event for event in yaml_values.events(text) if isinstance(event, yaml.NodeEvent | _ENDS))
    found: Places = {}
    for event in events:
        _walk(event, events, "", found)
        break
    return found


def line_of(path: str, found: Places) -> int:
    """The line (from 1) of the value at a path, or of the nearest one around it that is there."""
    while path and path not in found:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    place = found.get(path)
    return (place.key or place.start)[0] + 1 if place else 1


_ENDS = yaml.CollectionEndEvent


def _walk(event: yaml.Event, events: Iterator[yaml.Event], path: str, found: Places) -> Place:
    place = Place(_mark(event.start_mark), _mark(event.end_mark))
    found[path] = place
    if isinstance(event, yaml.CollectionStartEvent):
        place.flow = bool(event.flow_style)
        inside = _mapping if isinstance(event, yaml.MappingStartEvent) else _sequence
        last, end = inside(events, path, found)
        # The end of a block is where the next thing begins, which may be lines below its last value.
        place.end = _mark(end.end_mark) if place.flow or last is None else last
    elif place.end[1] == 0 and place.end > place.start:
        place.end = (place.end[0] - 1, 1 << 30)  # a block scalar ends with its last line
    return place


def _mapping(events: Iterator[yaml.Event], path: str, found: Places) -> tuple[tuple[int, int] | None, yaml.Event]:
    last, names = None, set[str]()
    while not isinstance(key := next(events), _ENDS):
        name = key.value if isinstance(key, yaml.ScalarEvent) else "?"
        place = _walk(next(events), events, f"{path}.{name}" if path else name, found)
        place.key = _mark(key.start_mark)
        place.again = name in names and name != "<<"
        names.add(name)
        last = place.end
    return last, key


def _sequence(events: Iterator[yaml.Event], path: str, found: Places) -> tuple[tuple[int, int] | None, yaml.Event]:
    last, number = None, 0
    while not isinstance(event := next(events), _ENDS):
        last = _walk(event, events, f"{path}[{number}]", found).end
        number += 1
    return last, event


class _Mark(Protocol):
    line: int
    column: int


def _mark(mark: _Mark | None) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)
