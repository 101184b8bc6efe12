"""Defaults and meanings of a v1 configuration. Refusals: test_rules.py. Whole configurations: tests/contract.

Level: pure."""

from typing import Any, get_args, get_type_hints

import orjson

from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import SETTINGS
from hookrunner.model.bindings import Change, HookConfig, HookSettings, Kubernetes, QueueRules, Resident, Schedule
from hookrunner.shapes import Text
from tests.tables import each


def kubernetes(**keys: Any) -> Kubernetes:
    return config(kubernetes=[{"kind": "Pod", **keys}]).kubernetes[0]


def config(**keys: Any) -> HookConfig:
    return parse("hook", orjson.dumps({"configVersion": "v1", **keys}))


def test_a_minimal_binding_gets_the_defaults() -> None:
    assert kubernetes() == Kubernetes(name="kubernetes", kind="Pod")
    assert config(schedule=[{"crontab": "@daily"}]).schedules == (Schedule("schedule", "@daily"),)
    assert kubernetes(name="", queue="", group="", jqFilter="", apiVersion="") == kubernetes()


@each(
    ("keys", "changes"),
    [
        ({}, set(Change)),
        ({"executeHookOnEvent": []}, set()),
        ({"watchEvent": ["Added"]}, {Change.ADDED}),
        ({"watchEvent": []}, set()),
        ({"executeHookOnEvent": ["Deleted"], "watchEvent": ["Added"]}, {Change.DELETED}),
        ({"executeHookOnEvent": [], "watchEvent": ["Added"]}, set()),
        ({"executeHookOnEvent": ["Added", "Added"]}, {Change.ADDED}),
    ],
)
def test_the_newer_name_for_events_wins_even_if_it_lists_none(keys: dict[str, Any], changes: set[Change]) -> None:
    assert kubernetes(**keys).changes == changes


@each(
    ("keys", "waits"),
    [
        ({}, True),
        ({"waitForSynchronization": False}, True),
        ({"waitForSynchronization": False, "queue": ""}, True),
        ({"waitForSynchronization": False, "queue": "q"}, False),
        ({"waitForSynchronization": True, "queue": "q"}, True),
    ],
)
def test_only_a_binding_with_a_queue_can_decline_to_be_waited_for(keys: dict[str, Any], waits: bool) -> None:
    assert kubernetes(**keys).wait_for_synchronization is waits


def test_a_run_for_each_object_is_for_those_that_ask_for_it() -> None:
    assert kubernetes(queue="q", synchronizeEachObject=True).synchronize_each_object
    assert not kubernetes(queue="q").synchronize_each_object


def test_a_kind_is_awaited_unless_it_is_optional() -> None:
    assert [kubernetes().optional, kubernetes(optional=True).optional] == [False, True]


def test_selectors_become_names_and_strings() -> None:
    binding = kubernetes(
        nameSelector={"matchNames": ["b", "a", "b"]},
        namespace={"nameSelector": {"matchNames": ["ns"]}},
        labelSelector={"matchLabels": {"a": "b"}},
        fieldSelector={"matchExpressions": [{"field": "status.phase", "operator": "!=", "value": "x,y"}]},
    )
    assert (binding.names, binding.namespaces, binding.namespace_labels) == (("b", "a"), ("ns",), None)
    assert (binding.labels, binding.fields) == ("a=b", r"status.phase!=x\,y")


def test_labels_of_namespaces_make_their_names_meaningless() -> None:
    both = {"nameSelector": {"matchNames": ["ns"]}, "labelSelector": {"matchLabels": {"team": "a"}}}
    binding = kubernetes(namespace=both)
    assert (binding.namespaces, binding.namespace_labels) == ((), "team=a")
    assert kubernetes(namespace={"labelSelector": {"matchLabels": {}}}).namespace_labels == ""


@each(
    ("raw", "settings"),
    [
        ({}, HookSettings()),
        ({"executionMinInterval": "1m30s"}, HookSettings(min_interval=90)),
        ({"executionBurst": 5}, HookSettings(burst=5)),
        ({"executionMinInterval": "0s", "executionBurst": 0}, HookSettings()),
        ({"executionMinInterval": "-1s"}, HookSettings()),
        ({"executionMinInterval": "300ms", "executionBurst": 2.0}, HookSettings(min_interval=0.3, burst=2)),
        ({"timeout": "10s", "combine": False}, HookSettings(timeout=10, combine=False)),
        ({"timeout": "0"}, HookSettings()),
        ({"onFailure": "park", "maxAttempts": 3}, HookSettings(on_failure="park", max_attempts=3)),
        ({"onDryRun": "skip"}, HookSettings(on_dry_run="skip")),
        ({"onReviewPatches": "refuse"}, HookSettings(on_review_patches="refuse")),
        ({"resident": True}, HookSettings(resident=Resident())),
        ({"queues": {"q": {"concurrency": 5}}}, HookSettings(queues={"q": QueueRules(5)})),
        ({"queues": {"q": {"orderBy": "object"}}}, HookSettings(queues={"q": QueueRules(1, "object")})),
        ({"resident": False}, HookSettings()),
        ({"resident": {}}, HookSettings(resident=Resident())),
        (
            {"resident": {"workers": 2, "idle": "0", "maxRuns": 5, "maxMemory": "1Gi", "fallback": True}},
            HookSettings(resident=Resident(2, 0.0, 5, 1 << 30, True)),
        ),
    ],
)
def test_each_setting_may_stand_alone(raw: dict[str, Any], settings: HookSettings) -> None:
    assert config(settings=raw).settings == settings


def test_a_group_gives_its_members_snapshots_to_bindings_of_every_type() -> None:
    members = [{"kind": "Pod", "name": name, "group": "g"} for name in ("1", "4", "3")]
    outside = {"kind": "Pod", "name": "2"}
    whole = config(
        kubernetes=[*members, outside],
        schedule=[{"crontab": "@daily", "group": "g", "includeSnapshotsFrom": ["3", "2", "1"]}],
        kubernetesValidating=[{"name": "a.b.c", "group": "g"}],
        kubernetesCustomResourceConversion=[
            {
                "name": "up",
                "crdName": "crontabs.example.com",
                "group": "other",
                "conversions": [{"fromVersion": "a", "toVersion": "b"}],
            }
        ],
    )
    assert [binding.snapshots for binding in whole.kubernetes] == [("1", "4", "3")] * 3 + [()]
    assert whole.schedules[0].snapshots == ("3", "2", "1", "4")
    assert whole.validating[0].snapshots == ("1", "4", "3")
    assert whole.conversions[0].snapshots == ()


def test_webhook_bindings_keep_the_words_of_the_api() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
    (binding,) = config(
        kubernetesMutating=[
            {
                "name": "a.b.c",
                "rules": [rule],
                "labelSelector": {"matchLabels": {"a": "b"}},
                "namespace": {"labelSelector": {"matchLabels": {"c": "d"}}},
                "reinvocationPolicy": "IfNeeded",
            }
        ]
    ).mutating
    assert (binding.failure_policy, binding.side_effects, binding.timeout_seconds) == ("Fail", "None", 10)
    assert (binding.rules, binding.reinvocation_policy) == ((rule,), "IfNeeded")
    assert binding.object_selector == {"matchLabels": {"a": "b"}}
    assert binding.namespace_selector == {"matchLabels": {"c": "d"}}


@each(
    ("key", "field"),
    [("onFailure", "on_failure"), ("onDryRun", "on_dry_run"), ("onReviewPatches", "on_review_patches")],
)
def test_settings_allow_the_words_that_the_model_knows(key: str, field: str) -> None:
    assert SETTINGS.keys[key] == Text(get_args(get_type_hints(HookSettings)[field]))
