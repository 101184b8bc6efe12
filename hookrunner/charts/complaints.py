"""Helm's messages in one line: where (template, line, column), what is evaluated there, and what is wrong.

What is wrong may quote a value: Go's own errors do, and a template may `fail` with any. They are left out; what stands
in the template itself stays.
"""

import re

from hookrunner import redaction
from hookrunner.model.resources import JSON

_EXECUTION = re.compile(r"^execution error at \(([^)]+)\): ")
_PARSE = re.compile(r"^parse error at \(([^)]+)\): ")
_NOISE = (
    (re.compile(r"template: (?=\S+:\d+|no template)"), ""),
    (re.compile(r":? executing \"[^\"]*\" (?=at <)"), " "),
    (re.compile(r": error calling \w+: "), ": "),
    (re.compile(r"((?:\S+:\d+:\d+ at <[^>]*>: ){1,4}?)\1+"), r"\1… "),
    (re.compile(r" associated with template \"gotpl\""), ""),
    (re.compile(r"\s*Use --debug flag to render out invalid YAML"), ""),
)
_PLACE = re.compile(r"(?:\S+:\d+:\d+ at <[^>]*>: (?:… )?)+|\S+:\d+(?::\d+)?: |\S+, (?:document|item) \d+[^:]*: ")
_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_VALUES = (
    (re.compile(r"(range can't iterate over) .*"), r"\1 this value"),
    (re.compile(rf"(\b(?:parsing|parse)(?: time)?) {_QUOTED}"), r"\1 a text"),
    (re.compile(r"(cannot unmarshal !!\w+) `[^`]*`"), r"\1"),
    (re.compile(r"((?:maximum|minimum|exclusiveMaximum|exclusiveMinimum|multipleOf): got) \S+,"), r"\1 a number,"),
    (re.compile(r"'(?:[^'\\]|\\.)*' (?=does not match pattern|is not valid )"), "the text "),
)
"""What Go, its YAML and Helm's JSON schemas quote, also shortened or in another spelling."""


def brief(message: str, values: JSON = None) -> str:
    """`chart/templates/x.yaml:1:13 at <.Values.b.c>: nil pointer evaluating interface {}.c`, without the values that
    the chart was rendered with."""
    text = " ".join(message.split())
    for pattern in (_EXECUTION, _PARSE):
        text = pattern.sub(r"\1: ", text)
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    place = _PLACE.match(text)
    start = place.end() if place else 0
    return text[:start] + _without(text[start:], values)


def _without(text: str, values: JSON) -> str:
    for pattern, replacement in _VALUES:
        text = pattern.sub(replacement, text)
    return redaction.masked(text, redaction.words(values))


def of_syntax(message: str) -> bool:
    """Is it about a template that cannot be read, whatever the values are?"""
    return bool(_PARSE.match(message))
