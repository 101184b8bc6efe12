"""What the linter says: a `Remark` is what a check has to tell about a text, a `Finding` the same with file and line.

`CODES` is the list of all codes with their severity; docs/lint.md explains each, with a bad and a good sample that a
test runs.
"""

from dataclasses import dataclass
from enum import StrEnum


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
    "answer-missing": Severity.WARNING,
    "patch-missing": Severity.WARNING,
    "patches-refused": Severity.WARNING,
    "blocks-itself": Severity.WARNING,
    "never-asked": Severity.WARNING,
    "condition-wrong": Severity.WARNING,
    "never-there": Severity.WARNING,
    "snapshot-unknown": Severity.WARNING,
    "snapshot-unused": Severity.WARNING,
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
    "value-lost": Severity.WARNING,
    "requires-unknown": Severity.WARNING,
    "needs-values": Severity.INFO,
}
"""Those about modules; docs/module-tools.md explains each."""

ALL_CODES = CODES | MODULE_CODES


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
