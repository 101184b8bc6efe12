r"""Go's regular expressions, matched by RE2, whose syntax they have: in time that is linear in the text.

Patterns and texts come from outside: a schema's `pattern` judges what users write into a ConfigMap, in the event loop.
A matcher that backtracks, as Python's `re`, would never come back there from `^([a-z0-9]+-?)+$` and 40 letters.

The two dialects differ little: RE2 in C++ knows `\C` and names of groups in any script. Its complaints are put into
Go's words, since users know those from addon-operator and from the API server.

Source: https://github.com/google/re2/wiki/Syntax and Go's regexp/syntax documentation.
"""

import re
from functools import lru_cache
from typing import Final

import re2

MOST_MEMORY: Final = 8 << 20
"""Bytes that one compiled pattern may take, with the states that it keeps while it matches."""

_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
_TOO_LARGE = "pattern too large"
# A quoted text, or a backslash with what it escapes.
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_NAME = re.compile(r"\w+", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


class BadPattern(ValueError):
    """A pattern cannot be used; the message says why, and names it."""


class InvalidInGo(BadPattern):
    """Go does not take the pattern; says why, as Go does. Every text then fails to match it."""


class NotDoneHere(BadPattern):
    """Go may take the pattern, this matcher does not: it would take too much memory."""


class Pattern:
    """A compiled pattern. Texts may have lone surrogates, which are U+FFFD here as in all that Go decodes."""

    __slots__ = ("_compiled",)

    def __init__(self, source: bytes) -> None:
        self._compiled = re2.compile(source, _options(never_capture=True))

    def matches(self, text: str) -> bool:
        """Whether the pattern matches somewhere in a text."""
        return self._compiled.search(_encoded(text)) is not None

    def find(self, text: str) -> str | None:
        """The leftmost match, None without one."""
        found = self._compiled.search(_encoded(text))
        return found[0].decode() if found else None

    def find_all(self, text: str) -> list[str]:
        """Successive matches. As in Go an empty match right behind another does not count."""
        found = []
        end = -1
        # Of a `str`, since RE2 goes on after an empty match by one character of it.
        for match in self._compiled.finditer(_decodable(text)):
            if match.end() > match.start() or match.start() != end:
                found.append(match[0])
            end = match.end()
        return found


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """A Go pattern. Raises `InvalidInGo`, `NotDoneHere`."""
    source = _encoded(pattern)
    try:
        # With groups, since RE2 does not look at their names otherwise.
        names = re2.compile(source, _options(never_capture=False)).groupindex
        matcher = Pattern(source)
    except re2.error as error:
        raise _refusal(pattern, error.args[0]) from None
    _check_dialect(pattern, [name.decode() for name in names])
    return matcher


def _options(never_capture: bool) -> re2.Options:
    options = re2.Options()
    options.never_capture = never_capture
    options.max_mem = MOST_MEMORY
    # RE2 would write complaints to stderr.
    options.log_errors = False
    return options


def _encoded(text: str) -> bytes:
    return _decodable(text).encode()


def _decodable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _refusal(pattern: str, complaint: bytes) -> BadPattern:
    """RE2's complaint (`missing ]: [a`) in Go's words."""
    said = complaint.decode("utf-8", "replace")
    if said.startswith(_TOO_LARGE):
        return NotDoneHere(f"pattern {pattern}: it is too large, use smaller repetitions")
    what, _, part = said.partition(": ")
    if what == "invalid UTF-8":  # which a pattern always is: RE2 says so if it ends in the middle of an escape
        return _invalid("invalid escape sequence", r"\x{")
    return _invalid(_WORDS.get(what, what), part)


def _invalid(what: str, part: str) -> InvalidInGo:
    return InvalidInGo(f"error parsing regexp: {what}: `{part}`")


def _check_dialect(pattern: str, names: list[str]) -> None:
    r"""Refuse what only RE2 in C++ knows: `\C`, which is any byte, and names of groups that are not ASCII."""
    if r"\C" in _ESCAPE.findall(pattern):
        raise _invalid("invalid escape sequence", r"\C")
    for name in names:
        if not _NAME.fullmatch(name):
            raise _invalid("invalid named capture", f"(?P<{name}>")
