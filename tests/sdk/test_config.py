"""The keywords of the SDK are compared with the configuration that the program reads. Level: pure."""

import pytest

from hookrunner.hooks.config import schema
from hookrunner.sdk.config import KEYS, to_part
from hookrunner.shapes import Table
from kubetypes.json_values import JSON

TABLES: dict[str, Table] = {
    "settings": schema.SETTINGS,
    "kubernetes": schema.KUBERNETES,
    "schedule": schema.SCHEDULE,
    "kubernetesValidating": schema.VALIDATING,
    "kubernetesMutating": schema.MUTATING,
    "kubernetesCustomResourceConversion": schema.CONVERSION,
}


@pytest.mark.parametrize("part", TABLES)
def test_every_key_of_the_configuration_is_a_keyword(part: str) -> None:
    assert set(KEYS[part].split()) == TABLES[part].keys.keys()


@pytest.mark.parametrize(
    ("selector", "rules"),
    [
        ("team", [{"key": "team", "operator": "Exists"}]),
        ("!team", [{"key": "team", "operator": "DoesNotExist"}]),
        ("team=a", [{"key": "team", "operator": "In", "values": ["a"]}]),
        ("team != a", [{"key": "team", "operator": "NotIn", "values": ["a"]}]),
        (
            "tier in (front, back),env notin (test)",
            [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "env", "operator": "NotIn", "values": ["test"]},
            ],
        ),
    ],
)
def test_labels_are_selected_as_with_kubectl(selector: str, rules: JSON) -> None:
    assert to_part("kubernetes", {"label_selector": selector}) == {"labelSelector": {"matchExpressions": rules}}


def test_fields_are_selected_as_with_kubectl() -> None:
    assert to_part("kubernetes", {"field_selector": "status.phase!=Running,spec.nodeName=a"}) == {
        "fieldSelector": {
            "matchExpressions": [
                {"field": "status.phase", "operator": "NotEquals", "value": "Running"},
                {"field": "spec.nodeName", "operator": "Equals", "value": "a"},
            ]
        }
    }


def test_what_is_written_out_stays_as_it_is() -> None:
    selector = {"matchLabels": {"team": "a"}}
    assert to_part("kubernetes", {"label_selector": selector, "namespace": {"labelSelector": selector}}) == {
        "labelSelector": selector,
        "namespace": {"labelSelector": selector},
    }


def test_namespaces_are_selected_by_name_or_by_label() -> None:
    rule = {"key": "team", "operator": "Exists"}
    assert to_part("kubernetes", {"namespaces": ["a"]}) == {"namespace": {"nameSelector": {"matchNames": ["a"]}}}
    assert to_part("kubernetesMutating", {"namespace_selector": "team"}) == {
        "namespace": {"labelSelector": {"matchExpressions": [rule]}}
    }


def test_reviews_do_not_select_namespaces_by_name() -> None:
    with pytest.raises(TypeError, match="did you mean 'namespace'"):
        to_part("kubernetesValidating", {"namespaces": ["a"]})
