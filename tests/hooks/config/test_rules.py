"""What a v1 configuration must fulfil beyond its tables. Selectors, includes and webhooks have files of their own.

Level: pure."""

from typing import Any

from hookrunner.hooks.config.rules import problems
from tests.tables import each


def problems_of(**keys: Any) -> list[str]:
    return [str(problem) for problem in problems({"configVersion": "v1", **keys})]


POD = {"kind": "Pod"}
BY_NAME = {"field": "metadata.name", "operator": "=", "value": "a"}


@each("version", ["", "v1", "apps/v1", "/v1"])
def test_an_api_version_has_at_most_a_group(version: str) -> None:
    assert problems_of(kubernetes=[POD | {"apiVersion": version}]) == []


@each("version", ["a/b/c", "apps/", "//"])
def test_an_api_version_of_other_parts_is_invalid(version: str) -> None:
    assert problems_of(kubernetes=[POD | {"apiVersion": version}]) == [
        "kubernetes[0].apiVersion is invalid: not `version` or `group/version`, such as v1 or apps/v1"
    ]


def test_two_ways_to_select_by_name_exclude_each_other_in_each_expression() -> None:
    fields = {"matchExpressions": [BY_NAME, BY_NAME | {"field": "status.phase"}, BY_NAME]}
    lines = problems_of(kubernetes=[POD | {"fieldSelector": fields, "nameSelector": {"matchNames": ["a"]}}])
    assert [line.split()[0] for line in lines] == [
        f"kubernetes[0].fieldSelector.matchExpressions[{index}]" for index in (0, 2)
    ]
    assert all("mutually exclusive" in line for line in lines)
    assert problems_of(kubernetes=[POD | {"fieldSelector": fields, "nameSelector": {"matchNames": []}}]) == []


@each("key", ["executionMinInterval", "timeout"])
@each("text", ["", "5", "1d", "1m30", "fast"])
def test_durations_are_written_as_in_go(key: str, text: str) -> None:
    (problem,) = problems_of(settings={key: text})
    assert problem == f"settings.{key} is invalid: not a duration; write one such as 30s or 1m30s"


def test_a_problem_of_the_tables_hides_no_other_problem_of_the_same_binding() -> None:
    lines = problems_of(
        kubernetes=[{"kind": 5, "apiVersion": "a/b/c", "jqfilter": "."}, "x"], schedule=[{"crontab": "x"}]
    )
    assert [line.split()[0] for line in lines] == [
        "kubernetes[0].kind",
        "kubernetes[0].jqfilter",
        "kubernetes[1]",
        "kubernetes[0].apiVersion",
        "schedule[0].crontab",
    ]


def test_no_include_is_called_missing_while_a_name_cannot_be_read() -> None:
    lines = problems_of(
        kubernetes=[POD | {"name": 5}], schedule=[{"crontab": "* * * * *", "includeSnapshotsFrom": ["five"]}]
    )
    assert [line.split()[0] for line in lines] == ["kubernetes[0].name"]


def test_no_name_is_called_ambiguous_while_one_cannot_be_read() -> None:
    lines = problems_of(kubernetes=[POD | {"name": 5, "group": "g"}, {"kind": "Node", "group": "g"}])
    assert [line.split()[0] for line in lines] == ["kubernetes[0].name"]


@each(
    ("keys", "reason"),
    [
        ({"queue": "q", "group": "g"}, "and group exclude each other"),
        ({"queue": "q", "executeHookOnSynchronization": False}, "needs executeHookOnSynchronization, which is false"),
        ({}, "needs a queue of its own"),
        ({"queue": ""}, "needs a queue of its own"),
        ({"queue": "main"}, "needs a queue of its own"),
    ],
)
def test_a_run_for_each_object_is_refused_where_it_cannot_be(keys: dict[str, Any], reason: str) -> None:
    (problem,) = problems_of(kubernetes=[POD | {"synchronizeEachObject": True, **keys}])
    assert problem.startswith(f"kubernetes[0].synchronizeEachObject {reason}")


@each(
    "keys",
    [
        {"settings": {}},
        {"settings": {"executionMinInterval": "-1s"}},
        {"settings": {"executionBurst": 0}},
        {"kubernetes": [{"kind": ""}]},
        {"kubernetes": [POD | {"fieldSelector": {"matchExpressions": []}}]},
        {"kubernetes": [POD | {"resynchronizationPeriod": "whatever"}]},
        {"kubernetesValidating": [{"name": "a.b.c", "matchConditions": []}]},
    ],
)
def test_what_the_predecessor_accepts_is_accepted(keys: dict[str, Any]) -> None:
    assert problems_of(**keys) == []


@each("key", ["settings", "onStartup", "schedule", "kubernetes", "kubernetesValidating"])
def test_an_explicit_null_is_refused(key: str) -> None:
    (problem,) = problems_of(**{key: None})
    assert problem.startswith(f"{key} must be of type")
    assert ': "null"' in problem
