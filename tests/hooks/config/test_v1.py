"""Defaults and meanings of a v1 configuration that tests/contract/configs.golden does not show. Refusals:
test_rules.py.

Level: pure."""

from typing import Any, get_args, get_type_hints

import orjson

from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import SETTINGS
from hookrunner.model.bindings import Change, HookConfig, HookSettings, Kubernetes, QueueRules, Resident
from hookrunner.shapes import Text
from tests.tables import each


def kubernetes(**keys: Any) -> Kubernetes:
    return config(kubernetes=[{"kind": "Pod", **keys}]).kubernetes[0]


def config(**keys: Any) -> HookConfig:
    return parse("hook", orjson.dumps({"configVersion": "v1", **keys}))


def test_what_is_empty_has_its_default() -> None:
    assert kubernetes(name="", queue="", group="", jqFilter="", apiVersion="") == kubernetes()


@each(
    ("keys", "changes"),
    [
        ({}, set(Change)),
        ({"executeHookOnEvent": []}, set()),
        ({"watchEvent": []}, set()),
        ({"executeHookOnEvent": ["Deleted"], "watchEvent": ["Added"]}, {Change.DELETED}),
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


def test_names_are_selected_once_and_no_labels_are_all_namespaces() -> None:
    assert kubernetes(nameSelector={"matchNames": ["b", "a", "b"]}).names == ("b", "a")
    assert kubernetes(namespace={"labelSelector": {"matchLabels": {}}}).namespace_labels == ""


@each(
    ("raw", "settings"),
    [
        ({}, HookSettings()),
        ({"executionBurst": 5}, HookSettings(burst=5)),
        ({"executionMinInterval": "-1s"}, HookSettings()),
        ({"executionMinInterval": "300ms", "executionBurst": 2.0}, HookSettings(min_interval=0.3, burst=2)),
        ({"queues": {"q": {"concurrency": 5}}}, HookSettings(queues={"q": QueueRules(5)})),
        ({"queues": {"q": {"orderBy": "object"}}}, HookSettings(queues={"q": QueueRules(1, "object")})),
        ({"resident": False}, HookSettings()),
        ({"resident": {}}, HookSettings(resident=Resident())),
    ],
)
def test_each_setting_may_stand_alone(raw: dict[str, Any], settings: HookSettings) -> None:
    assert config(settings=raw).settings == settings


def test_a_group_gives_its_members_snapshots_to_webhooks_too() -> None:
    whole = config(
        kubernetes=[{"kind": "Pod", "name": name, "group": "g"} for name in ("1", "4", "3")],
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
    assert whole.validating[0].snapshots == ("1", "4", "3")
    assert whole.conversions[0].snapshots == ()


@each(
    ("key", "field"),
    [("onFailure", "on_failure"), ("onDryRun", "on_dry_run"), ("onReviewPatches", "on_review_patches")],
)
def test_settings_allow_the_words_that_the_model_knows(key: str, field: str) -> None:
    assert SETTINGS.keys[key] == Text(get_args(get_type_hints(HookSettings)[field]))
