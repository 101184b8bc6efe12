"""What the API server says of a request that it refuses, without the values that were sent.

It repeats the value of each field that it does not like: `data[a]: Invalid value: "hunter2": must be …`. Kept are the
reason, the field and the rule, which say what is to be mended. Webhooks and policies write sentences of their own; from
these the values of the request's body are taken out.

Source: https://github.com/kubernetes/apimachinery/blob/master/pkg/util/validation/field/errors.go
"""

import re
from collections.abc import Iterator

from hookrunner import redaction
from hookrunner.model.resources import JSON

_REFUSED = re.compile(
    r"\b(?:(?:Invalid|Unsupported|Duplicate) value|Not found)(?P<before>: )|(?P<got>, got )(?=[&{\[\"\d-])"
)
"""What begins with the value itself, before a second colon; or what server-side apply has got instead of a type."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|`[^`]*(?:`|\Z)', re.DOTALL)
"""A text without an end is all that follows: to look for its end again behind each quote would take hours."""
_STRUCTURE = re.compile(r"[\w.*&\[\]]*(?=[{\[(])")
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_PLAIN = re.compile(r"(?:(?!: )[^\n,\]])*")
_ELEMENT = re.compile(r'(?<=\[=)(?:"(?:[^"\\]|\\.)*"(?=\])|[^\]]*)')
"""In the path of a field, an item of a set: `.spec.tokens[="hunter2"]`."""


def without_values(message: str, body: JSON) -> str:
    """The message without the values in it: those that the server names as wrong, and those of the request's body."""
    hidden = redaction.words(body) - set(_names(body))
    return redaction.masked(without_elements(_without_wrong(message)), hidden)


def without_elements(path: str) -> str:
    """A path as the API server writes it, `.spec.ports[port=80].name`, without values that are items themselves."""
    return _ELEMENT.sub("…", path)


def _names(body: JSON) -> Iterator[str]:
    """What things in an object are called: containers, ports, volumes."""
    if isinstance(body, dict) and isinstance(body.get("name"), str):
        yield body["name"]
    if isinstance(body, dict | list):
        for inner in body.values() if isinstance(body, dict) else body:
            yield from _names(inner)


def _without_wrong(message: str) -> str:
    kept, start = [], 0
    while found := _REFUSED.search(message, start):
        end = _end(message, found.end())
        goes_on = bool(found["before"]) and message.startswith(": ", end)
        kept.append(message[start : found.end() if goes_on else max(found.span("before")[0], found.span("got")[0])])
        start = end + 2 if goes_on else end
    return "".join([*kept, message[start:]])


def _end(message: str, start: int) -> int:
    """Where the value that begins at `start` ends: a text in quotes, a structure, or a word."""
    if text := _TEXT.match(message, start):
        return text.end()
    if opened := _STRUCTURE.match(message, start):
        return _closed(message, opened.end())
    plain = _PLAIN.match(message, start)
    return plain.end() if plain else start


def _closed(message: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; the end of the message if none does."""
    waiting, at = [_PAIRS[message[start]]], start + 1
    while waiting and at < len(message):
        if text := _TEXT.match(message, at):
            at = text.end()
            continue
        if message[at] in _PAIRS:
            waiting.append(_PAIRS[message[at]])
        elif message[at] == waiting[-1]:
            waiting.pop()
        at += 1
    return at
