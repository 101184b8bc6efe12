"""What counts as expected, and how a difference is shown. Level: pure."""

from typing import Any

from hookrunner.model.operations import ValuesOperation
from hookrunner.testing.cases.expectations import differences
from hookrunner.testing.results import Effects, Patched, Result
from tests.tables import each

RAN = Result(
    exit_code=0,
    contexts=[{"binding": "b", "type": "Schedule"}],
    logs=("copied 3 secrets", "done"),
    metrics=({"name": "m", "action": "set", "value": 1}, {"name": "n", "action": "add", "value": 2}),
    verdict={"allowed": True, "warnings": ["w"]},
    again_after=60.0,
    values=Patched({"a": {"b": 1}}, (ValuesOperation("add", "/a/c", [1, 2]),)),
)
OBJECTS = [
    {"kind": "Secret", "metadata": {"name": "a", "labels": {"x": "1"}}},
    {"kind": "Pod", "metadata": {"name": "p"}},
]


@each(
    "expect",
    [
        {},
        {"exit": 0},
        {"metrics": [{"name": "m"}, {"value": 2.0}]},
        {"metrics": {"contain": [{"name": "n"}]}},
        {"metrics": {"exactly": list(RAN.metrics)}},
        {"patches": []},
        {"contexts": [{"type": "Schedule"}]},
        {"logs": ["3 secrets", "/^don[ef]$/"]},
        {"verdict": {"allowed": True}},
        {"verdict": {"allowed": True, "patch": [], "message": ""}},
        {"runAgainAfterSeconds": 60},
        {"values": {"a": {"c": [1, 2]}}},
        {"objects": [{"metadata": {"name": "p"}}]},
        {"objects": {"contain": [{"kind": "Pod"}], "absent": [{"kind": "ConfigMap"}]}},
        {"objects": {"exactly": OBJECTS}},
    ],
)
def test_expected_keys_are_compared(expect: dict[str, Any]) -> None:
    assert differences(expect, RAN, Effects(OBJECTS)) == []


@each(
    ("expect", "key"),
    [
        ({"run": False}, "run"),
        ({"exit": 1}, "exit"),
        ({"failure": "bad"}, "failure"),
        ({"metrics": [{"name": "m"}]}, "metrics"),
        ({"metrics": [{"name": "n"}, {"name": "m"}]}, "metrics"),
        ({"metrics": {"contain": [{"name": "x"}]}}, "metrics"),
        ({"metrics": {"exactly": [{"name": "m"}, {"name": "n"}]}}, "metrics"),
        ({"patches": [{"operation": "Create"}]}, "patches"),
        ({"logs": ["4 secrets"]}, "logs"),
        ({"logs": ["/^secrets/"]}, "logs"),
        ({"logs": []}, "logs"),
        ({"verdict": {"allowed": False}}, "verdict"),
        ({"verdict": {"warnings": []}}, "verdict"),
        ({"values": {"a": {"c": [1]}}}, "values"),
        ({"configValues": {"a": {}}}, "configValues"),
        ({"runAgainAfterSeconds": 600}, "runAgainAfterSeconds"),
        ({"objects": [{"kind": "Pod", "metadata": {"name": "q"}}]}, "objects"),
        ({"objects": {"absent": [{"kind": "Pod"}]}}, "objects"),
        ({"objects": {"exactly": OBJECTS[:1]}}, "objects"),
    ],
)
def test_difference_is_named(expect: dict[str, Any], key: str) -> None:
    assert [one.key for one in differences(expect, RAN, Effects(OBJECTS))] == [key]


def test_run_false_expects_no_run() -> None:
    idle = Result(reason="filter result unchanged")
    assert differences({"run": False, "reason": "filter"}, idle) == []
    (wrong,) = differences({}, idle)
    assert wrong.lines == ("the hook would not run: filter result unchanged",)
    (wrong,) = differences({"run": False, "reason": "selector"}, idle)
    assert wrong.key == "reason"


def test_failure_with_exit_code_0_is_a_failure() -> None:
    failed = Result(exit_code=0, failure="got bad metrics")
    assert [one.key for one in differences({}, failed)] == ["failure"]
    assert differences({"failure": "bad metrics"}, failed) == []


def test_a_killed_hook_has_no_exit_code_and_can_be_expected() -> None:
    killed = Result(failure="hook.sh FAILED: killed by SIGKILL")
    (wrong,) = differences({}, killed)
    assert wrong.lines == ("no exit code, expected 0", "hook.sh FAILED: killed by SIGKILL")
    assert differences({"failure": "SIGKILL"}, killed) == []
    assert [one.key for one in differences({"failure": "SIGTERM"}, killed)] == ["failure"]


def test_refusal_of_the_api_is_a_difference_unless_expected() -> None:
    refused = Effects(refusal='secrets "a" not found')
    (wrong,) = differences({}, RAN, refused)
    assert (wrong.key, wrong.lines[0]) == ("refusal", 'secrets "a" not found')
    assert differences({"refusal": "not found"}, RAN, refused) == []
    assert [one.key for one in differences({"refusal": "not found"}, RAN)] == ["refusal"]


def test_a_failed_hook_shows_its_last_words() -> None:
    (wrong,) = differences({}, Result(exit_code=3, failure="hook.sh FAILED: no such file"))
    assert wrong.lines == ("exit 3, expected 0", "hook.sh FAILED: no such file")


def test_difference_shows_only_expected_keys() -> None:
    found = [OBJECTS[1], {"kind": "Secret", "metadata": {"name": "a", "labels": {"x": "2"}}, "data": {"long": "…"}}]
    (wrong,) = differences({"objects": OBJECTS[:1]}, RAN, Effects(found))
    assert wrong.lines[3:] == (" metadata:", "   name: a", "   labels:", "-    x: '1'", "+    x: '2'")
