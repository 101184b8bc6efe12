"""The API server's rules for webhooks, checked for validating and mutating bindings alike. Level: pure."""

from typing import Any

from hookrunner.hooks.config.rules import misnamed_webhooks, problems
from hookrunner.model.bindings import Admission, HookConfig
from tests.tables import each

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def problems_of(**keys: Any) -> list[str]:
    binding = {"name": "policy.example.com", "rules": [RULE]} | keys
    lines = [str(problem) for problem in problems({"configVersion": "v1", "kubernetesValidating": [binding]})]
    mutating = [str(problem) for problem in problems({"configVersion": "v1", "kubernetesMutating": [binding]})]
    assert [line.replace("Mutating", "Validating") for line in mutating] == lines
    return lines


@each("name", ["policy", "example.com", "Policy.example.com", "a..b", "a.b.c.", "a_b.example.com", ""])
def test_a_webhook_needs_a_fully_qualified_name(name: str) -> None:
    (line,) = problems_of(name=name)
    assert line.startswith(f"kubernetesValidating[0].name '{name}' is not a fully qualified name; write at least three")


@each(
    "resources",
    [["pods", "pods/status"], ["*"], ["*/*"], ["pods/*", "pods"], ["*", "*/scale"], ["pods/status", "pods/*"]],
)
def test_resources_that_do_not_overlap_are_fine(resources: list[str]) -> None:
    assert problems_of(rules=[RULE | {"resources": resources}]) == []


@each(
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
    (line,) = problems_of(rules=[RULE | keys])
    assert line.startswith(f"kubernetesValidating[0].rules[0].{where} is invalid: {what}")


@each("seconds", [0, 31, -1])
def test_the_api_server_waits_one_to_thirty_seconds(seconds: int) -> None:
    (line,) = problems_of(timeoutSeconds=seconds)
    assert line.startswith("kubernetesValidating[0].timeoutSeconds must be at ")


@each("where", ["labelSelector", "namespace"])
def test_selectors_are_checked_when_the_hook_is_loaded(where: str) -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
    (line,) = problems_of(**{where: selector if where == "labelSelector" else {"labelSelector": selector}})
    assert "labelSelector is invalid: 'a': the operator Exists takes no values" in line


@each(
    ("conditions", "problem"),
    [
        ([("a b", "true")], "[0].name 'a b' is not a name of letters"),
        ([("", "true")], "[0].name '' is not a name of letters"),
        ([("A/b", "true")], "[0].name 'A/b' is not a name of letters"),
        ([("a", "true"), ("a", "true")], "[1].name 'a' is the name of an earlier one"),
        ([("a", " ")], "[0].expression is empty"),
        ([(f"a{number}", "true") for number in range(65)], " has 65 items, and 64 are the most"),
    ],
)
def test_conditions_that_the_api_server_would_refuse_are_refused(
    conditions: list[tuple[str, str]], problem: str
) -> None:
    (line,) = problems_of(matchConditions=[{"name": name, "expression": text} for name, text in conditions])
    assert line.startswith(f"kubernetesValidating[0].matchConditions{problem}")


@each("name", ["a", "Not-a_lease.1", "example.com/Mine"])
def test_conditions_have_qualified_names(name: str) -> None:
    assert problems_of(matchConditions=[{"name": name, "expression": "true"}]) == []


def conversion(**keys: Any) -> list[str]:
    rules = [{"fromVersion": "v1", "toVersion": "v2"}]
    binding = {"name": "up", "crdName": "crontabs.example.com", "conversions": rules} | keys
    raw = {"configVersion": "v1", "kubernetesCustomResourceConversion": [binding]}
    return [str(problem) for problem in problems(raw)]


@each("name", ["crontabs", "CronTabs.example.com", "crontabs/v1", ""])
def test_a_conversion_names_a_definition(name: str) -> None:
    (line,) = conversion(crdName=name)
    assert f".crdName '{name}' is not the name of a CustomResourceDefinition; write PLURAL.GROUP" in line


def test_a_conversion_leads_from_one_version_to_another() -> None:
    assert conversion() == []
    (line,) = conversion(conversions=[{"fromVersion": "v1", "toVersion": "v1"}])
    assert ".conversions[0] leads from 'v1' to itself" in line


@each(("addon", "problems_count"), [("", 0), ("dns", 0), ("my_dns", 1), ("d" * 250, 1)])
def test_with_its_modules_name_before_it_a_webhook_still_needs_a_name(addon: str, problems_count: int) -> None:
    config = HookConfig("v1", mutating=(Admission("policy.example.com"),))
    texts = [*misnamed_webhooks(config, addon)]
    assert len(texts) == problems_count
    assert all(f"'{addon}.policy.example.com'" in text for text in texts)
