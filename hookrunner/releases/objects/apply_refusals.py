"""What the API server says about fields when it refuses a write: conflicts, immutable and unknown fields.

A chart may say things that an apply refuses: fields that the API server does not know, and list items twice. POST and
Helm 3 ignore unknown fields and keep the last duplicate, so such charts exist; an object that could be created must not
fail at its first change. Those faults are taken out of what is applied.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from hookrunner.kube.refusals import without_elements
from hookrunner.releases.manifest_objects import matching_items
from kubetypes.json_values import JSON

_CONFLICTS = re.compile(
    r'conflicts? with "(?P<manager>(?:[^"\\]|\\.)*)"(?: with subresource "[^\n"]*")?[^\n"]*?:'
    r"(?: (?P<one>[.\[].*)|\n(?P<some>- .*(?:\n- .*)*))"
)
_PROBLEM = re.compile(": (?:Invalid value|Forbidden|Required value)")
_FIELD = re.compile(r"(?:\A|(?<=[\[,]))[a-zA-Z][\w-]*(?:[.\[].*)?\Z", re.DOTALL)
_IMMUTABLE = re.compile(r"immutable|(?:may not|cannot|can't)(?: be)? (?:change|update)|updates to", re.IGNORECASE)
_BRACKET = re.compile(r'\[((?:"(?:[^"\\]|\\.)*"|[^"\]])*)\]')
_PAIR = re.compile(r'(?:\A|,)([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)')


class Dispute(NamedTuple):
    """A field that another manager has set to another value."""

    manager: str
    field: str

    def __str__(self) -> str:
        return f'{without_elements(self.field)} (set by "{self.manager}")'


def disputes(message: str) -> list[Dispute]:
    """The conflicts in the refusal of an apply; empty if the message is about something else."""
    return [
        Dispute(match["manager"], field)
        for match in _CONFLICTS.finditer(message)
        for field in ([match["one"]] if match["one"] else match["some"].removeprefix("- ").split("\n- "))
    ]


def sets(value: JSON, path: str) -> bool:
    """Does an object have a value at the path as the API server writes it, such as `.spec.ports[port=80].name`? `[*]`
    stands for any item of a list.

    Keys of maps may contain dots, so it is the object that says where a key ends. Of the keys of a list's item only
    those count that the item has: the others were filled in by the server.
    """
    if not path:
        return True
    if path.startswith("."):
        entries = value.items() if isinstance(value, dict) else ()
        return any(path.startswith(f".{key}") and sets(below, path[len(key) + 1 :]) for key, below in entries)
    inside, rest = split_bracket(path)
    return isinstance(value, list) and any(sets(item, rest) for item in items(value, inside))


def split_bracket(path: str) -> tuple[str, str]:
    """`[…]` at the beginning of a path, without the brackets, and the rest. An invalid path gives one that matches
    nothing."""
    bracket = _BRACKET.match(path)
    return (bracket[1], path[bracket.end() :]) if bracket else ("-", "")


def items(value: list[JSON], inside: str) -> Iterator[JSON]:
    """The items of a list that `[…]` selects: by index, by value (`="a"`) or by keys (`name="a",port=80`)."""
    if inside == "*":
        yield from value
        return
    if inside.isdecimal():
        yield from value[int(inside) : int(inside) + 1]
        return
    wanted = {key: orjson.loads(text) for key, text in _PAIR.findall(inside)}
    if "" in wanted:
        yield from (item for item in value if item == wanted[""])
    else:
        yield from matching_items(value, wanted)


def immutable(message: str) -> list[str]:
    """The fields in the refusal of an update that cannot change after creation."""
    problems = [match.span() for match in _PROBLEM.finditer(message)]
    ends = [start for start, _ in problems[1:]] + [len(message)]
    befores = [0] + [end for _, end in problems[:-1]]
    fields = []
    for (start, behind), before, end in zip(problems, befores, ends, strict=True):
        field = _last_field(message[before:start])
        if field and _IMMUTABLE.search(message[behind:end]):
            fields.append(field)
    return fields


def _last_field(text: str) -> str:
    """The path at the end of a text, "" without one. One pattern for the whole message would try each character
    as the beginning of a path."""
    words = text.split()
    match = _FIELD.search(words[-1].rpartition(":")[2]) if words else None
    return match[0] if match else ""


_UNTYPED = re.compile(r"^failed to create typed patch object \(.*?\): (?:errors:\n)?(.*)$", re.DOTALL)
_UNKNOWN = re.compile(r"\s*([.\[].*): field not declared in schema")
_DUPLICATE = re.compile(r"\s*([.\[].*): duplicate entries for key (\[.*\])")

_NOT_DECODED = re.compile(r'unknown field "((?:[^"\\]|\\.)*)"')
_STRICT = re.compile(rf"strict decoding error: ({_NOT_DECODED.pattern}(?:, {_NOT_DECODED.pattern})*)\Z")


class TemplateFault(NamedTuple):
    """An unknown field, or, with `key`, a list that has more than one item of this key."""

    path: str
    key: str = ""

    def __str__(self) -> str:
        return without_elements(self.path + self.key)


def faults(message: str) -> list[TemplateFault]:
    """The tolerated faults in the refusal of an apply, or of a strict creation; empty if it names others as well: a
    wrong type, for example, must be corrected."""
    if strict := _STRICT.search(message):
        return [TemplateFault(f".{field.removeprefix('.')}") for field in _NOT_DECODED.findall(strict[1])]
    match = _UNTYPED.match(message)
    lines = match[1].split("\n") if match else []
    known = [_UNKNOWN.fullmatch(line) or _DUPLICATE.fullmatch(line) for line in lines]
    return [TemplateFault(*fault.groups()) for fault in known if fault] if all(known) else []


def without_faults(obj: JSON, found: list[TemplateFault]) -> JSON:
    """The object without these faults."""
    for fault in found:
        obj = _without_fault(obj, fault.path, fault.key)
    return obj


def _without_fault(value: JSON, path: str, key: str) -> JSON:
    if not path:
        return _without_earlier(value, key)
    if isinstance(value, list):
        inside, rest = split_bracket(path)
        chosen = {id(item) for item in items(value, inside)}
        return [_without_fault(item, rest, key) if id(item) in chosen else item for item in value]
    return {
        name: _without_fault(below, rest, key) if rest is not None else below
        for name, below, rest in _ways(value, path, key)
    }


def _ways(value: JSON, path: str, key: str) -> Iterator[tuple[str, JSON, str | None]]:
    """The entries of a map with the rest of the path for those that lie on it, without the field to remove."""
    for name, below in value.items():
        rest = path[len(name) + 1 :]
        if not path.startswith(f".{name}") or not sets(below, rest):
            yield name, below, None
        elif rest or key:
            yield name, below, rest


def _without_earlier(value: list[JSON], key: str) -> list[JSON]:
    """The list with only the last of the items of this key."""
    chosen = {id(item) for item in items(value, key[1:-1])}
    indexes = [index for index, item in enumerate(value) if id(item) in chosen]
    return [item for index, item in enumerate(value) if index not in indexes[:-1]]
