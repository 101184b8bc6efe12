"""The results of the linter: a `Remark` is the result of a check on a text, a `Finding` the same with file and line.

`CODES` is the list of all codes with their severity; docs/lint.md explains each, with a bad and a good sample that a
test runs.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import orjson

from hookrunner.shapes import suggestion
from kubetypes.light_dataclasses import dataclass


class Severity(StrEnum):
    """`error`: the start is refused. `warning`: it is not, and the hook does not do what was meant. `info`: to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


def _table(errors: str, warnings: str, infos: str) -> dict[str, Severity]:
    """Codes with their severity."""
    columns = {Severity.ERROR: errors, Severity.WARNING: warnings, Severity.INFO: infos}
    return {code: severity for severity, codes in columns.items() for code in codes.split()}


CODES = _table(
    errors="refused",
    warnings="""
        resident not-executable not-found compiled-hook writable shebang crlf bom key-twice
        first-only object-unguarded synchronization-ignored handler-missing handler-unknown
        patches-refused blocks-itself never-asked condition-wrong
        binding-unused filter-noisy queue-unused cron-never cron-busy whole-cluster kind-unserved permissions-missing
    """,
    infos="unused-ignore next-runs carrier",
)
MODULE_CODES = _table(
    errors="module-refused defaults-refused default-wrong chart-refused crd-refused",
    warnings="""
        render-failed manifest-refused enum-unquoted schema-slip key-unknown field-unknown value-lost requires-unknown
        text-escapes text-unquoted text-changed name-unchecked
    """,
    infos="needs-values",
)
"""Those about modules; docs/module-tools.md explains each."""
ADDON_CODES = _table(
    errors="addon-refused channel-refused package-missing package-refused requires-cycle",
    warnings="config-refused name-constant patch-unused placeholder-unset placeholder-unused rule-unchecked",
    infos="application-partial",
)
"""Those about addons only; docs/packaging-addons.md explains each."""

ALL_CODES = CODES | MODULE_CODES | ADDON_CODES


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a file. `offset` counts characters in its text; `text` is what, why, and how to fix it."""

    code: str
    offset: int
    text: str


class Finding(NamedTuple):
    """A remark in its place, which sorts it. `path` is as the user wrote it; `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    code: str
    text: str

    @property
    def severity(self) -> Severity:
        return ALL_CODES[self.code]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.severity}: {self.text}"


_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def to_text(findings: Sequence[Finding]) -> str:
    """One finding a line: `path:line:column: CODE severity: what, why, how to fix it`."""
    return "".join(f"{finding}\n" for finding in findings)


def to_json(findings: Sequence[Finding]) -> str:
    """An array of objects with path, line, column, code, severity and text."""
    keys = ("path", "line", "column", "code", "severity", "text")
    rows = [{key: getattr(finding, key) for key in keys} for finding in findings]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def to_github(findings: Sequence[Finding]) -> str:
    """Workflow commands: https://docs.github.com/actions/reference/workflow-commands-for-github-actions."""
    return "".join(map(_annotation, findings))


def _annotation(finding: Finding) -> str:
    position = f"file={_value(finding.path)},line={finding.line},col={finding.column},title={finding.code}"
    return f"::{_LEVELS[finding.severity]} {position}::{_escaped(finding.text)}\n"


def _escaped(message: str) -> str:
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


_IGNORE = re.compile(r"#\s*hookrunner:\s*ignore=([\w-]+(?:,\s*[\w-]+)*)")
_HEAD = 10
"""So many lines at the top speak for the whole file."""


@dataclass(frozen=True, slots=True)
class _Ignore:
    """A comment `# hookrunner: ignore=CODE[,CODE]`, on the line of the finding or within the first ten lines for the
    whole file. What follows the codes may say why."""

    line: int
    column: int
    code: str

    def silences(self, finding: Finding) -> bool:
        here = self.line == finding.line or self.line <= _HEAD
        return here and self.code == finding.code and finding.severity is not Severity.ERROR


def without_ignored(path: str, text: str, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings about one file that no comment in it silences, and the comments that silence nothing."""
    ignores = list(_ignores(text))
    yield from (finding for finding in findings if not any(ignore.silences(finding) for ignore in ignores))
    for ignore in ignores:
        if not any(ignore.silences(finding) for finding in findings):
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
        return f"'{code}' is an error, and the start would not be silenced either; fix it"
    return f"'ignore={code}' silences nothing here; drop it"
