"""JSON as YAML that a person can read and that every YAML parser reads alike.

Rendered manifests are kept in release records, which Helm, too, reads: with YAML 1.1, where `y`, `1:30` or `1_000` are
no texts. So a text is written plain only if it looks like a word or a path, and quoted as in JSON otherwise.
"""

import re
from collections.abc import Iterator

import orjson

from hookrunner.model.resources import JSON

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*(?:[ :=,@+][A-Za-z0-9_./-]+)*")
_WORDS = re.compile(r"(?:y|n|yes|no|on|off|true|false|null)", re.IGNORECASE)
_BLOCK = re.compile(r"\S[^\r\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*\n?")


def dump(value: JSON) -> str:
    """One document, ending with a newline."""
    return "".join(_lines(value, "")).removeprefix("\n") if isinstance(value, dict | list) else f"{_scalar(value)}\n"


def _lines(value: JSON, indent: str) -> Iterator[str]:
    """What stands after a key or a dash, with the newline before it if it needs one."""
    if isinstance(value, dict) and value:
        yield "\n"
        for key, item in value.items():
            yield f"{indent}{_text(key)}:"
            yield from _lines(item, indent + "  ")
    elif isinstance(value, list) and value:
        yield "\n"
        for item in value:
            inside = "".join(_lines(item, indent + "  "))
            yield f"{indent}-" + (" " + inside[1:].lstrip(" ") if inside.startswith("\n") else inside)
    elif isinstance(value, str) and "\n" in value:
        yield _block(value, indent)
    else:
        yield f" {_scalar(value)}\n"


def _scalar(value: JSON) -> str:
    return _text(value) if isinstance(value, str) else orjson.dumps(value).decode()


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
        return text
    return orjson.dumps(text).decode()


def _block(text: str, indent: str) -> str:
    if not _BLOCK.fullmatch(text) or text.endswith("\n\n"):
        return f" {orjson.dumps(text).decode()}\n"
    mark = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    return f" {mark}\n" + "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
