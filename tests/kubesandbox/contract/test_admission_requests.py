"""What webhooks are asked: the review of each kind of request. Level: control plane."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.kubesandbox.contract.admission import Case
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import at, deployment, pod
from tests.kubesandbox.contract.webhook import JSON, denied, patching, reviewed

EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
MERGE = "application/merge-patch+json"


@pytest.fixture
def both(case: Case) -> Case:
    """A case with a mutating and a validating webhook for everything."""
    case.register("Mutating", case.hook(case.path("m"), rules=[EVERYTHING]))
    case.register("Validating", case.hook(case.path("v"), rules=[EVERYTHING]))
    return case


def reviews(case: Case) -> tuple[JSON, JSON]:
    """The one request to the mutating webhook, and that to the validating one."""
    (first,), (second,) = case.asked("m"), case.asked("v")
    return first, second


def without(obj: JSON, *keys: str) -> JSON:
    return {key: value for key, value in obj.items() if key not in keys}


def test_a_creation(both: Case) -> None:
    made = both.create(both.map(a="b"), "?fieldManager=me&fieldValidation=Strict").body
    mutating, validating = reviews(both)
    group = {"group": "", "version": "v1"}
    assert without(mutating, "uid", "userInfo", "object") == {
        "kind": {**group, "kind": "ConfigMap"},
        "resource": {**group, "resource": "configmaps"},
        "requestKind": {**group, "kind": "ConfigMap"},
        "requestResource": {**group, "resource": "configmaps"},
        "name": both.name,
        "namespace": both.ns,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "fieldValidation": "Strict",
        },
    }
    first, second = mutating["object"], validating["object"]
    assert without(first, "metadata") == {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}
    assert set(first["metadata"]) == {"name", "namespace", "labels", "managedFields"}
    assert without(made["metadata"], "resourceVersion") == second["metadata"]
    assert mutating["uid"] != validating["uid"]


def test_a_review_says_what_it_is(both: Case) -> None:
    both.create()
    asked = next(one for one in both.webhook.asked if one.path.startswith(both.path("v")))
    assert asked.path == both.path("v") + "?timeout=10s"
    assert (asked.review["kind"], asked.review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert asked.headers["Content-Type"] == "application/json"
    assert set(asked.review) == {"kind", "apiVersion", "request"}


def test_the_user_is_the_one_who_asks(both: Case) -> None:
    headers = {"Impersonate-User": "jane", "Impersonate-Group": "system:masters", "Impersonate-Extra-Reason": "why"}
    both.api.request("POST", at("configmaps", both.ns), both.map(), headers=headers)
    assert reviews(both)[0]["userInfo"] == {
        "username": "jane",
        "groups": ["system:masters", "system:authenticated"],
        "extra": {"reason": ["why"]},
    }


def test_a_generated_name_comes_after_mutation(both: Case) -> None:
    obj = both.map()
    obj["metadata"] = {"generateName": "gen-", "labels": obj["metadata"]["labels"]}
    made = both.create(obj).body
    mutating, validating = reviews(both)
    assert "name" not in mutating
    assert "name" not in mutating["object"]["metadata"]
    assert validating["name"] == validating["object"]["metadata"]["name"] == made["metadata"]["name"]


def test_an_update(both: Case) -> None:
    before = both.create(both.map(a="b")).body
    both.webhook.asked.clear()
    both.send("PUT", f"configmaps/{both.name}", both.map(a="c"))
    mutating, validating = reviews(both)
    assert (mutating["operation"], mutating["options"]["kind"]) == ("UPDATE", "UpdateOptions")
    assert mutating["oldObject"] == validating["oldObject"] == before
    assert "uid" not in mutating["object"]["metadata"]
    assert validating["object"]["metadata"]["uid"] == before["metadata"]["uid"]
    assert validating["object"]["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_a_patch_is_an_update(both: Case) -> None:
    before = both.create(both.map(a="b")).body
    both.webhook.asked.clear()
    both.send("PATCH", f"configmaps/{both.name}?fieldManager=me", {"data": {"a": "c"}}, MERGE)
    mutating, _ = reviews(both)
    options = {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}
    assert (mutating["operation"], mutating["options"]) == ("UPDATE", options)
    assert mutating["object"]["metadata"]["uid"] == before["metadata"]["uid"]
    assert mutating["object"]["data"] == {"a": "c"}


def test_a_patch_that_changes_nothing_is_asked_about_too(both: Case) -> None:
    before = both.create(both.map(a="b")).body
    both.webhook.asked.clear()
    after = both.send("PATCH", f"configmaps/{both.name}", {"data": {"a": "b"}}, MERGE).body
    assert both.order() == ["m", "v"]
    assert after == before


def test_a_stale_update_is_sent_to_mutating_webhooks_only(both: Case) -> None:
    both.create()
    both.webhook.asked.clear()
    stale = both.map()
    stale["metadata"]["resourceVersion"] = "1"
    assert both.send("PUT", f"configmaps/{both.name}", stale).status == 409
    assert both.order() == ["m"]


def test_an_object_that_is_there_already_is_refused_last(both: Case) -> None:
    both.create()
    both.webhook.asked.clear()
    assert both.create().status == 409
    assert both.order() == ["m", "v"]


def test_an_invalid_object_is_not_sent_to_validating_webhooks(both: Case) -> None:
    obj = both.map()
    obj["metadata"]["labels"]["a b"] = "c"
    assert both.create(obj).status == 422
    assert both.order() == ["m"]


def test_a_request_in_a_missing_namespace_is_sent_to_no_webhook(case: Case) -> None:
    case.register("Validating", case.hook(namespaceSelector={}))
    assert case.api.request("POST", at("configmaps", f"{case.ns}-none"), case.map()).status == 404
    assert case.asked() == []


def test_an_apply_creates(both: Case) -> None:
    both.api.apply(at("configmaps", both.ns, both.name), both.map(a="b"))
    mutating, _ = reviews(both)
    options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "tester"}
    assert (mutating["operation"], mutating["options"], mutating["oldObject"]) == ("CREATE", options, None)


def test_an_apply_updates(both: Case) -> None:
    both.api.apply(at("configmaps", both.ns, both.name), both.map(a="b"))
    both.webhook.asked.clear()
    both.api.apply(at("configmaps", both.ns, both.name), both.map(a="c"))
    mutating, _ = reviews(both)
    assert (mutating["operation"], mutating["options"]["kind"]) == ("UPDATE", "UpdateOptions")
    assert (mutating["oldObject"]["data"], mutating["object"]["data"]) == ({"a": "b"}, {"a": "c"})


def test_a_put_that_creates_is_a_creation(both: Case) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{both.ns}/leases/{both.name}"
    lease = {"metadata": {"name": both.name, "labels": {"case": both.name}}, "spec": {"holderIdentity": "a"}}
    assert both.api.request("PUT", path, lease).status == 201
    mutating, _ = reviews(both)
    assert (mutating["operation"], mutating["options"]["kind"]) == ("CREATE", "CreateOptions")


def test_a_deletion(both: Case) -> None:
    there = both.create(both.map(a="b")).body
    both.webhook.asked.clear()
    both.send("DELETE", f"configmaps/{both.name}?propagationPolicy=Foreground", {"gracePeriodSeconds": 5})
    mutating, validating = reviews(both)
    options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 5}
    for asked in (mutating, validating):
        assert (asked["operation"], asked["name"]) == ("DELETE", both.name)
        assert (asked["object"], asked["oldObject"]) == (None, there)
        assert asked["options"].items() >= options.items()


def test_a_deletion_that_waits_is_asked_about_again_unless_it_is_a_pods_grace(case: Case) -> None:
    """Of a Pod only when the grace becomes shorter."""
    meta = {"name": case.name, "labels": {"case": case.name}, "finalizers": ["example.com/hold"]}
    # A node of its own: see test_evictions.py.
    spec = {"nodeName": f"no-node-{case.name}", "containers": [{"name": "a", "image": "a"}]}
    case.send("POST", "pods", {"metadata": meta, "spec": spec})
    case.send("POST", "configmaps", {"metadata": meta})
    rule = EVERYTHING | {"resources": ["pods", "configmaps"], "operations": ["DELETE"]}
    case.register("Validating", case.hook(rules=[rule]))
    for path in ("pods", "configmaps"):
        for seconds in (20, 20, 25, 5):
            case.send("DELETE", f"{path}/{case.name}?gracePeriodSeconds={seconds}")
        case.send("PATCH", f"{path}/{case.name}", {"metadata": {"finalizers": None}}, MERGE)
    assert [one["resource"]["resource"] for one in case.asked()] == ["pods"] * 2 + ["configmaps"] * 4
    assert [one["options"]["gracePeriodSeconds"] for one in case.asked()] == [20, 5, 20, 20, 25, 5]


def test_a_deletion_may_be_denied(case: Case) -> None:
    case.create()
    case.answers(denied(message="keep it"))
    case.register("Validating", case.hook())
    assert case.send("DELETE", f"configmaps/{case.name}").body["message"].endswith("denied the request: keep it")
    assert case.send("GET", f"configmaps/{case.name}").status == 200


def test_a_deletion_cannot_be_patched(case: Case) -> None:
    case.create()
    case.answers(patching({"op": "add", "path": "/data", "value": {}}))
    case.register("Mutating", case.hook())
    refused = case.send("DELETE", f"configmaps/{case.name}")
    assert refused.status == 500
    assert "attempted to modify the object, which is not supported for this operation" in refused.body["message"]


def test_a_deletion_of_many_is_a_review_for_each(both: Case) -> None:
    names = sorted(f"{both.name}-{number}" for number in range(3))
    for name in names:
        both.create(both.map(name))
    both.webhook.asked.clear()
    both.send("DELETE", f"configmaps?labelSelector=case={both.name}")
    asked = both.asked("v")
    assert [(one["operation"], one["oldObject"]["metadata"]["name"]) for one in asked] == [
        ("DELETE", name) for name in names
    ]
    assert all("name" not in one for one in asked)


def test_a_refusal_ends_a_deletion_of_many(case: Case) -> None:
    names = sorted(f"{case.name}-{number}" for number in range(3))
    for name in names:
        case.create(case.map(name))
    keep = {"matchExpressions": [{"key": "keep", "operator": "Exists"}]}
    case.send("PATCH", f"configmaps/{names[1]}", {"metadata": {"labels": {"keep": ""}}}, MERGE)
    case.answers(denied())
    case.register("Validating", case.hook(objectSelector=keep, rules=[EVERYTHING | {"operations": ["DELETE"]}]))
    assert case.send("DELETE", f"configmaps?labelSelector=case={case.name}").status == 400
    left = case.send("GET", f"configmaps?labelSelector=case={case.name}").body["items"]
    assert [one["metadata"]["name"] for one in left] == names[1:]


def test_webhooks_see_what_the_servers_own_admission_adds(both: Case) -> None:
    labels = {"case": both.name}
    both.send("POST", "pods", pod(both.name, labels=labels))
    spec = both.asked("m")[0]["object"]["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [one["key"].partition("/")[2] for one in spec["tolerations"]] == ["not-ready", "unreachable"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": both.name, "labels": labels}
    both.send("POST", "persistentvolumeclaims", {"metadata": meta, "spec": claim})
    (asked,) = [one for one in both.asked("m") if one["kind"]["kind"] == "PersistentVolumeClaim"]
    assert asked["object"]["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_a_status(both: Case) -> None:
    made = both.send("POST", "pods", pod(both.name, labels={"case": both.name})).body
    both.webhook.asked.clear()
    both.send("PATCH", f"pods/{both.name}/status", {"status": {"message": "x"}}, MERGE)
    mutating, validating = reviews(both)
    assert mutating["subResource"] == mutating["requestSubResource"] == "status"
    assert (mutating["kind"]["kind"], mutating["resource"]["resource"]) == ("Pod", "pods")
    assert validating["object"]["status"]["message"] == "x"
    assert validating["oldObject"]["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_scale(both: Case) -> None:
    path = at("deployments", both.ns, both.name)
    there = deployment(both.name)
    there["spec"]["paused"] = True
    both.api.post(at("deployments", both.ns), there)
    case = both.hook(both.path("scale"), rules=[EVERYTHING | {"resources": ["deployments/scale"]}], objectSelector={})
    both.register("Mutating", case)
    both.api.patch(f"{path}/scale", {"spec": {"replicas": 3}})
    # A server repeats the patch, with its review, if the controller of Deployments has written the status meanwhile.
    *_, asked = both.asked("scale")
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert asked["resource"] == {"group": "apps", "version": "v1", "resource": "deployments"}
    assert (asked["operation"], asked["subResource"], asked["name"]) == ("UPDATE", "scale", both.name)
    assert (asked["oldObject"]["spec"], asked["object"]["spec"]) == ({}, {"replicas": 3})
    assert asked["object"]["kind"] == "Scale"


def test_a_scale_may_be_patched(case: Case) -> None:
    path = at("deployments", case.ns, case.name)
    there = deployment(case.name)
    there["spec"]["paused"] = True
    case.api.post(at("deployments", case.ns), there)
    case.answers(patching({"op": "replace", "path": "/spec/replicas", "value": 2}))
    rule = EVERYTHING | {"resources": ["deployments/scale"]}
    case.register("Mutating", case.hook(rules=[rule], objectSelector={}))
    assert case.api.patch(f"{path}/scale", {"spec": {"replicas": 5}})["spec"] == {"replicas": 2}
    assert case.api.get(path)["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("below", "group", "content"),
    [
        ("eviction", "policy", {"apiVersion": "policy/v1", "kind": "Eviction"}),
        ("binding", "", {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "no-such-node"}}),
    ],
)
def test_what_is_created_below_a_pod(case: Case, below: str, group: str, content: JSON) -> None:
    case.send("POST", "pods", pod(case.name, labels={"case": case.name}))
    rule = EVERYTHING | {"resources": ["pods/*"], "operations": ["CREATE", "DELETE"]}
    case.register("Validating", case.hook(rules=[rule], objectSelector={}))
    case.send("POST", f"pods/{case.name}/{below}", {**content, "metadata": {"name": case.name}})
    (asked,) = [one for one in case.asked() if one.get("subResource") == below]
    assert asked["kind"] == {"group": group, "version": "v1", "kind": content["kind"]}
    assert (asked["operation"], asked["name"], asked["oldObject"]) == ("CREATE", case.name, None)
    assert asked["object"]["metadata"]["name"] == case.name


def test_an_eviction_may_be_denied(case: Case) -> None:
    case.send("POST", "pods", pod(case.name, labels={"case": case.name}))
    case.answers(denied())
    rule = EVERYTHING | {"resources": ["pods/eviction"]}
    case.register("Validating", case.hook(rules=[rule], objectSelector={}))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": case.name}}
    assert case.send("POST", f"pods/{case.name}/eviction", body).status == 400
    assert case.send("GET", f"pods/{case.name}").status == 200


def test_a_namespace_is_in_itself(case: Case) -> None:
    labels = {"case": case.name}
    name = f"{case.ns}-{case.name}"
    rule = EVERYTHING | {"resources": ["namespaces"]}
    case.register("Validating", case.hook(rules=[rule], namespaceSelector={"matchLabels": labels}))
    case.api.request("POST", at("namespaces") + "?dryRun=All", {"metadata": {"name": name, "labels": labels}})
    (asked,) = case.asked()
    assert (asked["name"], asked["namespace"]) == (name, name)


def test_another_client_may_write_while_a_webhook_thinks(case: Case) -> None:
    """The patch begins anew on what the other has written."""
    case.create(case.map(a="1"))
    path, written = at("configmaps", case.ns, case.name), list[Any]()

    def slow(review: JSON) -> JSON:
        if not written:
            written.append("soon")
            with closing(Api(case.api.name, case.api.kubeconfig, Path(), lambda: None)) as other:
                written.append(other.patch(path, {"data": {"other": "2"}}))
        return reviewed(review, {"allowed": True})

    case.answers(slow)
    case.register("Validating", case.hook())
    answer = case.send("PATCH", f"configmaps/{case.name}", {"data": {"mine": "3"}}, MERGE)
    assert answer.body["data"] == {"a": "1", "other": "2", "mine": "3"}
    assert [sorted(one["object"]["data"]) for one in case.asked()] == [
        ["a", "mine"],
        ["a", "other"],
        ["a", "mine", "other"],
    ]
