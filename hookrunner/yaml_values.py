"""YAML text as JSON values, meaning what a Kubernetes user means by it.

Dates, `1:30` and `=` are texts, `1e3` is a number, `0644` is octal, a key is the text that was written (`1`, `on`,
`null`), and of a key given twice the last one counts. Only the words for true and false differ, by dialect: YAML 1.1
for a hook's configuration and for values, as Helm and kubectl read them; YAML 1.2 for what is sent to the API server,
so that no `y` becomes `"true"`. `GO_YAML_3` is YAML 1.2 as addon-operator reads the sections of modules: an unquoted
date becomes a time, `2020-01-01T00:00:00Z`.

Values are built from the parser's events. The library's own composer recurses in C and ends the process with a
segmentation fault on a text of 100,000 brackets; here such a text is an error. So is one whose aliases stand for more
than a million values: a few lines can stand for more than any memory holds.

No error quotes the text, which may hold a password: it names the line. (The library's own snippets are left out.)
"""

import datetime
import math
import re
from collections.abc import Callable, Iterator

import yaml

from hookrunner.model.resources import JSON

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
_MOST_ALIASED = 1_000_000
_QUOTE = "quote it if it is meant as text"


class BadDocument(ValueError):
    """A text cannot be read. `number` counts its documents from 1; the message is one line."""

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        super().__init__(reason)


def documents(text: bytes, dialect: re.Pattern[str]) -> Iterator[JSON]:
    """The documents of a stream, each read only when it is asked for. Raises BadDocument."""
    number = 1
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Document(events, dialect).value(next(events))
                number += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise BadDocument(number, f"not YAML: {place}{error.problem}") from None
    except RecursionError:
        raise BadDocument(number, "nested too deep") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadDocument(number, f"not YAML: {' '.join(str(error).split())}") from None


def old_words(text: str) -> list[tuple[str, ...]]:
    """The places of values in the first document that are true or false in YAML 1.1, and texts in YAML 1.2: keys and
    indices on the way to each. Raises BadDocument."""
    if not _OLD_WORD.search(text):
        return []
    old, new = (next(documents(text.encode(), dialect), None) for dialect in (YAML_1_1, YAML_1_2))
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


class _Document:
    """Turns the events of one document into its value."""

    def __init__(self, events: Iterator[yaml.Event], dialect: re.Pattern[str]) -> None:
        self._events = events
        self._dialect = dialect
        self._anchors: dict[str, tuple[JSON, int]] = {}
        self._values = 0
        self._aliased = 0

    def value(self, event: yaml.Event) -> JSON:
        began = self._values
        self._values += 1
        match event:
            case yaml.AliasEvent():
                return self._anchored(event)
            case yaml.ScalarEvent():
                value = self._scalar(event)
            case yaml.SequenceStartEvent():
                value = [self.value(item) for item in self._until(yaml.SequenceEndEvent)]
            case _:
                value = self._mapping()
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            self._anchors[event.anchor] = value, self._values - began
        return value

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _anchored(self, event: yaml.AliasEvent) -> JSON:
        if event.anchor not in self._anchors:
            text = (
                "an alias (`*name`) refers to nothing, or to a value that contains it; quote it if it is meant as text"
            )
            raise _problem(event, text)
        value, weight = self._anchors[event.anchor]
        self._values += weight
        self._aliased += weight
        if self._aliased > _MOST_ALIASED:
            raise _problem(event, f"the aliases up to here stand for more than {_MOST_ALIASED:,} values")
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
                merged |= _inherited(key, value) | merged
            else:
                own[key.value] = value
        return merged | own

    def _scalar(self, event: yaml.ScalarEvent) -> JSON:
        tag = (event.tag or "").removeprefix(_TAG)
        if tag in ("", "!"):
            match = self._dialect.fullmatch(event.value) if event.implicit[0] else None
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
    place = f"line {event.start_mark.line + 1}: " if event.start_mark else ""
    return ValueError(place + text)


def _inherited(key: yaml.Event, sources: JSON) -> dict[str, JSON]:
    """What `<<: *a` or `<<: [*a, *b]` brings: the earlier source wins."""
    found: dict[str, JSON] = {}
    for source in sources if isinstance(sources, list) else [sources]:
        if not isinstance(source, dict):
            raise _problem(key, "`<<` takes a mapping or a list of mappings")
        found = source | found
    return found


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
