"""Which requests a webhook is asked about: rules, scopes, selectors, conditions, equivalent versions.

Level: control plane."""

from typing import Any

import pytest

from tests.fakes.objects import definition
from tests.kubesandbox.contract.admission import CONFIG_MAPS, Case
from tests.kubesandbox.contract.objects import at, config_map
from tests.kubesandbox.contract.webhook import JSON, patching
from tests.tables import each

MERGE = "application/merge-patch+json"


ASKED: list[JSON] = [
    {"operations": ["CREATE"]},
    {"resources": ["*"]},
    {"resources": ["*/*"]},
    {"resources": ["configmaps/*"]},
    {"apiGroups": ["*"]},
    {"apiVersions": ["*"]},
    {"scope": "Namespaced"},
]
NOT_ASKED: list[JSON] = [
    {"operations": ["UPDATE", "DELETE"]},
    {"resources": ["configmaps/status", "secrets"]},
    {"resources": ["*/status"]},
    {"apiGroups": ["apps"]},
    {"apiVersions": ["v2"]},
    {"scope": "Cluster"},
]


def with_rules(rules: list[JSON]) -> list[JSON]:
    return [{"rules": [CONFIG_MAPS | rule]} for rule in rules]


def test_a_rule_says_what_is_asked_about(case: Case) -> None:
    rows = with_rules(ASKED + NOT_ASKED)
    case.register_rows(rows)
    case.create()
    assert case.asked_rows(rows) == with_rules(ASKED)


def test_what_is_below_an_object_is_a_resource_of_its_own(case: Case) -> None:
    spec = {"containers": [{"name": "a", "image": "a"}], "schedulerName": "unknown-scheduler"}
    case.send("POST", "pods", {"metadata": {"name": case.name, "labels": {"case": case.name}}, "spec": spec})
    resources = ["pods/status", "pods/*", "*/status", "*/*", "pods", "*"]
    rows = with_rules([{"resources": [resource]} for resource in resources])
    case.register_rows(rows)
    case.send("PATCH", f"pods/{case.name}/status", {"status": {"message": "x"}}, MERGE)
    assert case.asked_rows(rows) == rows[:4]


def test_a_namespace_is_of_the_cluster(case: Case) -> None:
    rules = with_rules([{"resources": ["namespaces"], "scope": scope} for scope in ("Cluster", "*", "Namespaced")])
    rows = [rule | {"namespaceSelector": {}} for rule in rules]
    case.register_rows(rows)
    body = {"metadata": {"name": f"{case.name}-ns", "labels": {"case": case.name}}}
    case.api.request("POST", at("namespaces") + "?dryRun=All", body)
    assert case.asked_rows(rows) == rows[:2]


def test_what_is_in_no_namespace_is_not_kept_out_by_a_selector(case: Case) -> None:
    rule = CONFIG_MAPS | {"resources": ["nodes"]}
    case.register("Validating", case.hook(rules=[rule]))
    body = {"metadata": {"name": case.name, "labels": {"case": case.name}}}
    case.api.request("POST", at("nodes") + "?dryRun=All", body)
    (asked,) = case.asked()
    assert "namespace" not in asked


def test_namespaces_are_selected_by_their_labels(case: Case) -> None:
    selecting: list[JSON] = [
        {},
        {"matchLabels": {"team": "a"}},
        {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    ]
    others: list[JSON] = [
        {"matchLabels": {"team": "b"}},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
    ]
    case.api.patch(at("namespaces", name=case.ns), {"metadata": {"labels": {"team": "a"}}})
    rows = [{"namespaceSelector": selector} for selector in selecting + others]
    case.register_rows(rows)
    case.create()
    assert case.asked_rows(rows) == rows[: len(selecting)]


@pytest.mark.parametrize(("before", "after", "asked"), [("x", None, 1), (None, "x", 1), ("x", "x", 1), (None, None, 0)])
def test_objects_are_selected_as_they_were_or_as_they_are_to_be(
    case: Case, before: str | None, after: str | None, asked: int
) -> None:
    case.create(config_map(case.name, labels={"mark": f"{case.name}"} if before else {}))
    selector = {"matchLabels": {"mark": case.name}}
    case.register("Validating", case.hook(objectSelector=selector))
    change = {"metadata": {"labels": {"mark": case.name if after else None}}, "data": {"a": "b"}}
    case.send("PATCH", f"configmaps/{case.name}", change, MERGE)
    assert len(case.asked()) == asked


def test_a_label_from_a_webhook_selects_for_the_next(case: Case) -> None:
    case.answers(patching({"op": "add", "path": "/metadata/labels/mark", "value": "x"}), "first")
    selector = {"matchLabels": {"case": case.name, "mark": "x"}}
    case.register(
        "Mutating",
        case.hook(case.path("early"), name="early.example.com", objectSelector=selector),
        case.hook(case.path("first"), name="first.example.com"),
        case.hook(case.path("late"), name="late.example.com", objectSelector=selector),
    )
    case.create()
    assert case.order() == ["first", "late"]


# ── conditions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def conditions(*expressions: str) -> list[JSON]:
    return [{"name": f"c{number}", "expression": text} for number, text in enumerate(expressions)]


TRUE = [
    ["object.data.color == 'red'"],
    ["request.operation == 'CREATE' && oldObject == null && request.resource.resource == 'configmaps'"],
    ["!request.dryRun && request.namespace == object.metadata.namespace"],
]
FALSE = [["object.data.color == 'green'"], ["true", "false"], ["object.data.size == '3'", "false"]]


def test_conditions_decide_whether_to_ask(case: Case) -> None:
    rows = [{"matchConditions": conditions(*expressions)} for expressions in TRUE + FALSE]
    case.register_rows(rows)
    assert case.create(case.map(color="red")).status == 201
    assert case.asked_rows(rows) == rows[: len(TRUE)]


def test_a_condition_of_a_deletion_has_the_old_object_only(case: Case) -> None:
    case.create()
    expression = f"object == null && oldObject.metadata.name == '{case.name}'"
    case.register("Validating", case.hook(matchConditions=conditions(expression)))
    case.send("DELETE", f"configmaps/{case.name}")
    assert len(case.asked()) == 1


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_a_condition_without_a_value_fails_the_request(case: Case, kind: Any) -> None:
    wrong = ["object.data.size == '3'", "object.data.weight == '3'"]
    case.register(kind, case.hook(matchConditions=conditions(*wrong)))
    refused = case.create(case.map(color="red"))
    said = ["size", "weight"]
    told = ", ".join(f"expression 'object.data.{key} == '3'' resulted in error: no such key: {key}" for key in said)
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.body["message"] == f'configmaps "{case.name}" is forbidden: [{told}]'


def test_a_condition_without_a_value_may_be_ignored(case: Case) -> None:
    wrong = conditions("object.data.size == '3'")
    case.register("Validating", case.hook(matchConditions=wrong, failurePolicy="Ignore"))
    assert case.create(case.map(color="red")).status == 201
    assert case.asked() == []


@each("expression", ["object.", "1", "foo"])
def test_a_condition_that_cannot_be_read_is_refused(case: Case, expression: str) -> None:
    body = {"metadata": {"name": case.name}, "webhooks": [case.hook(matchConditions=conditions(expression))]}
    answer = case.api.request("POST", at("validatingwebhookconfigurations") + "?dryRun=All", body)
    (cause,) = answer.body["details"]["causes"]
    assert (answer.status, cause["field"]) == (422, "webhooks[0].matchConditions[0].expression")
    assert cause["message"].startswith(f'Invalid value: "{expression}": ')


# ── versions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


VERSIONS = definition("", "", "v1", "v2", "v3")["spec"]["versions"]


EQUIVALENT: list[tuple[str, list[str], str]] = [
    ("Equivalent", ["v1"], "v1"),
    ("Equivalent", ["v3", "v2"], "v2"),
    ("Equivalent", ["*"], "v2"),
    ("Exact", ["v2"], "v2"),
    ("Exact", ["v1", "v3"], "none"),
]


def test_a_request_in_another_version_is_sent_in_the_version_of_the_rule(case: Case) -> None:
    kind = case.api.kind("toys", versions=VERSIONS)
    rule = {"apiGroups": [kind.group], "resources": ["toys"], "operations": ["*"]}
    rows = [{"rules": [rule | {"apiVersions": versions}], "matchPolicy": policy} for policy, versions, _ in EQUIVALENT]
    case.register_rows(rows)
    toy = kind.object(case.name, version="v2", spec={"a": 1})
    toy["metadata"]["labels"] = {"case": case.name}
    case.api.post(kind.path(case.ns, version="v2"), toy)
    assert case.asked_rows(rows) == rows[:4]
    for number, (_, _, told) in enumerate(EQUIVALENT[:4]):
        (one,) = case.asked(str(number))
        assert one["object"]["apiVersion"] == f"{kind.group}/{told}"
        assert (one["kind"]["version"], one["resource"]["version"]) == (told, told)
        assert (one["requestKind"]["version"], one["requestResource"]["version"]) == ("v2", "v2")


def test_a_patch_in_another_version_counts(case: Case) -> None:
    kind = case.api.kind("toys", versions=VERSIONS)
    rule = {"apiGroups": [kind.group], "apiVersions": ["v1"], "resources": ["toys"], "operations": ["*"]}
    case.answers(patching({"op": "add", "path": "/spec/b", "value": 2}))
    case.register("Mutating", case.hook(rules=[rule]))
    toy = kind.object(case.name, version="v2", spec={"a": 1})
    toy["metadata"]["labels"] = {"case": case.name}
    made = case.api.post(kind.path(case.ns, version="v2"), toy)
    assert (made["apiVersion"], made["spec"]) == (f"{kind.group}/v2", {"a": 1, "b": 2})


def test_what_a_patch_adds_to_a_custom_object_must_fit_its_schema(case: Case) -> None:
    properties = {"color": {"type": "string", "default": "red"}, "size": {"type": "integer", "maximum": 3}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    kind = case.api.kind("cars", schema=schema)
    rule = {"apiGroups": [kind.group], "apiVersions": ["v1"], "resources": ["cars"], "operations": ["*"]}
    case.answers(lambda review: patching(*review["request"]["object"]["patch"])(review))
    case.answers(patching({"op": "replace", "path": "/spec", "value": {"size": 3, "unknown": 1}}))
    case.register("Mutating", case.hook(rules=[rule]))
    car = kind.object(case.name, spec={})
    car["metadata"]["labels"] = {"case": case.name}
    assert case.api.post(kind.path(case.ns), car)["spec"] == {"size": 3, "color": "red"}
    case.answers(patching({"op": "replace", "path": "/spec/size", "value": 4}))
    refused = case.api.request("PATCH", kind.path(case.ns, case.name), {"spec": {"size": 2}}, content_type=MERGE)
    assert (refused.status, refused.body["details"]["causes"][0]["field"]) == (422, "spec.size")
