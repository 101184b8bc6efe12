"""YAML text as JSON values, meaning what a Kubernetes user means by it.

Dates, `1:30` and `=` are texts, `1e3` is a number, `0644` is octal, a key is the text that was written (`1`, `on`,
`null`), and of a key given twice the last one counts. Only the words for true and false differ, by dialect: YAML 1.1
for a hook's configuration and for values, as Helm and kubectl read them; YAML 1.2 for what is sent to the API server,
so that no `y` becomes `"true"`. `GO_YAML_3` is YAML 1.2 as addon-operator reads the sections of modules: an unquoted
date becomes a time, `2020-01-01T00:00:00Z`.

Values are built from the parser's events. The library's own composer recurses in C and ends the process with a
segmentation fault on a text of 100,000 brackets; here such a text is an error. So is one whose aliases stand for more
bytes or values than `bounds.py` allows: a few lines can stand for more than any memory holds.

No error quotes the text, which may hold a password: it names the line. (The library's own snippets are left out.)
"""

import datetime
import math
import re
from collections.abc import Callable, Iterator

import yaml

from kubetypes.bounds import (
    DEPTH,
    DIGITS,
    DOCUMENT,
    SECTIONS,
    TOO_DEEP,
    TOO_MANY_DIGITS,
    DocumentBounds,
    Tally,
    TooLarge,
)
from kubetypes.json_values import JSON

_WORDS = (
    r"(?P<null>~|null|Null|NULL|)|(?P<bool>{bools})"
    r"|(?P<int>[-+]?(?:0|[1-9][0-9_]*|0[0-7_]+|0o_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0b_*[01][01_]*))"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*|(?=[eE])))(?:[eE][-+]?[0-9]+)?)"
)
_BOOLS = "true|True|TRUE|false|False|FALSE"
_OLD = "y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF"
_CLOCK = r"(?P<clock>[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2})(?P<part>\.[0-9]{1,9})?(?P<zone>Z|[-+][0-9]{2}:[0-9]{2})?"
_TIME = rf"(?P<time>(?P<date>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?:(?P<between>[Tt ]){_CLOCK})?)"
YAML_1_2 = re.compile(_WORDS.format(bools=_BOOLS))
YAML_1_1 = re.compile(_WORDS.format(bools=f"{_BOOLS}|{_OLD}"))
GO_YAML_3 = re.compile(_WORDS.format(bools=_BOOLS) + f"|{_TIME}")
_OLD_WORD = re.compile(rf"\b(?:{_OLD})\b")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_TAG = "tag:yaml.org,2002:"
_QUOTE = "quote it if it is meant as text"


_LIBRARY_TOO_DEEP = "exceeded maximum nesting depth"
"""What libyaml says from version 0.2.6 on, which reads ahead and so notices before we do."""


class BadDocument(ValueError):
    """A text cannot be read. `number` counts its documents from 1; the message is one line."""

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        super().__init__(reason)


def documents(text: bytes, dialect: re.Pattern[str], bounds: DocumentBounds | Tally = DOCUMENT) -> Iterator[JSON]:
    """The documents of a stream, each read only when it is asked for. All of them count for the bounds; texts that
    share a bound are given one Tally. Raises BadDocument."""
    number = 1
    tally = bounds if isinstance(bounds, Tally) else Tally(bounds)
    try:
        tally.add(len(text), 0)
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Document(events, dialect, tally).value(next(events))
                number += 1
    except yaml.MarkedYAMLError as error:
        is_deep = error.problem == _LIBRARY_TOO_DEEP
        raise BadDocument(
            number, f"{_line(error)}{TOO_DEEP}" if is_deep else f"not YAML: {_line(error)}{error.problem}"
        ) from None
    except TooLarge as error:
        raise BadDocument(number, str(error)) from None
    except RecursionError:  # the stack was deep already
        raise BadDocument(number, TOO_DEEP) from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadDocument(number, f"not YAML: {' '.join(str(error).split())}") from None


def _line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}: " if mark else ""


def events(text: bytes | str) -> Iterator[yaml.Event]:
    """The parser's events of all documents, for places in a text: aliases stay what they are. Raises TooLarge,
    yaml.YAMLError."""
    tally, depth = Tally(DOCUMENT), 0
    tally.add(len(text), 0)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                raise TooLarge(_placed(event, TOO_DEEP))
            tally.add(0, 1)
            yield event
    except yaml.MarkedYAMLError as error:
        if error.problem == _LIBRARY_TOO_DEEP:
            raise TooLarge(f"{_line(error)}{TOO_DEEP}") from None
        raise


def old_words(text: str) -> list[tuple[str, ...]]:
    """The places of values in the first document that are true or false in YAML 1.1, and texts in YAML 1.2: keys and
    indices on the way to each. Raises BadDocument."""
    if not _OLD_WORD.search(text):
        return []
    old, new = (next(documents(text.encode(), dialect, SECTIONS), None) for dialect in (YAML_1_1, YAML_1_2))
    return list(_differences(old, new, ()))


def _differences(old: JSON, new: JSON, place: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match old, new:
        case bool(), str():
            yield place
        case dict(), dict():
            for key in old:
                yield from _differences(old[key], new[key], (*place, key))
        case list(), list():
            for index, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from _differences(one, other, (*place, str(index)))


_ANCHORED = (yaml.ScalarEvent, yaml.CollectionStartEvent)


class _Document:
    """Turns the events of one document into its value."""

    def __init__(self, events: Iterator[yaml.Event], dialect: re.Pattern[str], tally: Tally) -> None:
        self._events = events
        self._dialect = dialect
        self._tally = tally
        self._anchors: dict[str, tuple[JSON, int, int, int]] = {}
        """Values, the characters of their texts and keys, how many values they are, how deep they go."""
        self._written = 0
        """Characters of the texts and keys so far, aliases written out."""
        self._depth = 0
        self._deepest = 0
        """Of the anchored value that is being read, or of the document."""

    def value(self, event: yaml.Event) -> JSON:
        tally, written, deepest = self._tally, self._written, self._deepest
        values = tally.values
        tally.values = values + 1
        if values >= tally.most:
            raise self._too_large(event)
        anchor = isinstance(event, _ANCHORED) and event.anchor
        if anchor:
            self._deepest = self._depth
        match event:
            case yaml.AliasEvent():
                return self._anchored(event)
            case yaml.ScalarEvent():
                self._written += len(event.value)
                value = self._scalar(event)
            case _:
                value = self._collection(event)
        if anchor:
            depth = self._deepest - self._depth
            self._anchors[anchor] = value, self._written - written, tally.values - values, depth
            self._deepest = max(deepest, self._deepest)
        return value

    def _collection(self, event: yaml.Event) -> JSON:
        self._depth += 1
        self._reach(event, self._depth)
        if isinstance(event, yaml.SequenceStartEvent):
            value: JSON = [self.value(item) for item in self._until(yaml.SequenceEndEvent)]
        else:
            value = self._mapping()
        self._depth -= 1
        return value

    def _reach(self, event: yaml.Event, depth: int) -> None:
        if depth > self._deepest:
            self._deepest = depth
            if depth > DEPTH:
                raise TooLarge(_placed(event, TOO_DEEP))

    def _too_large(self, event: yaml.Event) -> TooLarge:
        return TooLarge(_placed(event, self._tally.excess()))

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _anchored(self, event: yaml.AliasEvent) -> JSON:
        if event.anchor not in self._anchors:
            text = (
                "an alias (`*name`) refers to nothing, or to a value that contains it; quote it if it is meant as text"
            )
            raise _problem(event, text)
        value, written, values, depth = self._anchors[event.anchor]
        self._reach(event, self._depth + depth)
        self._written += written
        self._tally.size += written
        self._tally.values += values
        if self._tally.excess():
            raise self._too_large(event)
        return value

    def _mapping(self) -> dict[str, JSON]:
        """Keys that `<<` brings give way to the node's own."""
        own: dict[str, JSON] = {}
        merged: dict[str, JSON] = {}
        for key in self._until(yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise _problem(key, "a key must be a text")
            value = self.value(next(self._events))
            if key.value == "<<" and key.implicit[0]:
                _inherit(merged, key, value)
            else:
                self._written += len(key.value)
                own[key.value] = value
        return merged | own

    def _scalar(self, event: yaml.ScalarEvent) -> JSON:
        tag = (event.tag or "").removeprefix(_TAG)
        if tag in ("", "!"):
            match = self._dialect.fullmatch(event.value) if event.implicit[0] else None
            if match and len(event.value) > DIGITS:
                raise _problem(event, TOO_MANY_DIGITS)
            tag = (match and match.lastgroup) or "str"
            if match and tag == "time":
                return _time(match)
        try:
            return _SCALARS[tag](event.value)
        except KeyError:
            text = "a tag (`!name`) means nothing here; leave it out, or quote the text if it begins with `!`"
            raise _problem(event, text) from None
        except ValueError as error:
            raise _problem(event, str(error)) from None


def _problem(event: yaml.Event, text: str) -> ValueError:
    return ValueError(_placed(event, text))


def _placed(event: yaml.Event, text: str) -> str:
    place = f"line {event.start_mark.line + 1}: " if event.start_mark else ""
    return place + text


def _inherit(merged: dict[str, JSON], key: yaml.Event, sources: JSON) -> None:
    """Add what `<<: *a` or `<<: [*a, *b]` brings: the earlier source wins. Never copies what is there: a mapping may
    have thousands of these."""
    for source in sources if isinstance(sources, list) else [sources]:
        if not isinstance(source, dict):
            raise _problem(key, "`<<` takes a mapping or a list of mappings")
        for name, value in source.items():
            merged.setdefault(name, value)


def _time(match: re.Match[str]) -> str:
    """A time as Go writes it into JSON; the text itself if Go does not take it for one."""
    clock, zone = match["clock"] or "0:0:0", match["zone"] or ""
    if match["clock"] and (match["between"] == " ") is bool(zone):
        return match[0]
    numbers = map(int, (*match["date"].split("-"), *clock.split(":")))
    try:
        moment = datetime.datetime(*numbers)  # type: ignore[arg-type]  # six numbers
    except ValueError:
        return match[0]
    part = (match["part"] or "").rstrip("0").rstrip(".")
    return moment.isoformat() + part + ("Z" if zone in ("", "+00:00", "-00:00") else zone)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    try:
        number = int(digits, 8 if _OCTAL.fullmatch(digits) else 0)
    except ValueError:  # its tag says that it is one, or it has more digits than Python reads
        raise ValueError(f"no integer; {_QUOTE}") from None
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"an integer of more than 64 bits; {_QUOTE}")
    return number


def _float(text: str) -> float:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        raise ValueError(f"no number; {_QUOTE}") from None
    if not math.isfinite(number):
        raise ValueError(f"a number that JSON does not have; {_QUOTE}")
    return number


_SCALARS: dict[str, Callable[[str], JSON]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() in ("true", "y", "yes", "on"),
    "int": _integer,
    "float": _float,
    "str": str,
}
