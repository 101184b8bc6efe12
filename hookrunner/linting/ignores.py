"""Comments that silence findings: `# hookrunner: ignore=CODE[,CODE]`, on the line of the finding, or within the first
ten lines for the whole file. What follows the codes may say why."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hookrunner.hooks.shapes import suggestion
from hookrunner.linting.findings import ALL_CODES, Finding, Severity

_IGNORE = re.compile(r"#\s*hookrunner:\s*ignore=([\w-]+(?:,\s*[\w-]+)*)")
_HEAD = 10
"""So many lines at the top speak for the whole file."""


@dataclass(frozen=True, slots=True)
class _Ignore:
    line: int
    column: int
    code: str

    def silences(self, finding: Finding) -> bool:
        here = self.line == finding.line or self.line <= _HEAD
        return here and self.code == finding.code and finding.severity is not Severity.ERROR


def applied(path: str, text: str, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings about one file that no comment in it silences, and the comments that silence nothing."""
    ignores = list(_ignores(text))
    yield from (one for one in findings if not any(ignore.silences(one) for ignore in ignores))
    for ignore in ignores:
        if not any(ignore.silences(one) for one in findings):
            yield Finding(path, ignore.line, ignore.column, "unused-ignore", _unused(ignore.code))


def _ignores(text: str) -> Iterator[_Ignore]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in _IGNORE.finditer(line):
            for code in re.split(r",\s*", match[1]):
                yield _Ignore(number, match.start() + 1, code)


def _unused(code: str) -> str:
    if code not in ALL_CODES:
        return f"there is no code '{code}'{suggestion(code, ALL_CODES) or '; docs/lint.md has them all'}"
    if ALL_CODES[code] is Severity.ERROR:
        return f"'{code}' is an error, and the start would not be silenced either; mend it"
    return f"'ignore={code}' silences nothing here; drop it"
