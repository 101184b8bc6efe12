"""Selectors as strings for the API server. Level: pure."""

from typing import Any

import pytest

from hookrunner.errors import BadSelector
from hookrunner.hooks.config.selectors import fields, labels
from tests.tables import each


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@each(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {}}, ""),
        ({"matchLabels": {"b": "2", "a": "1", "example.com/c": ""}}, "a=1,b=2,example.com/c="),
        ({"matchExpressions": [expression("k", "In", "b", "a", "b")]}, "k in (a,b)"),
        ({"matchExpressions": [expression("k", "NotIn", "a")]}, "k!=a"),
        ({"matchExpressions": [expression("k", "NotIn", "b", "a")]}, "k notin (a,b)"),
        ({"matchExpressions": [expression("k", "In", "")]}, "k="),
        ({"matchExpressions": [expression("k", "In", "", "a")]}, "k in (,a)"),
        ({"matchExpressions": [expression("k", "Exists"), expression("l", "DoesNotExist")]}, "!l,k"),
        ({"matchLabels": {"z": "1"}, "matchExpressions": [expression("a", "Exists")]}, "a,z=1"),
    ],
)
def test_label_selectors_are_written_in_one_order(selector: dict[str, Any], text: str) -> None:
    assert labels(selector) == text


@each(
    ("selector", "reason"),
    [
        ({"matchExpressions": [expression("k", "In")]}, "for the operator In values must be given"),
        ({"matchExpressions": [expression("k", "NotIn")]}, "for the operator NotIn values must be given"),
        ({"matchExpressions": [expression("k", "Exists", "a")]}, "takes no values"),
        ({"matchExpressions": [expression("k", "Like", "a")]}, "'k': not a valid label selector operator"),
        ({"matchLabels": {"": "a"}}, "'' is not a label key"),
        ({"matchLabels": {"-a": "a"}}, "'-a' is not a label key"),
        ({"matchLabels": {"a/b/c": "a"}}, "'a/b/c' is not a label key"),
        ({"matchLabels": {"UPPER.com/c": "a"}}, "is not a label key"),
        ({"matchLabels": {"a" * 64: "a"}}, "is not a label key"),
        ({"matchLabels": {"a": "b c"}}, "'a': not a label value"),
        ({"matchLabels": {"a": "b" * 64}}, "not a label value"),
    ],
)
def test_what_the_api_server_would_refuse_is_refused(selector: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadSelector, match=reason):
        labels(selector)


@each(("operator", "sign"), [("=", "="), ("==", "="), ("Equals", "="), ("!=", "!="), ("NotEquals", "!=")])
def test_field_selectors_know_two_comparisons(operator: str, sign: str) -> None:
    assert fields({"matchExpressions": [{"field": "a.b", "operator": operator, "value": "c"}]}) == f"a.b{sign}c"


def test_values_of_field_selectors_are_escaped() -> None:
    items = [{"field": "b", "operator": "=", "value": r"x,y=z\ "}, {"field": "a", "operator": "=", "value": ""}]
    assert fields({"matchExpressions": items}) == r"a=,b=x\,y\=z\\ "
    assert fields({"matchExpressions": []}) == ""
