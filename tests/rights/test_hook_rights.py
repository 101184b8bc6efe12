"""The rights that hooks declare. Level: pure."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.errors import BadInput
from hookrunner.hooks.config.hook_config import parse
from hookrunner.model.bindings import Hook
from hookrunner.model.rights import Reason, Right
from hookrunner.rights.hook_rights import declared_rights
from hookrunner.rights.kind_names import KindNames
from tests.fakes.objects import definition
from tests.tables import each


def rights(**config: Any) -> list[tuple[str, ...]]:
    """Namespace, resource with its group, names: what is listed and watched."""
    found = [*declared_rights([hook(**config)], KindNames([definition("example.com", "Widget", "v1")]))]
    assert {right.verbs for right in found} == {("list", "watch")}
    return [(right.namespace, f"{right.resources[0]}.{right.groups[0]}".rstrip("."), *right.names) for right in found]


def hook(**config: Any) -> Hook:
    return Hook("a.sh", Path("a.sh"), parse("a.sh", orjson.dumps({"configVersion": "v1", **config})))


@each(
    ("binding", "expected"),
    [
        ({"kind": "Pod"}, [("", "pods")]),
        ({"kind": "deploy"}, [("", "deployments.apps")]),
        ({"kind": "Ingress", "apiVersion": "networking.k8s.io/v1"}, [("", "ingresses.networking.k8s.io")]),
        ({"kind": "Widget", "apiVersion": "example.com/v1"}, [("", "widgets.example.com")]),
        ({"kind": "Widget"}, [("", "widgets.example.com")]),
        ({"kind": "Gadget", "apiVersion": "example.com/v1"}, [("", "gadgets.example.com")]),
        (
            {"kind": "Pod", "namespace": {"nameSelector": {"matchNames": ["a", "b"]}}},
            [("a", "pods"), ("b", "pods")],
        ),
        (
            {"kind": "Secret", "nameSelector": {"matchNames": ["x", "y"]}},
            [("", "secrets", "x"), ("", "secrets", "y")],
        ),
        (
            {
                "kind": "Secret",
                "fieldSelector": {"matchExpressions": [{"field": "metadata.name", "operator": "Equals", "value": "x"}]},
            },
            [("", "secrets", "x")],
        ),
        (
            {
                "kind": "Secret",
                "fieldSelector": {
                    "matchExpressions": [{"field": "metadata.name", "operator": "NotEquals", "value": "x"}]
                },
            },
            [("", "secrets")],
        ),
        (
            {"kind": "Pod", "namespace": {"labelSelector": {"matchLabels": {"a": "b"}}}},
            [("", "namespaces"), ("", "pods")],
        ),
        ({"kind": "Node", "namespace": {"nameSelector": {"matchNames": ["a"]}}}, [("", "nodes")]),
    ],
)
def test_a_binding_lists_and_watches_what_it_selects(binding: Any, expected: list[tuple[str, ...]]) -> None:
    assert rights(kubernetes=[binding]) == expected


def test_schedules_and_webhooks_make_no_requests() -> None:
    webhook: Any = {"name": "a.example.com", "rules": []}
    assert list(declared_rights([hook(schedule=[{"crontab": "@daily"}])], KindNames())) == []
    webhook["rules"] = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
    assert list(declared_rights([hook(kubernetesValidating=[webhook])], KindNames())) == []


def test_who_needs_it_is_the_hook_by_its_binding_or_its_permissions() -> None:
    stated = {"permissions": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"], "namespaces": ["a"]}]}
    declared = list(declared_rights([hook(settings=stated, kubernetes=[{"kind": "Pod", "name": "pods"}])], KindNames()))
    assert declared[0] == Right(
        ("",), ("pods",), ("delete",), namespace="a", needs=(Reason("hook a.sh", "settings.permissions"),)
    )
    assert declared[1].needs == (Reason("hook a.sh", "binding 'pods'"),)


def test_a_guessed_kind_is_named() -> None:
    kinds = KindNames()
    list(declared_rights([hook(kubernetes=[{"kind": "Policy", "apiVersion": "example.com/v1"}])], kinds))
    assert kinds.guessed == {"Policy of example.com/v1 is taken for policies"}


def test_a_kind_without_a_group_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'Gadget' is not one of Kubernetes', .* state its apiVersion"):
        list(declared_rights([hook(kubernetes=[{"kind": "Gadget"}])], KindNames()))
