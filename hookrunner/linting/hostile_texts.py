"""Texts that a template must carry as they are, and what shows that it did not.

A template that quotes or indents a text carries any. One that does not lets the text end its YAML scalar, and so lets
the author of a value write objects. The texts are put together so that few renders try them all; `harmless` has
the same length and lines, for templates that shorten, split or clean a text on purpose.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import orjson

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_HOSTILE = {
    "line ends": "\n---\na: b\r\n b",
    "quotes": "'\"\\'",
    "braces": "}], {{ 1 }} {a: [b",
    "anchors and comments": " &a *a !b |>%@` #",
    "tabs": "\ta\t#b",
    "control characters": "\x00\x07\x1b\ufeff",
}
_SEPARATORS = "line ends of YAML"
_RARE = "\r---\ra: b\x85b\u2028---\u2028b: \u2029b"
"""Charts may refuse these, so they are not put together with others."""
_PREFIXES = ("", "-", "--", "/", "http://", "https://")
"""Some patterns look at the beginning alone."""
_NOT_HARMLESS = re.compile(r"""['"\\{}\[\]&*!|>%@`#\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]""")
_SPACE = re.compile("[\r\x85\u2028\u2029 ]+")
_INDENT = re.compile(r" ?\n[ \t]*")
_CONTAINER = ("{", "[")


@dataclass(frozen=True, slots=True)
class HostileText:
    """A text, and what is hostile in it."""

    text: str
    parts: tuple[str, ...]

    @property
    def may_be_refused(self) -> bool:
        return self.parts == (_SEPARATORS,)

    @property
    def harmless(self) -> str:
        """A text of the same length and lines that YAML takes for one in any place but a plain one."""
        return _NOT_HARMLESS.sub("h", self.text)


@dataclass(frozen=True, slots=True)
class FieldTexts:
    """What is tried in a field: two harmless words, then hostile texts. All begin alike, and as no other field's do."""

    word: str
    other: str
    hostile: tuple[HostileText, ...]


def texts_for(number: int, accepts: Callable[[str], bool], is_key: bool = False) -> FieldTexts | None:
    """The texts for the field of this number, all hostile parts in one if the field accepts that; None if it accepts
    none of them, or no harmless word. Charts refuse keys with U+0085."""
    for prefix in _PREFIXES:
        start = f"{prefix}q{number}x"
        accepted = {name: part for name, part in _HOSTILE.items() if accepts(_text(start, part))}
        if not (accepted and accepts(f"{start}z") and accepts(f"{start}y")):
            continue
        whole = _text(start, *accepted.values())
        single = [HostileText(_text(start, part), (name,)) for name, part in accepted.items()]
        hostile = [HostileText(whole, tuple(accepted))] if accepts(whole) else single
        rare = _text(start, _RARE.replace("\x85", "") if is_key else _RARE)
        apart = [HostileText(rare, (_SEPARATORS,))] if accepts(rare) else []
        return FieldTexts(f"{start}z", f"{start}y", (*hostile, *apart))
    return None


def alone(text: HostileText) -> Iterator[HostileText]:
    """The text with one of its hostile parts at a time."""
    start = text.text[: text.text.index("x") + 1]
    several = text.parts if len(text.parts) > 1 else ()
    yield from (HostileText(_text(start, _HOSTILE[name]), (name,)) for name in several)


def _text(start: str, *parts: str) -> str:
    return f"{start}{''.join(parts)}z"


class Rendered:
    """What a render has led to: which objects, and the texts in them."""

    def __init__(self, objects: Iterable[JSON]) -> None:
        self._objects = list(objects)

    @cached_property
    def identities(self) -> list[tuple[str, ...]]:
        """Each object's apiVersion, kind, namespace and name, sorted."""
        return sorted(map(_identity, self._objects))

    @cached_property
    def kinds(self) -> list[tuple[str, ...]]:
        """The same without names."""
        return sorted(identity[:3] for identity in self.identities)

    @cached_property
    def _text(self) -> str:
        return _normal("\x01".join(text for obj in self._objects for text in _texts(obj)))

    def count(self, text: str) -> int:
        """How often the text is found, as YAML reads its line ends and however it is indented."""
        return self._text.count(_normal(text))

    def is_named(self, word: str) -> bool:
        """Does the word stand in a name or a namespace?"""
        return any(word in part for identity in self.identities for part in identity)

    def where(self, word: str) -> str:
        """`ConfigMap web`: an object with the word in one of its texts."""
        shown = (obj for obj in self._objects if any(word in text for text in _texts(obj)))
        return next((f"{obj['kind']} {obj['metadata'].get('name', '')}" for obj in shown), "")


def _identity(obj: JSON) -> tuple[str, ...]:
    metadata = obj["metadata"]
    name = metadata.get("name") or metadata.get("generateName")
    return (str(obj["apiVersion"]), str(obj["kind"]), str(metadata.get("namespace") or ""), str(name))


def _texts(value: JSON) -> Iterator[str]:
    """All texts and keys; a text that is JSON is its inner texts."""
    match value:
        case str():
            inner = _json(value)
            yield from [value] if inner is None else _texts(inner)
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)


def _json(text: str) -> JSON:
    try:
        return orjson.loads(text) if text.lstrip().startswith(_CONTAINER) else None
    except orjson.JSONDecodeError:
        return None


def _normal(text: str) -> str:
    """The text without what indenting and folding change. Helm's `toYaml` makes a space of U+0085."""
    return _INDENT.sub("\n", _SPACE.sub(" ", text.replace("\r\n", "\n")))
