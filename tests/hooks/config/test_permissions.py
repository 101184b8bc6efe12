"""The rights that a hook states in its configuration. Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config.hook_config import parse
from hookrunner.model.bindings import HookConfig
from hookrunner.model.rights import Right
from hookrunner.testing.display import config_document
from tests.tables import each

PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def config(*permissions: Any) -> HookConfig:
    return parse(
        "h.sh", orjson.dumps({"configVersion": "v1", "onStartup": 1, "settings": {"permissions": permissions}})
    )


def test_nothing_stated_differs_from_no_rights() -> None:
    silent = parse("h.sh", orjson.dumps({"configVersion": "v1", "onStartup": 1}))
    assert (silent.settings.permissions, config().settings.permissions) == (None, ())


def test_configuration_is_shown_as_rules() -> None:
    shown = config_document(config(PODS | {"namespaces": ["a"]}))["settings"]["permissions"]
    assert shown == [PODS | {"namespaces": ["a"]}]


@each(
    ("rule", "problem"),
    [
        (PODS | {"verbs": ["udpate"]}, "settings.permissions[0].verbs[0] should be one of"),
        (PODS | {"verbs": ["udpate"]}, "did you mean 'update'?"),
        (PODS | {"verbs": ["Patch"]}, "did you mean 'patch'?"),
        ({"resources": ["pods"], "verbs": ["get"]}, "settings.permissions[0] lacks apiGroups or resources"),
        ({"verbs": ["get"]}, "settings.permissions[0] lacks apiGroups or resources"),
        (PODS | {"nonResourceURLs": ["/metrics"]}, "has resources and nonResourceURLs"),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"], "namespaces": ["a"]}, "URLs are in no namespace"),
        (PODS | {"resources": ["Pods"]}, "resources[0] is invalid: no resource is called 'Pods'"),
        (PODS | {"verbs": ["get", "create"], "resourceNames": ["a"]}, "verbs[1] is invalid: no rule can limit create"),
        (PODS | {"namespace": "a"}, "did you mean 'namespaces'?"),
    ],
)
def test_a_rule_that_allows_nothing_is_refused(rule: Any, problem: str) -> None:
    with pytest.raises(BadHookConfig) as refused:
        config(rule)
    assert problem in str(refused.value)


def test_a_subresource_is_created_under_a_name() -> None:
    right = PODS | {"resources": ["pods/eviction"], "verbs": ["create"], "resourceNames": ["a"]}
    assert config(right).settings.permissions == (Right(("",), ("pods/eviction",), ("create",), ("a",)),)
