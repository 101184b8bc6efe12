"""How one case went, of a hook or a module: for output, counting, and JUnit XML, which every CI reads.

https://github.com/testmoapp/junitxml describes the format.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from hookrunner.testing.cases.expectations import Difference


@dataclass(frozen=True, slots=True)
class CaseReport:
    """`subject` is what was tested, `expects` whether anything was expected of it. `problem` is why it could not be run
    at all; else `wrong` is what is not as expected. `logs` is what was printed meanwhile, `notes` are worth knowing
    also if all is well."""

    path: Path
    subject: str
    line: int
    name: str
    expects: bool
    seconds: float = 0.0
    problem: str = ""
    wrong: Sequence[Difference] = ()
    logs: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """As expected."""
        return not (self.problem or self.wrong)

    @property
    def stale(self) -> bool:
        """Not as expected, or nothing is expected yet: what `--update` writes anew."""
        return bool(self.wrong) or not (self.problem or self.expects)

    @property
    def lines(self) -> list[str]:
        """What there is to say of a case that did not pass; what was printed last."""
        if self.problem:
            return self.problem.splitlines()
        lines = [line for one in self.wrong for line in (f"{one.key}:", *(f"  {line}" for line in one.lines))]
        if self.wrong and self.logs and not any(one.key == "logs" for one in self.wrong):
            lines += ["the hook printed:", *(f"  | {line}" for line in self.logs)]
        return lines


_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot carry, escaped or not: https://www.w3.org/TR/xml/#charsets"""


def document(outcomes: Sequence[CaseReport], seconds: float) -> bytes:
    """One suite for each test file."""
    root = Xml.Element("testsuites", {"name": "hookrunner"} | _counts(outcomes, seconds))
    for path in dict.fromkeys(outcome.path for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.path == path]
        counts = _counts(own, sum(one.seconds for one in own))
        suite = Xml.SubElement(root, "testsuite", {"name": str(path)} | counts)
        for outcome in own:
            _case(suite, outcome)
    Xml.indent(root)
    text: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(outcomes: Sequence[CaseReport], seconds: float) -> dict[str, str]:
    failures = sum(bool(outcome.wrong) for outcome in outcomes)
    errors = sum(bool(outcome.problem) for outcome in outcomes)
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _case(suite: Xml.Element, outcome: CaseReport) -> None:
    attributes = {
        "classname": outcome.subject,
        "name": _clean(outcome.name),
        "file": str(outcome.path),
        "line": str(outcome.line),
        "time": f"{outcome.seconds:.3f}",
    }
    case = Xml.SubElement(suite, "testcase", attributes)
    if not outcome.passed:
        first = outcome.problem.partition("\n")[0] or "not as expected: " + ", ".join(one.key for one in outcome.wrong)
        kind = "error" if outcome.problem else "failure"
        Xml.SubElement(case, kind, message=_clean(first)).text = _clean("\n".join(outcome.lines))
    if outcome.logs:
        Xml.SubElement(case, "system-out").text = _clean("\n".join(outcome.logs))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
