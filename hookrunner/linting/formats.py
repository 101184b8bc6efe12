"""Findings as text for people, as JSON for programs, and as annotations for GitHub."""

from collections.abc import Sequence

import orjson

from hookrunner.linting.findings import Finding, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def text(findings: Sequence[Finding]) -> str:
    """One finding a line: `path:line:column: CODE severity: what, why, how to mend it`."""
    return "".join(f"{finding}\n" for finding in findings)


def json(findings: Sequence[Finding]) -> str:
    """An array of objects with path, line, column, code, severity and text."""
    keys = ("path", "line", "column", "code", "severity", "text")
    rows = [{key: getattr(finding, key) for key in keys} for finding in findings]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def github(findings: Sequence[Finding]) -> str:
    """Workflow commands: https://docs.github.com/actions/reference/workflow-commands-for-github-actions."""
    return "".join(map(_annotation, findings))


def _annotation(finding: Finding) -> str:
    place = f"file={_value(finding.path)},line={finding.line},col={finding.column},title={finding.code}"
    return f"::{_LEVELS[finding.severity]} {place}::{_escaped(finding.text)}\n"


def _escaped(message: str) -> str:
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")
