"""Ranges of versions, as users of Helm write them: `>=1.2`, `~1.2`, `^1`, `1.2 - 2`, `1.x`, `>=1.2, <2 || 3`.

A version has up to three numbers; missing ones match any (`<=1.2` includes 1.2.9, `1` matches all of 1). A comma or a
space is "and", `||` is "or". One thing differs from Helm: a suffix (`-gke.100`, `-rc.1`) matters only to a range that
names one, because vendors of Kubernetes add them to every version. What follows `+` never matters.
Sources: https://semver.org/#spec-item-11, https://github.com/Masterminds/semver#checking-version-constraints

Own code: `packaging` reads PEP 440, where v1.30.1-gke.100 is no version and ^ no operator.
"""

import re

from kubetypes.light_dataclasses import dataclass

Numbers = tuple[int, int, int]
Suffix = tuple[tuple[int, int, str], ...]
Key = tuple[Numbers, Suffix]
"""Compares as versions do. The suffix () is before every suffix of these numbers, `_RELEASE` after them."""

_ALL = 3
_RELEASE: Suffix = ((2, 0, ""),)
_JUST_AFTER = (-1, 0, "")
_NUMBER = r"([0-9]{1,18}|[xX*])"
_VERSION = rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
_WRITTEN = re.compile(_VERSION)
_COMPARISON = re.compile(rf"\s*(?:(>=|=>|<=|=<|!=|==|=|>|<|~>|~|\^)\s*)?({_VERSION})\s*(?:,|(?=\s|$)|(?=[<>=!~^]))")
_HYPHEN = re.compile(rf"\s*({_VERSION})\s+-\s+({_VERSION})\s*")
_EXAMPLES = "write it like >=1.2, ~1.2, ^1, 1.2 - 2 or >=1.2, <2"


@dataclass(frozen=True, slots=True)
class _Written:
    """A version as it is written: 0 to 3 numbers, and the suffix if it has one."""

    numbers: tuple[int, ...]
    suffix: Suffix

    @property
    def first(self) -> Key:
        """The first version that it can mean."""
        return _filled(self.numbers), self.suffix

    def after(self, kept: int) -> Key | None:
        """The first version that differs in the first `kept` numbers, None without one."""
        if not kept:
            return None
        return _filled((*self.numbers[: kept - 1], self.numbers[kept - 1] + 1)), ()

    @property
    def end(self) -> Key | None:
        """The first version after all that it can mean."""
        if self.suffix:
            return _filled(self.numbers), (*self.suffix, _JUST_AFTER)
        return self.after(len(self.numbers))


@dataclass(frozen=True, slots=True)
class _Span:
    """Versions from `low` to before `high`, or all but these. `exact`: suffixes matter."""

    low: Key | None = None
    high: Key | None = None
    outside: bool = False
    exact: bool = False

    def has(self, version: Key) -> bool:
        numbers, suffix = version
        key = (numbers, suffix if self.exact else _RELEASE)
        inside = (self.low is None or key >= self.low) and (self.high is None or key < self.high)
        return inside != self.outside


Range = tuple[tuple[_Span, ...], ...]
"""For each alternative the spans that must all contain a version."""

ANY: Range = ((),)


def parse(text: str) -> Range:
    """A range; an empty text is any version. Raises ValueError with what is wrong and how to write it."""
    if not text.strip():
        return ANY
    return tuple(_alternative(part) for part in text.split("||"))


def meets(version: str, wanted: Range) -> bool:
    """Whether a version is in the range. Raises ValueError if it is no version."""
    key = version_key(version)
    return any(all(span.has(key) for span in spans) for spans in wanted)


def is_in(version: str, wanted: str) -> bool:
    """Whether a version is in a range as it is written; what is no version is in none."""
    try:
        return meets(version, parse(wanted))
    except ValueError:
        return False


def version_key(version: str) -> Key:
    """What compares as the version does: missing numbers are 0, a suffix comes before the release. Raises ValueError if
    it is no version."""
    match = _WRITTEN.fullmatch(version.strip())
    written = _written(match.groups()) if match else _Written((), ())
    if not written.numbers:
        raise ValueError(f"'{version}' is no version; write it like 1.2.3")
    return _filled(written.numbers), written.suffix or _RELEASE


def _alternative(text: str) -> tuple[_Span, ...]:
    if hyphen := _HYPHEN.fullmatch(text):
        groups = hyphen.groups()
        low, high = _written(groups[1:5]), _written(groups[6:10])
        return (_Span(low.first, None, exact=bool(low.suffix)), _Span(None, high.end, exact=bool(high.suffix)))
    spans, offset = [], 0
    while offset < len(text):
        if not (match := _COMPARISON.match(text, offset)):
            break
        spans.append(_span(match[1] or "=", _written(match.groups()[2:6])))
        offset = match.end()
    if not spans or text[offset:].strip():
        raise ValueError(f"'{text.strip()}' is no range of versions; {_EXAMPLES}")
    return tuple(spans)


def _span(operator: str, version: _Written) -> _Span:
    exact, written = bool(version.suffix), len(version.numbers)
    match operator:
        case ">=" | "=>":
            return _Span(version.first, None, exact=exact)
        case "<":
            return _Span(None, version.first, exact=exact)
        case ">":
            return _Span(version.end, None, outside=not written, exact=exact)
        case "<=" | "=<":
            return _Span(None, version.end, exact=exact)
        case "~" | "~>":
            return _Span(version.first, version.after(min(written, 2)), exact=exact)
        case "^":
            return _Span(version.first, version.after(_leading(version.numbers)), exact=exact)
    return _Span(version.first, version.end, outside=operator == "!=", exact=exact)


def _leading(numbers: tuple[int, ...]) -> int:
    """How many numbers `^` fixes: up to the first that is not 0, else all that are written."""
    return next((count for count, number in enumerate(numbers, 1) if number), len(numbers))


def _written(groups: tuple[str | None, ...]) -> _Written:
    numbers: list[int] = []
    for part in groups[:3]:
        if part is None or not part.isdigit():
            break
        numbers.append(int(part))
    names = groups[3].split(".") if groups[3] and len(numbers) == _ALL else []
    return _Written(tuple(numbers), tuple((0, int(n), "") if n.isdigit() else (1, 0, n) for n in names))


def _filled(numbers: tuple[int, ...]) -> Numbers:
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch
