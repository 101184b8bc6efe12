"""The legacy configuration: what it means, and what of it is refused, as far as tests/contract/configs.golden does not
show it. Level: pure."""

from typing import Any

from hookrunner.hooks.config.hook_config import lenient_v0, read_v0, v0_problems
from hookrunner.model.bindings import Change, Kubernetes
from tests.tables import each


def problems(**keys: Any) -> list[str]:
    return [str(problem) for problem in v0_problems(keys)]


def binding(**keys: Any) -> Kubernetes:
    return read_v0({"onKubernetesEvent": [{"kind": "Pod", **keys}]}).kubernetes[0]


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
        ({"schedule": ["x"]}, 'schedule[0] must be of type object: "string"'),
        ({"onKubernetesEvent": [{"selector": {"matchLabels": {"a/b/c/": "d"}}}]}, "selector is invalid"),
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
