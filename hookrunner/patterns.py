r"""Go's regular expressions (RE2) run by Python's `re`.

Most of the two languages is one. What is not is rewritten (`$` and `\z`, POSIX classes, `\s`, `\Q…\E`, literal braces
and brackets), what Go does not know is told in Go's words, and what Python cannot do is `NotDoneHere`. One difference
stays: Go's matcher takes linear time, Python's can take very long on patterns such as `(a+)+$`.

Source: https://github.com/google/re2/wiki/Syntax and Go's regexp/syntax documentation.
"""

import re
import sys
from functools import lru_cache

POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
SPACE = r"\t\n\f\r "
NOT_SPACE = r"\x00-\x08\x0b\x0e-\x1f!-\U0010ffff"
REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
HEX_BRACES = re.compile(r"\{([0-9A-Fa-f]+)\}")
OCTAL = re.compile(r"[1-7][0-7]{1,2}|0[0-7]{0,2}")
NAMED = re.compile(r"\[:(\^?)(\w+):\]")
GROUP = re.compile(r"\(\?(?:P?<(\w+)>|(-?[imsU]*(?:-[imsU]+)?)([:)]))", re.ASCII)
BAD_RANGE = re.compile(r"bad character range (.*) at position")
SAME_IN_BOTH = "dDwWbBAaftnrv"


class BadPattern(ValueError):
    """A pattern cannot be used; the message says why, and names it."""


class InvalidInGo(BadPattern):
    """Go does not take the pattern; says why, as Go does. Every text then fails to match it."""


class NotDoneHere(BadPattern):
    """Go takes the pattern, this rewriting does not; says which part."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """A Go pattern, to `search` with. Raises `InvalidInGo`, `NotDoneHere`."""
    rewritten = _Rewriter(pattern).whole()
    try:
        return re.compile(rewritten, re.ASCII)
    except (re.error, OverflowError) as error:
        if found := BAD_RANGE.match(str(error)):
            raise InvalidInGo(f"error parsing regexp: invalid character class range: `{found[1]}`") from None
        raise NotDoneHere(f"pattern {pattern}: {error}") from None


class _Rewriter:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        # Whether `(?m)` holds, for each open group.
        self._multiline = [False]
        # The repetition that stands at the end so far, whether it is a lazy one, whether there is nothing to repeat.
        self._repeat, self._lazy, self._open = "", False, True

    def whole(self) -> str:
        parts = []
        while self._at < len(self._pattern):
            start = self._at
            parts.append(self._next())
            self._check_repeat(self._pattern[start : self._at])
        if len(self._multiline) > 1:
            raise self._wrong("missing closing )", self._pattern)
        return "".join(parts)

    def _wrong(self, what: str, part: str) -> InvalidInGo:
        return InvalidInGo(f"error parsing regexp: {what}: `{part}`")

    def _check_repeat(self, source: str) -> None:
        """Go takes one repetition, with one `?` behind it."""
        if source not in ("*", "+", "?") and not REPEAT.fullmatch(source):
            self._repeat, self._lazy = "", False
            self._open = source == "|" or (source.startswith("(") and not source.endswith(")"))
            return
        if self._open:
            raise self._wrong("missing argument to repetition operator", source)
        if self._repeat and (source != "?" or self._lazy):
            raise self._wrong("invalid nested repetition operator", self._repeat + source)
        self._lazy = bool(self._repeat)
        self._repeat += source

    def _next(self) -> str:
        char = self._pattern[self._at]
        if char == "\\":
            return self._escape(in_class=False)
        if char == "[":
            return self._bracket()
        if char == "(":
            return self._group()
        if char == "{":
            return self._brace()
        self._at += 1
        if char == "$":
            return "$" if self._multiline[-1] else r"\Z"
        if char == ")":
            if len(self._multiline) == 1:
                raise self._wrong("unexpected )", self._pattern)
            self._multiline.pop()
        return char

    def _brace(self) -> str:
        found = REPEAT.match(self._pattern, self._at)
        if found is None:
            self._at += 1
            return r"\{"
        self._at = found.end()
        counts = [found[1], found[3] or found[1]]
        low, high = (int(count) if len(count) < 5 else sys.maxsize for count in counts)
        if low > 1000 or high > 1000 or low > high:
            raise self._wrong("invalid repeat count", found[0])
        return found[0]

    def _group(self) -> str:
        if not self._pattern.startswith("(?", self._at):
            self._at += 1
            self._multiline.append(self._multiline[-1])
            return "("
        found = GROUP.match(self._pattern, self._at)
        if found is None:
            wrong = self._pattern[self._at : self._at + (4 if self._pattern.startswith("(?<", self._at) else 3)]
            raise self._wrong("invalid or unsupported Perl syntax", wrong)
        start, self._at = self._at, found.end()
        if found[1]:
            self._multiline.append(self._multiline[-1])
            return f"(?P<{found[1]}>"
        return self._flags(start, *found.group(2, 3))

    def _flags(self, start: int, flags: str, end: str) -> str:
        """`(?i:` and `(?i)`; the latter only at the start, where Python takes it too."""
        if "U" in flags or (end == ")" and start > 0 and flags):
            raise NotDoneHere(f"pattern {self._pattern}: the flags ({flags}) at this place")
        on, _, off = flags.partition("-")
        multiline = ("m" in on or self._multiline[-1]) and "m" not in off
        if end == ":":
            self._multiline.append(multiline)
            return f"(?{flags}:"
        self._multiline[-1] = multiline
        return f"(?{on})" if on else ""

    def _escape(self, in_class: bool) -> str:
        """A backslash and what belongs to it."""
        rest = self._pattern[self._at + 1 :]
        if not rest:
            raise InvalidInGo("error parsing regexp: trailing backslash at end of expression: ``")
        char = rest[0]
        self._at += 2
        if char in "sS":
            inside = SPACE if char == "s" else NOT_SPACE
            return inside if in_class else f"[{inside}]"
        if char == "z" and not in_class:
            return r"\Z"
        if char == "Q" and not in_class:
            quoted = rest[1:].partition(r"\E")[0]
            self._at += len(quoted) + (2 if r"\E" in rest[1:] else 0)
            return re.escape(quoted)
        if char == "x":
            return self._hexadecimal(rest[1:])
        if char in "pPC":
            raise NotDoneHere(f"pattern {self._pattern}: \\{char}")
        if octal := OCTAL.match(rest):  # two digits are a group for Python
            self._at += len(octal[0]) - 1
            return rf"\U{int(octal[0], 8):08x}"
        known = SAME_IN_BOTH if not in_class else "dDwWaftnrv"
        if char in known or not (char.isalnum() and char.isascii()):
            return f"\\{char}"
        raise self._wrong("invalid escape sequence", f"\\{char}")

    def _hexadecimal(self, rest: str) -> str:
        found = HEX_BRACES.match(rest)
        if found:
            self._at += found.end()
            return rf"\U{int(found[1], 16):08x}"
        if not re.match(r"[0-9A-Fa-f]{2}", rest):
            raise self._wrong("invalid escape sequence", f"\\x{rest[:1]}")
        self._at += 2
        return rf"\x{rest[:2]}"

    def _bracket(self) -> str:
        """A class `[…]`; brackets and operators of Python's future sets are escaped."""
        start = self._at
        parts = ["["]
        self._at += 1
        if self._pattern.startswith("^", self._at):
            parts.append("^")
            self._at += 1
        first = True
        while first or not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise self._wrong("missing closing ]", self._pattern[start:])
            parts.append(self._in_class())
            first = False
        self._at += 1
        return "".join(parts) + "]"

    def _in_class(self) -> str:
        named = NAMED.match(self._pattern, self._at)
        if named:
            self._at = named.end()
            if named[1] or named[2] not in POSIX:
                raise NotDoneHere(f"pattern {self._pattern}: {named[0]}")
            return POSIX[named[2]]
        char = self._pattern[self._at]
        if char == "\\":
            return self._escape(in_class=True)
        self._at += 1
        return f"\\{char}" if char in "[]&|~" else char
