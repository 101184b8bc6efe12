"""Helm's messages in one line: where (template, line, column), what is evaluated there, and what is wrong."""

import re

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


def brief(message: str) -> str:
    """`chart/templates/x.yaml:1:13 at <.Values.b.c>: nil pointer evaluating interface {}.c`."""
    text = " ".join(message.split())
    for pattern in (_EXECUTION, _PARSE):
        text = pattern.sub(r"\1: ", text)
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text


def of_syntax(message: str) -> bool:
    """Is it about a template that cannot be read, whatever the values are?"""
    return bool(_PARSE.match(message))
