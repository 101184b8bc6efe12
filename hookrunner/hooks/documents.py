"""Texts that hooks print and write, as JSON values: JSON first because it is quick, YAML where it is not JSON.

What the values mean is not decided here.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

import orjson

from kubetypes import json_values, yaml_values
from kubetypes.bounds import CONFIG, DOCUMENT, TOO_DEEP, DocumentBounds, TooLarge, in_units
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

AT_ONCE = 8 << 20
"""Bytes of JSON that may be one call of a parser, which lets no other thread run meanwhile: not even the event loop."""
_SPACE = re.compile(r"[ \t\r\n]*")


def first(text: bytes) -> JSON:
    """The first document of a hook's configuration, None for an empty text. Raises BadDocument."""
    text = text.removeprefix(BOM_UTF8)
    _check(text, CONFIG)
    try:
        return _load(text)
    except orjson.JSONDecodeError as error:
        try:
            return next(yaml_values.documents(text, yaml_values.YAML_1_1, CONFIG), None)
        except BadDocument as other:
            raise _nearer(text, BadDocument(1, f"not JSON: {error}"), other) from None


def every(text: bytes, dialect: re.Pattern[str] = yaml_values.YAML_1_2) -> tuple[list[JSON], bool]:
    """All documents of a text, and whether they were JSON: one value after another, or else the whole text as YAML, in
    by default the dialect of texts for the API server. Raises BadDocument."""
    _check(text)
    try:
        return every_json(text), True
    except BadDocument as error:
        if len(text) > AT_ONCE and _begins_as_json(text):
            raise
        try:
            return list(yaml_values.documents(text, dialect)), False
        except BadDocument as other:
            raise _nearer(text, error, other) from None


def every_json(text: bytes) -> list[JSON]:
    """Concatenated JSON values. Raises BadDocument."""
    _check(text)
    for way in (_whole, _lines) if len(text) <= AT_ONCE else (_lines,):
        try:
            return way(text)
        except orjson.JSONDecodeError:
            continue
    if len(text) > AT_ONCE:
        raise BadDocument(1, f"not one JSON value a line, as `jq -c` writes them, in more than {in_units(AT_ONCE)}")
    return list(_scan(text))


def first_json(text: bytes) -> JSON:
    """The first JSON value; what follows it is ignored. Raises BadDocument."""
    _check(text)
    with suppress(orjson.JSONDecodeError):
        return _load(text)
    for value in _scan(text):
        return value
    raise BadDocument(1, "not JSON: nothing but white space")


def _check(text: bytes, bounds: DocumentBounds = DOCUMENT) -> None:
    """A text that is too large is neither read as JSON nor as YAML. Raises BadDocument."""
    try:
        json_values.check(text, bounds)
    except TooLarge as error:
        raise BadDocument(1, str(error)) from None


def _load(text: bytes | str, number: int = 1) -> JSON:
    """Raises orjson.JSONDecodeError, BadDocument."""
    try:
        return json_values.loads(text)
    except TooLarge as error:
        raise BadDocument(number, str(error)) from None


def _whole(text: bytes) -> list[JSON]:
    return [_load(text)]


def _lines(text: bytes) -> list[JSON]:
    """One value a line, as `jq -c` writes them."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    for number, line in enumerate(lines, start=1):
        if len(line) > AT_ONCE:
            raise BadDocument(
                number, f"a line of more than {in_units(AT_ONCE)}; write one JSON value a line, and divide this one"
            )
    return [_load(line, number) for number, line in enumerate(lines, start=1)]


def _scan(text: bytes) -> Iterator[JSON]:
    """Values of any layout. The standard library finds where each ends; what it is says orjson, as everywhere."""
    number = 1
    try:
        rest = text.removeprefix(BOM_UTF8).decode()
        scan, position = json.JSONDecoder().raw_decode, _after_space(rest, 0)
        while position < len(rest):
            end = scan(rest, position)[1]
            yield _load(rest[position:end], number)
            number, position = number + 1, _after_space(rest, end)
    except RecursionError:
        raise BadDocument(number, TOO_DEEP) from None
    except BadDocument:
        raise
    except ValueError as error:
        raise BadDocument(number, f"not JSON: {error}") from None


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _nearer(text: bytes, json_error: BadDocument, yaml_error: BadDocument) -> BadDocument:
    """The error about the language that the writer meant."""
    return json_error if _begins_as_json(text) else yaml_error


def _begins_as_json(text: bytes) -> bool:
    return text.lstrip()[:1] in (b"{", b"[")


def folded(document: JSON, keys: Mapping[str, object], was_json: bool, nullable: Collection[str] = ()) -> JSON:
    """A mapping with its keys spelled as in `keys`. Go reads JSON keys in any case, and null as a missing key;
    predecessors' hooks may rely on either. Of `nullable` keys, which predecessors do not know, a null stays."""
    if not isinstance(document, dict):
        return {} if document is None else document
    spelled = {key.lower(): key for key in keys} if was_json else {}
    fields = {spelled.get(key.lower(), key): value for key, value in document.items()}
    return {key: value for key, value in fields.items() if value is not None or key in nullable}
