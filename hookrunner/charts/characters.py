"""Characters that YAML, or Helm, takes for something else than characters of a text, in what templates render. There
they are marked while a text is parsed and put back into the parsed texts, so that no text of a value ends the scalar
that it is put into.

YAML 1.1 ends lines at CR, U+0085, U+2028 and U+2029 as well (https://yaml.org/spec/1.1/#b-char). Helm's `indent` knows
LF alone, so at the others an indented text would leave its block and could continue as any object. Control characters
are allowed nowhere but as escapes in double quotes, which `indent` and `toJson` do not write.

Templates write and read YAML themselves, too, where marks come too late. `toYaml` takes U+2028 and U+2029 for line
ends: one at the start of a line is indented less than its text, and after one at the end the next key stands on the
same line; it writes nothing for a mapping with some control characters. `fromYaml` ends lines at all four. So a chart
that uses these is rendered again with harmless letters in place of such characters, if values have any, and refused if
that leads to other objects or keys.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import orjson

from hookrunner import redaction
from hookrunner.errors import RenderFailed
from kubetypes.json_values import JSON

_UNSAFE = "\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff"
_NOT_CRLF = r"(?!(?<=\r)\n)"
"""CR before LF is no line end of its own."""
_CHARACTER = re.compile(f"[{_UNSAFE}]{_NOT_CRLF}")
_MARK = "\ue000"
_TO_MARK = re.compile(f"[{_UNSAFE}{_MARK}]{_NOT_CRLF}")
"""The mark itself is one of them."""
_MARKED = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_PERHAPS = re.compile(rb"\\[bfru]|[\x7f\xc2\xe2\xef]")
"""JSON that may have such a character: a quick look, since most has none."""
_HARMLESS = "x"


def marked(text: str) -> str:
    """A rendered text for the parser."""
    return _TO_MARK.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def unmarked(value: JSON) -> JSON:
    """A parsed value with the characters that are marked in its texts and keys."""
    return _mapped(value, lambda text: _MARKED.sub(lambda match: chr(int(match[1], 16)), text))


def harmless(values: JSON) -> JSON:
    """The values with letters in place of such characters; None if they have none."""
    return _mapped(values, _without) if has_any(values) else None


def has_any(values: JSON) -> bool:
    """Is there such a character in a text or a key?"""
    return bool(_PERHAPS.search(orjson.dumps(values))) and next(_places(values, ()), None) is not None


def require_same_structure(objects: Iterable[JSON], plain: Iterable[JSON], values: JSON) -> None:
    """Refuse objects that differ from `plain`, those of harmless values, by more than texts and numbers. Raises
    RenderFailed, naming the first of the values with such a character."""
    if list(map(_structure, objects)) != list(map(_structure, plain)):
        place = ".".join(map(redaction.key, next(_places(values, ()), ())))
        raise RenderFailed(
            f"value {place}: a control character or a line end of YAML (CR without LF, U+0085, U+2028, U+2029), with "
            "which toYaml or fromYaml of a template leads to other keys or objects; remove it"
        )


def _structure(value: JSON) -> JSON:
    """The value without its texts and numbers, which may be another time or port in each render."""
    match value:
        case str():
            return ""
        case int() | float() if not isinstance(value, bool):
            return 0
        case dict():
            return {_without(key): _structure(item) for key, item in value.items()}
        case list():
            return [_structure(item) for item in value]
    return value


def _without(text: str) -> str:
    return _CHARACTER.sub(_HARMLESS, text)


def _mapped(value: JSON, change: Callable[[str], str]) -> JSON:
    """The value with each text and key changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): _mapped(item, change) for key, item in value.items()}
        case list():
            return [_mapped(item, change) for item in value]
    return value


def _places(value: JSON, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys and indices that lead to texts and keys with such a character."""
    match value:
        case str():
            if _CHARACTER.search(value):
                yield path
        case dict():
            for key, item in value.items():
                yield from _places(key, (*path, key))
                yield from _places(item, (*path, key))
        case list():
            for index, item in enumerate(value):
                yield from _places(item, (*path, str(index)))
