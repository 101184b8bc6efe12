"""The file behind `CONDITIONS_PATH`: a stream of JSON objects as conditions of an addon's instance.

    {"type": "ConflictsWith", "status": "True", "reason": "Cilium", "message": "…", "healthy": false}

They stand in the instance's status until the hook's next run, across restarts. Types that hookrunner itself reports are
refused: a hook cannot say that its instance is ready. See docs/addons.md, Hooks.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.model.addon_status import OWN_CONDITIONS, HookCondition
from hookrunner.shapes import FLAG, TEXT, Problem, Table, Text, check
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_MOST = 20
_DOCUMENT = Table(
    {"type": TEXT, "status": Text(("True", "False", "Unknown")), "reason": TEXT, "message": TEXT, "healthy": FLAG},
    required={"type": "ConflictsWith", "status": '"True"'},
)
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,198}[A-Za-z0-9_])?", re.ASCII)
"""Source: https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go (Condition)"""


class ConditionReports:
    """What the hooks of one instance have reported, each in its last run; `earlier` are reports to an earlier process,
    which stand until their hooks run again."""

    def __init__(self, earlier: Sequence[HookCondition] = ()) -> None:
        by_hook = sorted(earlier, key=lambda report: report.hook)
        self._by_hook = {hook: tuple(reported) for hook, reported in groupby(by_hook, lambda report: report.hook)}

    def replace(self, hook: str, conditions: Sequence[HookCondition]) -> bool:
        """A hook has run; does it report anything else than before?"""
        before = self._by_hook.get(hook, ())
        self._by_hook[hook] = tuple(dataclasses.replace(report, hook=hook) for report in conditions)
        return before != self._by_hook[hook]

    @property
    def conditions(self) -> tuple[HookCondition, ...]:
        """One condition of each type, by type: a status has no two. Of several hooks' the first one that is not healthy
        counts, else the first, in the order of the hooks' names."""
        reports = [condition for _, reported in sorted(self._by_hook.items()) for condition in reported]
        by_type: dict[str, HookCondition] = {}
        for condition in sorted(reports, key=lambda report: (report.type, report.healthy)):
            by_type.setdefault(condition.type, condition)
        return tuple(by_type.values())


def parse(text: bytes) -> tuple[HookCondition, ...]:
    """The conditions of a file; the reason is the type if there is no other. Raises BadOutput with every problem."""
    try:
        reports = documents.every_json(text)
    except BadDocument as error:
        raise BadOutput(f"CONDITIONS_PATH: document {error.number}: {error}") from None
    return to_conditions(reports)


def to_conditions(reports: Sequence[JSON]) -> tuple[HookCondition, ...]:
    """The same for values that have been read."""
    if problems := [f"document {number}: {problem}" for number, problem in _problems(reports)]:
        raise BadOutput("CONDITIONS_PATH: " + "; ".join(problems))
    return tuple(map(_condition, reports))


def _condition(report: JSON) -> HookCondition:
    reason = report.get("reason") or report["type"]
    healthy = report.get("healthy", True)
    return HookCondition(report["type"], report["status"], reason, report.get("message", ""), healthy)


def _problems(reports: Sequence[JSON]) -> Iterator[tuple[int, Problem]]:
    types = Counter(str(report.get("type")) for report in reports if isinstance(report, dict))
    for number, report in enumerate(reports[:_MOST], 1):
        wrong = list(check(report, _DOCUMENT)) or list(_wrong_texts(report))
        yield from ((number, problem) for problem in wrong)
        if not wrong and types[report["type"]] > 1:
            yield number, Problem("type", "is in several documents; write one condition of each type")
    if len(reports) > _MOST:
        yield _MOST + 1, Problem("", f"is one too many; a hook reports at most {_MOST} conditions")


def _wrong_texts(report: JSON) -> Iterator[Problem]:
    if report["type"] in OWN_CONDITIONS:
        yield Problem("type", f"cannot be {report['type']}, which hookrunner itself reports; use another word")
    elif not _TYPE.fullmatch(report["type"]):
        yield Problem("type", "must be letters and digits, beginning with a letter, at most 63")
    if report.get("reason") and not _REASON.fullmatch(report["reason"]):
        yield Problem("reason", "must be one word of letters, digits and _")
