"""The legacy configuration: what it means, and what of it is refused. Level: pure."""

from typing import Any

from hookrunner.hooks.config.hook_config import lenient_v0, read_v0, v0_problems
from hookrunner.model.bindings import Change, Kubernetes, Schedule
from tests.tables import each


def problems(**keys: Any) -> list[str]:
    return [str(problem) for problem in v0_problems(keys)]


def binding(**keys: Any) -> Kubernetes:
    return read_v0({"onKubernetesEvent": [{"kind": "Pod", **keys}]}).kubernetes[0]


def test_a_v0_binding_never_synchronizes_and_keeps_no_objects() -> None:
    assert binding() == Kubernetes(
        name="onKubernetesEvent", kind="Pod", run_on_synchronization=False, keep_full_objects=False
    )


@each(
    ("keys", "changes"),
    [
        ({}, set(Change)),
        ({"event": []}, set()),
        ({"event": ["add"]}, {Change.ADDED}),
        ({"event": ["update", "delete"]}, {Change.MODIFIED, Change.DELETED}),
    ],
)
def test_events_have_names_of_their_own_and_all_are_the_default(keys: dict[str, Any], changes: set[Change]) -> None:
    assert binding(**keys).changes == changes


def test_selectors_have_other_names_than_in_v1() -> None:
    pods = binding(
        name="pods",
        selector={"matchLabels": {"a": "b"}},
        objectName="one",
        namespaceSelector={"matchNames": ["x", "y"], "any": False},
        jqFilter=".spec",
        allowFailure=True,
    )
    assert (pods.name, pods.labels, pods.names, pods.namespaces) == (
        "pods",
        "a=b",
        ("one",),
        ("x", "y"),
    )
    assert (pods.jq_filter, pods.allow_failure) == (".spec", True)


def test_any_namespace_means_all_whatever_else_is_named() -> None:
    assert binding(namespaceSelector={"matchNames": ["x"], "any": True}).namespaces == ()


def test_schedules_are_those_of_v1_without_queue_and_group() -> None:
    raw = {"schedule": [{"crontab": "* * * * *"}, {"name": "n", "crontab": "@daily", "allowFailure": True}]}
    assert read_v0(raw).schedules == (
        Schedule("schedule", "* * * * *"),
        Schedule("n", "@daily", allow_failure=True),
    )


@each(
    "keys",
    [
        {"onStartup": 1},
        {"schedule": []},
        {"onKubernetesEvent": []},
        {"onKubernetesEvent": [{"kind": "Pod", "whatever": {"more": 1}}]},
        {"schedule": [{"crontab": "* * * * *", "queue": "ignored"}]},
    ],
)
def test_unknown_keys_of_items_are_ignored_and_lists_may_be_empty(keys: dict[str, Any]) -> None:
    assert problems(**keys) == []


@each(
    ("keys", "fragment"),
    [
        ({"onStartup": "1"}, 'onStartup must be of type integer: "string"'),
        ({"kubernetes": []}, "kubernetes is a forbidden property"),
        ({"schedule": ["x"]}, 'schedule[0] must be of type object: "string"'),
        ({"schedule": [{"crontab": "x"}]}, "schedule[0].crontab is invalid"),
        ({"schedule": [{}]}, "schedule[0].crontab is invalid"),
        ({"onKubernetesEvent": [{"event": ["add", "x"]}]}, "the event is unsupported; use add, update or delete"),
        ({"onKubernetesEvent": [{"selector": {"matchLabels": {"a/b/c/": "d"}}}]}, "selector is invalid"),
        (
            {"onKubernetesEvent": [{"selector": {"matchExpressions": [{"key": "a", "operator": "x"}]}}]},
            "not a valid label selector operator; use In",
        ),
    ],
)
def test_what_can_never_work_is_refused(keys: dict[str, Any], fragment: str) -> None:
    assert fragment in problems(**keys)[0]


@each(
    ("item", "meant"),
    [
        ({"name": 1, "kind": "Pod"}, {"name": "1", "kind": "Pod"}),
        ({"kind": "Pod", "event": None, "name": None}, {"kind": "Pod"}),
        (
            {"kind": "Pod", "selector": {"matchLabels": {"a": 1, "b": True, "c": None}}},
            {"kind": "Pod", "selector": {"matchLabels": {"a": "1", "b": "true"}}},
        ),
        (
            {"kind": "Pod", "namespaceSelector": {"matchNames": [1, None]}},
            {"kind": "Pod", "namespaceSelector": {"matchNames": ["1"]}},
        ),
        ({"kind": "Pod", "more": None}, {"kind": "Pod"}),
        ({"kind": ["Pod"]}, {"kind": ["Pod"]}),
    ],
)
def test_items_are_read_without_a_schema(item: dict[str, Any], meant: dict[str, Any]) -> None:
    assert lenient_v0({"onKubernetesEvent": [item]}) == {"onKubernetesEvent": [meant]}
