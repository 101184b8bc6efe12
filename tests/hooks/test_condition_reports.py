"""The file behind CONDITIONS_PATH. Level: pure."""

from dataclasses import replace

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks import condition_reports
from hookrunner.hooks.condition_reports import ConditionReports
from hookrunner.model.addon_status import OWN_CONDITIONS, HookCondition
from kubetypes.json_values import JSON
from tests.tables import each


def parse(*reports: JSON) -> tuple[HookCondition, ...]:
    return condition_reports.parse(b"\n".join(map(orjson.dumps, reports)))


def test_each_document_is_a_condition() -> None:
    full = {"type": "NodesReady", "status": "Unknown", "reason": "Old", "message": "two nodes", "healthy": True}
    assert parse({"type": "Conflict", "status": "True", "healthy": False}, full) == (
        HookCondition("Conflict", "True", "Conflict", "", False),
        HookCondition("NodesReady", "Unknown", "Old", "two nodes", True),
    )
    assert parse() == ()


@each(
    ("reports", "part"),
    [
        ([{}], "document 1: type is required; add it, for example `type: ConflictsWith`"),
        ([{"type": "A", "status": True}], 'document 1: status must be of type string: "boolean"'),
        ([{"type": "A", "status": "yes"}], "status should be one of [True False Unknown]"),
        ([{"type": "A", "status": "True", "mesage": ""}], "mesage is a forbidden property; did you mean 'message'?"),
        ([{"type": [], "status": "True"}], 'type must be of type string: "array"'),
        ([{"type": "a b", "status": "True"}], "type must be letters and digits"),
        ([{"type": "A", "status": "True", "reason": "two words"}], "reason must be one word"),
        ([{"type": "A", "status": "True"}] * 2, "document 2: type is in several documents; write one"),
        ([{"type": f"A{n}", "status": "True"} for n in range(21)], "document 21: is one too many"),
        (["text"], 'document 1: must be of type object: "string"'),
    ],
)
def test_a_report_that_cannot_be_used_is_refused(reports: list[JSON], part: str) -> None:
    with pytest.raises(BadOutput) as refused:
        parse(*reports)
    assert str(refused.value).startswith("CONDITIONS_PATH: ")
    assert part in str(refused.value)


def test_what_is_no_json_is_refused_with_the_document() -> None:
    with pytest.raises(BadOutput, match="CONDITIONS_PATH: document 2: not JSON"):
        condition_reports.parse(b'{"type":"A","status":"True"}\ntype: A')


@each("kind", sorted(OWN_CONDITIONS))
def test_a_hook_cannot_say_that_its_instance_is_ready(kind: str) -> None:
    with pytest.raises(BadOutput, match=f"type cannot be {kind}, which hookrunner itself reports"):
        parse({"type": kind, "status": "True"})


def test_each_hook_reports_until_it_runs_again() -> None:
    reports = ConditionReports()
    a, b = HookCondition("A", "True", "A", hook="first"), HookCondition("B", "True", "B", hook="second")
    assert reports.replace("first", (a,))
    assert not reports.replace("first", (a,))
    assert reports.replace("second", (b,))
    assert [*reports.conditions] == [a, b]
    assert reports.replace("first", ())
    assert [*reports.conditions] == [b]


def test_of_two_conditions_of_a_type_the_unhealthy_one_counts() -> None:
    reports = ConditionReports()
    bad, fine = HookCondition("A", "True", "Bad", healthy=False), HookCondition("A", "False", "Fine")
    reports.replace("a", (fine,))
    reports.replace("b", (bad,))
    reports.replace("c", (replace(bad, reason="Later"),))
    assert reports.conditions == (replace(bad, hook="b"),)


def test_report_to_an_earlier_process_stands_until_its_hook_runs_again() -> None:
    a, b = HookCondition("A", "True", "A", hook="first"), HookCondition("B", "True", "B", hook="second")
    reports = ConditionReports([b, a])
    assert [*reports.conditions] == [a, b]
    assert not reports.replace("first", (replace(a, hook=""),))
    assert reports.replace("second", ())
    assert [*reports.conditions] == [a]
