"""Where values stand in a YAML text: for messages that name a line, and for changing one value and nothing else.

Paths are spelled as in `shapes.py`: `[0].when.object`. Aliases stay what they are: nothing inside of one has a place.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Protocol, TypeAlias

import yaml

from kubetypes import yaml_values
from kubetypes.bounds import TooLarge
from kubetypes.light_dataclasses import dataclass

Place: TypeAlias = tuple[int, int]
"""A line and a column, from 0."""


@dataclass(slots=True)
class Position:
    """A value, from its first character to behind its last. `key` is where the key begins whose value it is, None in a
    list and at the root. `flow` values stand in brackets. `again`: the mapping has this key (`name`) already."""

    start: Place
    end: Place
    key: Place | None = None
    name: str = ""
    flow: bool = False
    again: bool = False

    @property
    def first(self) -> Place:
        """Where it begins, with its key if it has one."""
        return self.key or self.start


Positions: TypeAlias = dict[str, Position]
_Walk: TypeAlias = Generator[tuple[str, Position], None, Place | None]
_ENDS = yaml.CollectionEndEvent


def find_positions(text: str | bytes) -> Positions:
    """The places of all values in the first document; of two values at one path the later one. Raises TooLarge,
    yaml.YAMLError."""
    events = _events(text)
    first = next(events, None)
    return dict(_walk(first, events, Position(*_span(first)), "")) if first else {}


def readable_positions(text: str | bytes) -> list[tuple[str, Position]]:
    """The places of all values in all documents, in their order; those up to the error in a text that is not YAML."""
    positions = list[tuple[str, Position]]()
    with suppress(yaml.YAMLError, TooLarge):
        events = _events(text)
        for event in events:
            positions.extend(_walk(event, events, Position(*_span(event)), ""))
    return positions


def _events(text: str | bytes) -> Iterator[yaml.Event]:
    return (event for event in yaml_values.events(text) if isinstance(event, yaml.NodeEvent | _ENDS))


def _walk(event: yaml.Event, events: Iterator[yaml.Event], position: Position, path: str) -> _Walk:
    """A value and all in it. Its end is known when it has been walked through."""
    yield path, position
    if isinstance(event, yaml.CollectionStartEvent):
        position.flow = bool(event.flow_style)
        inside = _mapping if isinstance(event, yaml.MappingStartEvent) else _sequence
        last, end = yield from inside(events, path)
        # The end of a block is where the next thing begins, which may be lines below its last value.
        position.end = _mark(end.end_mark) if position.flow or last is None else last
    elif position.end[1] == 0 and position.end > position.start:
        position.end = (position.end[0] - 1, 1 << 30)  # a block scalar ends with its last line
    return position.end


_Inside: TypeAlias = Generator[tuple[str, Position], None, tuple[Place | None, yaml.Event]]


def _mapping(events: Iterator[yaml.Event], path: str) -> _Inside:
    last, names = None, set[str]()
    while not isinstance(key := next(events), _ENDS):
        name = key.value if isinstance(key, yaml.ScalarEvent) else "?"
        value = next(events)
        position = Position(*_span(value), _mark(key.start_mark), name, again=name in names and name != "<<")
        names.add(name)
        last = yield from _walk(value, events, position, f"{path}.{name}" if path else name)
    return last, key


def _sequence(events: Iterator[yaml.Event], path: str) -> _Inside:
    last, number = None, 0
    while not isinstance(event := next(events), _ENDS):
        last = yield from _walk(event, events, Position(*_span(event)), f"{path}[{number}]")
        number += 1
    return last, event


def line_of(path: str, positions: Positions) -> int:
    """The line (from 1) of the value at a path, or of the nearest one around it that is there."""
    return nearest(path, positions)[0] + 1


def nearest(path: str, positions: Positions) -> Place:
    """Where the value at a path begins, or the nearest one around it that is there."""
    while path and path not in positions:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    position = positions.get(path)
    return position.first if position else (0, 0)


class _Mark(Protocol):
    line: int
    column: int


def _mark(mark: _Mark | None) -> Place:
    return (mark.line, mark.column) if mark else (0, 0)


def _span(event: yaml.Event) -> tuple[Place, Place]:
    return _mark(event.start_mark), _mark(event.end_mark)
