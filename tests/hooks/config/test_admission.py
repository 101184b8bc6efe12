"""The API server's rules for webhooks, checked for validating and mutating bindings alike."""

from typing import Any

import pytest

from hookrunner.hooks.config.rules import problems

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def found(**keys: Any) -> list[str]:
    binding = {"name": "policy.example.com", "rules": [RULE]} | keys
    lines = [str(problem) for problem in problems({"configVersion": "v1", "kubernetesValidating": [binding]})]
    mutating = [str(problem) for problem in problems({"configVersion": "v1", "kubernetesMutating": [binding]})]
    assert [line.replace("Mutating", "Validating") for line in mutating] == lines
    return lines


@pytest.mark.parametrize(
    "name", ["policy", "example.com", "Policy.example.com", "a..b", "a.b.c.", "a_b.example.com", ""]
)
def test_a_webhook_needs_a_fully_qualified_name(name: str) -> None:
    (line,) = found(name=name)
    assert line.startswith(f"kubernetesValidating[0].name '{name}' is not a fully qualified name; write at least three")


def test_names_are_unique_within_a_hook() -> None:
    twins = [{"name": "a.b.c"}, {"name": "a.b.c"}]
    (line,) = problems({"configVersion": "v1", "kubernetesValidating": twins})
    assert str(line).startswith("kubernetesValidating has 2 bindings named 'a.b.c'; names must be unique")


@pytest.mark.parametrize(
    "resources",
    [["pods", "pods/status"], ["*"], ["*/*"], ["pods/*", "pods"], ["*", "*/scale"], ["pods/status", "pods/*"]],
)
def test_resources_that_do_not_overlap_are_fine(resources: list[str]) -> None:
    assert found(rules=[RULE | {"resources": resources}]) == []


@pytest.mark.parametrize(
    ("keys", "where", "what"),
    [
        ({"apiGroups": ["*", "apps"]}, "apiGroups", "'*' must stand alone"),
        ({"apiVersions": ["*", "v1"]}, "apiVersions", "'*' must stand alone"),
        ({"apiVersions": [""]}, "apiVersions", "an empty text names nothing"),
        ({"operations": ["*", "CREATE"]}, "operations", "'*' must stand alone"),
        ({"resources": [""]}, "resources", "an empty text names nothing"),
        ({"resources": ["*/*", "pods"]}, "resources", "'*/*' must stand alone"),
        ({"resources": ["*", "pods"]}, "resources", "'*' already means every resource without a subresource"),
        ({"resources": ["pods/*", "pods/status"]}, "resources", "'pods/*' already covers 'pods/status'"),
        ({"resources": ["*/status", "pods/status"]}, "resources", "'*/status' already covers 'pods/status'"),
    ],
)
def test_rules_that_overlap_themselves_are_refused(keys: dict[str, Any], where: str, what: str) -> None:
    (line,) = found(rules=[RULE | keys])
    assert line.startswith(f"kubernetesValidating[0].rules[0].{where} is invalid: {what}")


@pytest.mark.parametrize("seconds", [0, 31, -1])
def test_the_api_server_waits_one_to_thirty_seconds(seconds: int) -> None:
    (line,) = found(timeoutSeconds=seconds)
    assert line.startswith("kubernetesValidating[0].timeoutSeconds must be at ")


@pytest.mark.parametrize("where", ["labelSelector", "namespace"])
def test_selectors_are_checked_when_the_hook_is_loaded(where: str) -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
    (line,) = found(**{where: selector if where == "labelSelector" else {"labelSelector": selector}})
    assert "labelSelector is invalid: 'a': the operator Exists takes no values" in line
