"""The results of the linter: a `Remark` is the result of a check on a text, a `Finding` the same with file and line.

`CODES` is the list of all codes with their severity; docs/lint.md explains each, with a bad and a good sample that a
test runs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import orjson

from hookrunner.shapes import suggestion


class Severity(StrEnum):
    """`error`: the start is refused. `warning`: it is not, and the hook does not do what was meant. `info`: to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


CODES = {
    "refused": Severity.ERROR,
    "not-executable": Severity.WARNING,
    "not-found": Severity.WARNING,
    "compiled-hook": Severity.WARNING,
    "writable": Severity.WARNING,
    "shebang": Severity.WARNING,
    "crlf": Severity.WARNING,
    "bom": Severity.WARNING,
    "key-twice": Severity.WARNING,
    "first-only": Severity.WARNING,
    "object-unguarded": Severity.WARNING,
    "synchronization-ignored": Severity.WARNING,
    "handler-missing": Severity.WARNING,
    "handler-unknown": Severity.WARNING,
    "patches-refused": Severity.WARNING,
    "blocks-itself": Severity.WARNING,
    "never-asked": Severity.WARNING,
    "condition-wrong": Severity.WARNING,
    "binding-unused": Severity.WARNING,
    "filter-noisy": Severity.WARNING,
    "queue-unused": Severity.WARNING,
    "cron-never": Severity.WARNING,
    "cron-busy": Severity.WARNING,
    "whole-cluster": Severity.WARNING,
    "kind-unserved": Severity.WARNING,
    "unused-ignore": Severity.INFO,
    "next-runs": Severity.INFO,
}

MODULE_CODES = {
    "module-refused": Severity.ERROR,
    "defaults-refused": Severity.ERROR,
    "default-wrong": Severity.ERROR,
    "chart-refused": Severity.ERROR,
    "crd-refused": Severity.ERROR,
    "render-failed": Severity.WARNING,
    "manifest-refused": Severity.WARNING,
    "enum-unquoted": Severity.WARNING,
    "schema-slip": Severity.WARNING,
    "key-unknown": Severity.WARNING,
    "field-unknown": Severity.WARNING,
    "value-lost": Severity.WARNING,
    "requires-unknown": Severity.WARNING,
    "text-escapes": Severity.WARNING,
    "text-unquoted": Severity.WARNING,
    "text-changed": Severity.WARNING,
    "name-unchecked": Severity.WARNING,
    "needs-values": Severity.INFO,
}
"""Those about modules; docs/module-tools.md explains each."""

ADDON_CODES = {
    "addon-refused": Severity.ERROR,
    "application-partial": Severity.INFO,
    "channel-refused": Severity.ERROR,
    "name-constant": Severity.WARNING,
    "package-missing": Severity.ERROR,
    "package-refused": Severity.ERROR,
    "patch-unused": Severity.WARNING,
    "placeholder-unset": Severity.WARNING,
    "placeholder-unused": Severity.WARNING,
    "requires-cycle": Severity.ERROR,
    "rule-unchecked": Severity.WARNING,
}
"""Those about addons only; docs/packaging-addons.md explains each."""

ALL_CODES = CODES | MODULE_CODES | ADDON_CODES


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a file. `offset` counts characters in its text; `text` is what, why, and how to mend it."""

    code: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A remark in its place. `path` is as the user wrote it; `line` and `column` count from 1."""

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
    """One finding a line: `path:line:column: CODE severity: what, why, how to mend it`."""
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
        return f"'{code}' is an error, and the start would not be silenced either; mend it"
    return f"'ignore={code}' silences nothing here; drop it"
