"""Admission webhooks: what their answers do to a request. Level: control plane."""

import pytest

from tests.kubesandbox.contract.admission import HOOK, Case, Kind
from tests.kubesandbox.contract.api import until
from tests.kubesandbox.contract.objects import at
from tests.kubesandbox.contract.webhook import JSON, Decides, Raw, allowed, denied, patching, reviewed
from tests.tables import each

KINDS: list[Kind] = ["Mutating", "Validating"]
each_kind = pytest.mark.parametrize("kind", KINDS)
DENIED = f'admission webhook "{HOOK}" denied the request'


@each(
    ("said", "code", "reason", "message"),
    [
        ({}, 400, None, f"{DENIED} without explanation"),
        ({"message": "not today"}, 400, None, f"{DENIED}: not today"),
        ({"code": 409, "reason": "Conflict"}, 409, "Conflict", f"{DENIED}: Conflict"),
        ({"code": 200, "status": "Success"}, 400, None, f"{DENIED} without explanation"),
        ({"code": 700}, 700, None, f"{DENIED} without explanation"),
        ({"code": 403, "message": "no", "reason": "Forbidden"}, 403, "Forbidden", f"{DENIED}: no"),
    ],
)
def test_what_is_denied_is_refused(registered: Case, said: JSON, code: int, reason: str | None, message: str) -> None:
    registered.answers(denied(**said))
    answer = registered.create()
    assert (answer.status, answer.body.get("reason"), answer.body["message"]) == (code, reason, message)
    assert answer.body["code"] == code
    assert registered.send("GET", f"configmaps/{registered.name}").status == 404


def test_what_is_allowed_is_written(registered: Case) -> None:
    assert registered.create().status == 201
    assert len(registered.asked()) == 1


def test_details_of_a_refusal_are_handed_on(case: Case) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "too red", "field": "data.color"}
    details = {"name": "n", "group": "g", "kind": "k", "uid": "u", "causes": [cause], "retryAfterSeconds": 3}
    case.answers(denied(code=422, reason="Invalid", message="no", details=details))
    case.register("Validating", case.hook())
    assert case.create().body["details"] == details


def test_one_of_several_refusals_is_reported_and_all_webhooks_are_asked(case: Case) -> None:
    hooks = [case.hook(case.path(which), name=f"{which}.example.com") for which in ("one", "two")]
    for which in ("one", "two"):
        case.answers(denied(message=which), which)
    case.register("Validating", *hooks)
    assert case.create().body["message"].startswith("admission webhook ")
    assert sorted(case.order()) == ["one", "two"]


@each_kind
def test_warnings_are_handed_on_once(case: Case, kind: Kind) -> None:
    case.answers(allowed(warnings=["careful", 'a "word"', "careful", "two\nlines", ""]))
    case.register(kind, case.hook())
    assert case.create().warnings == ('299 - "careful"', '299 - "a \\"word\\""')


def test_warnings_come_with_a_refusal_too(case: Case) -> None:
    case.answers(lambda review: reviewed(review, {"allowed": False, "warnings": ["careful"]}))
    case.register("Validating", case.hook())
    assert case.create().warnings == ('299 - "careful"',)


def test_many_warnings_are_cut_short(case: Case) -> None:
    case.answers(allowed(warnings=[f"{number} {'x' * 300}" for number in range(10, 30)]))
    case.register("Validating", case.hook())
    told = case.create().warnings
    assert {len(each) for each in told} == {len('299 - ""') + 256}
    assert len(told) >= 16


# ── patches ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_patch_changes_what_is_written(case: Case) -> None:
    case.answers(patching({"op": "add", "path": "/data", "value": {"color": "red"}}))
    case.register("Mutating", case.hook())
    answer = case.create()
    assert (answer.status, answer.body["data"]) == (201, {"color": "red"})
    assert case.send("GET", f"configmaps/{case.name}").body["data"] == {"color": "red"}


def test_fields_that_a_patch_adds_have_no_manager(case: Case) -> None:
    case.answers(patching({"op": "add", "path": "/data", "value": {"color": "red"}}))
    case.register("Mutating", case.hook())
    (entry,) = case.create(case.map(size="3")).body["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:data"] == {".": {}, "f:size": {}}


def test_a_patch_of_an_update_counts(case: Case) -> None:
    case.create(case.map(size="3"))
    case.answers(patching({"op": "replace", "path": "/data/size", "value": "7"}))
    case.register("Mutating", case.hook())
    change = {"data": {"size": "5"}}
    answer = case.send("PATCH", f"configmaps/{case.name}", change, "application/merge-patch+json")
    assert answer.body["data"] == {"size": "7"}


def test_validating_webhooks_see_what_mutating_ones_have_made(case: Case) -> None:
    case.answers(patching({"op": "add", "path": "/data", "value": {"color": "red"}}), "first")
    case.register("Mutating", case.hook(case.path("first")))
    case.register("Validating", case.hook(case.path("second")))
    case.create()
    assert case.asked("second")[0]["object"]["data"] == {"color": "red"}


def test_a_mutating_webhook_sees_what_the_one_before_has_made(case: Case) -> None:
    for which in ("a", "b"):
        case.answers(patching({"op": "add", "path": f"/data/{which}", "value": which}), which)
    hooks = [case.hook(case.path(which), name=f"{which}.example.com") for which in ("a", "b")]
    case.register("Mutating", *hooks)
    assert case.create(case.map(x="y")).body["data"] == {"x": "y", "a": "a", "b": "b"}
    assert [one["object"]["data"] for one in case.asked("b")] == [{"x": "y", "a": "a"}]


def test_configurations_are_asked_in_the_order_of_their_names(case: Case) -> None:
    for which in ("c", "a", "b"):
        case.register("Mutating", case.hook(case.path(which)), name=f"{case.name}-{which}")
    case.create()
    assert case.order() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("policies", "order"),
    [
        (("Never", "Never"), ["a", "b"]),
        (("IfNeeded", "Never"), ["a", "b", "a"]),
        (("Never", "IfNeeded"), ["a", "b"]),
        (("IfNeeded", "IfNeeded"), ["a", "b", "a", "b"]),
    ],
)
def test_a_webhook_is_asked_again_if_another_one_has_changed_the_object(
    case: Case, policies: tuple[str, str], order: list[str]
) -> None:
    for which in ("a", "b"):
        case.answers(_appending(which), which)
    hooks = [
        case.hook(case.path(which), name=f"{which}.example.com", reinvocationPolicy=policy)
        for which, policy in zip("ab", policies, strict=True)
    ]
    case.register("Mutating", *hooks)
    assert case.create(case.map(order="")).body["data"]["order"] == "".join(order)
    assert case.order() == order


def _appending(letter: str) -> Decides:
    def answer(review: JSON) -> JSON | Raw:
        said = review["request"]["object"]["data"]["order"]
        return patching({"op": "replace", "path": "/data/order", "value": said + letter})(review)

    return answer


def test_no_webhook_is_asked_again_without_a_change(case: Case) -> None:
    hooks = [
        case.hook(case.path(which), name=f"{which}.example.com", reinvocationPolicy="IfNeeded") for which in ("a", "b")
    ]
    case.register("Mutating", *hooks)
    case.create()
    assert case.order() == ["a", "b"]


@pytest.fixture
def ignoring(case: Case) -> Case:
    """A case with a mutating webhook that may fail."""
    case.register("Mutating", case.hook(failurePolicy="Ignore"))
    return case


@each(
    ("patch", "code", "said"),
    [
        ([{"op": "add", "path": "/metadata/labels/a b", "value": "c"}], 422, 'metadata.labels: Invalid value: "a b"'),
        (
            [{"op": "replace", "path": "/metadata/namespace", "value": "another"}],
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            [{"op": "add", "path": "/data", "value": "red"}],
            500,
            "Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap.data of type",
        ),
        (
            [{"op": "remove", "path": "/data/size"}],
            500,
            'Internal error occurred: remove operation does not apply: doc is missing path: "/data/size": missing',
        ),
        (
            [{"op": "test", "path": "/kind", "value": "Pod"}],
            500,
            "Internal error occurred: testing value /kind failed: test failed",
        ),
        ([{"op": "frob", "path": "/kind"}], 500, "Internal error occurred: Unexpected kind: frob"),
    ],
)
def test_a_patch_that_breaks_the_object_is_refused(ignoring: Case, patch: list[JSON], code: int, said: str) -> None:
    ignoring.answers(patching(*patch))
    answer = ignoring.create()
    assert answer.status == code
    assert said in answer.body["message"]


def test_a_patch_may_name_and_add_what_is_unknown(case: Case) -> None:
    patch = [
        {"op": "replace", "path": "/metadata/name", "value": f"{case.name}-other"},
        {"op": "add", "path": "/colour", "value": "red"},
    ]
    case.answers(patching(*patch))
    case.register("Mutating", case.hook())
    answer = case.create()
    assert (answer.status, answer.body["metadata"]["name"]) == (201, f"{case.name}-other")
    assert "colour" not in answer.body


def test_managed_fields_that_a_patch_breaks_are_put_back(case: Case) -> None:
    broken = [{"manager": "x", "operation": "Nothing"}]
    case.answers(patching({"op": "add", "path": "/metadata/managedFields", "value": broken}))
    case.register("Mutating", case.hook())
    answer = case.create(case.map(a="b"))
    assert [entry["manager"] for entry in answer.body["metadata"]["managedFields"]] == ["contract"]
    assert ".metadata.managedFields was in an invalid state after admission" in answer.warnings[0]


def test_defaults_are_filled_in_after_a_patch(case: Case) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"], "operations": ["*"]}]
    case.answers(patching({"op": "add", "path": "/spec/ports/-", "value": {"name": "b", "port": 81}}))
    case.register("Mutating", case.hook(rules=rules))
    spec = {"ports": [{"name": "a", "port": 80}]}
    service = {"metadata": {"name": case.name, "labels": {"case": case.name}}, "spec": spec}
    made = case.send("POST", "services", service).body
    assert [(port["protocol"], port["targetPort"]) for port in made["spec"]["ports"]] == [("TCP", 80), ("TCP", 81)]


# ── dry run, configurations ───────────────────────────────────────────────────────────────────────────────────────────


@each_kind
@pytest.mark.parametrize("effects", ["None", "NoneOnDryRun"])
def test_a_dry_run_is_sent_to_webhooks_without_side_effects(case: Case, kind: Kind, effects: str) -> None:
    case.register(kind, case.hook(sideEffects=effects))
    assert case.create(query="?dryRun=All").status == 201
    assert [(one["dryRun"], one["options"]["dryRun"]) for one in case.asked()] == [(True, ["All"])]
    assert case.send("GET", f"configmaps/{case.name}").status == 404


def test_configurations_are_sent_to_no_webhook(case: Case) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    labels = {"case": case.name}
    case.answers(denied())
    path = case.register("Validating", case.hook(rules=[rule], namespaceSelector={}))
    case.api.patch(path, {"metadata": {"labels": labels}})
    assert case.api.request("DELETE", path).status == 200
    assert case.asked() == []


def test_a_webhook_that_is_gone_is_asked_no_more(case: Case) -> None:
    case.answers(denied())
    path = case.register("Validating", case.hook())
    assert case.create().status == 400
    case.api.delete(path)
    until(lambda: case.create().status == 201)


def test_a_configuration_is_taken_without_a_warning(case: Case) -> None:
    plural = "validatingwebhookconfigurations"
    body = {"metadata": {"name": case.name}, "webhooks": [case.hook()]}
    assert case.api.request("POST", at(plural) + "?dryRun=All", body).warnings == ()
