"""Definitions whose objects a webhook converts: what is stored, what is shown. Level: control plane."""

from tests.kubesandbox.contract.admission import Case
from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.conversions import Convertible, converting, define, version
from tests.kubesandbox.contract.objects import at
from tests.kubesandbox.contract.webhook import JSON, Webhook, patching

# ── writing and reading ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_object_is_stored_in_the_storage_version_and_shown_in_any(cats: Convertible, name: str) -> None:
    made = cats.create(name, "v2", spec={"a": 1})
    assert (made["apiVersion"], made["spec"]) == (f"{cats.kind.group}/v2", {"a": 1, "via": "v1,v2"})
    assert cats.get(name, "v1")["spec"] == {"a": 1, "via": "v1"}
    assert cats.get(name, "v3")["spec"] == {"a": 1, "via": "v1,v3"}


def test_what_is_stored_as_it_is_asked_for_is_not_converted(cats: Convertible, name: str) -> None:
    made = cats.create(name, "v1", spec={"a": 1})
    assert made["spec"] == cats.get(name, "v1")["spec"] == {"a": 1}
    assert cats.asked("v1", name) == []


def test_a_review_says_what_it_is(cats: Convertible, name: str) -> None:
    made = cats.create(name, "v1", spec={"a": 1})
    cats.get(name, "v2")
    asked = next(one for one in cats.webhook.asked if one.path.startswith(cats.path + "?"))
    assert asked.path == f"{cats.path}?timeout=30s"
    assert (asked.review["kind"], asked.review["apiVersion"]) == ("ConversionReview", "apiextensions.k8s.io/v1")
    assert asked.headers["User-Agent"] == "kube-apiserver-admission"
    request = cats.asked("v2", name)[0]
    assert set(request) == {"uid", "desiredAPIVersion", "objects"}
    assert request["desiredAPIVersion"] == f"{cats.kind.group}/v2"
    (sent,) = request["objects"]
    assert (sent["spec"], sent["metadata"]["uid"]) == (made["spec"], made["metadata"]["uid"])


def test_an_update_in_another_version_is_stored_in_the_storage_version(cats: Convertible, name: str) -> None:
    cats.create(name, "v1", spec={"a": 1})
    changed = cats.api.patch(cats.at(name, "v3"), {"spec": {"b": 2}})
    assert (changed["apiVersion"], changed["spec"]) == (
        f"{cats.kind.group}/v3",
        {"a": 1, "b": 2, "via": "v3,v1,v3"},
    )
    assert cats.get(name, "v1")["spec"] == {"a": 1, "b": 2, "via": "v3,v1"}


def test_a_put_in_another_version(cats: Convertible, name: str) -> None:
    cats.create(name, "v1")
    there = cats.get(name, "v2")
    there["spec"] = {"c": 3}
    assert cats.api.put(cats.at(name), there)["spec"] == {"c": 3, "via": "v1,v2"}


def test_an_apply_in_another_version(cats: Convertible, name: str) -> None:
    applied = cats.api.apply(cats.at(name), cats.kind.object(name, version="v2", spec={"a": 1})).body
    assert applied["spec"] == {"a": 1, "via": "v1,v2"}
    again = cats.api.apply(cats.at(name), cats.kind.object(name, version="v2", spec={"a": 2}), force=True).body
    assert again["spec"] == {"a": 2, "via": "v1,v2,v1,v2"}


def test_a_status_and_a_scale_in_another_version(cats: Convertible, name: str) -> None:
    cats.create(name, "v1", spec={"replicas": 1})
    cats.api.patch(cats.at(name) + "/status", {"status": {"replicas": 1}})
    assert cats.get(name, "v1")["status"] == {"replicas": 1}
    assert cats.api.get(cats.at(name, "v3") + "/scale")["spec"] == {"replicas": 1}
    assert cats.api.patch(cats.at(name, "v3") + "/scale", {"spec": {"replicas": 4}})["spec"] == {"replicas": 4}
    assert cats.get(name, "v1")["spec"]["replicas"] == 4


def test_a_deletion_in_another_version(cats: Convertible, name: str) -> None:
    cats.create(name, "v1")
    cats.api.delete(cats.at(name, "v3"))
    assert cats.api.request("GET", cats.at(name, "v1")).status == 404


def test_a_deletion_that_has_to_wait_is_stored_in_the_storage_version(cats: Convertible, name: str) -> None:
    cats.create(name, "v1")
    cats.api.patch(cats.at(name, "v1"), {"metadata": {"finalizers": ["example.com/hold"]}})
    assert cats.api.delete(cats.at(name, "v2"))["metadata"]["deletionTimestamp"]
    assert cats.get(name, "v1")["apiVersion"].endswith("/v1")
    cats.api.patch(cats.at(name, "v3"), {"metadata": {"finalizers": None}})
    assert cats.api.request("GET", cats.at(name, "v1")).status == 404


def test_a_dry_run_converts_and_stores_nothing(cats: Convertible, name: str) -> None:
    body = cats.kind.object(name, version="v2", spec={})
    assert cats.api.request("POST", cats.at() + "?dryRun=All", body).status == 201
    assert cats.api.request("GET", cats.at(name, "v1")).status == 404


def test_a_list_of_five_hundred(api: Api, webhook: Webhook) -> None:
    ns = api.namespace()
    made = define(api, ns, webhook, [version("v1", stored=True), version("v2")])
    cats = next(made)
    for number in range(500):
        cats.create(f"cat-{number:03}", "v1")
    webhook.asked.clear()
    items = api.get(cats.at(version="v2"))["items"]
    assert [(one["metadata"]["name"], one["apiVersion"][-2:], one["spec"]) for one in items] == [
        (f"cat-{number:03}", "v2", {"via": "v2"}) for number in range(500)
    ]
    if api.name == "sandbox":  # the real one asks for each object as it comes into its cache
        assert [len(one["objects"]) for one in cats.asked("v2")] == [500]
        assert len(api.get(cats.at(version="v2"))["items"]) == 500
        assert len(cats.asked("v2")) == 1
    next(made, None)


def test_pages_and_selectors_see_the_version_that_is_asked_for(cats: Convertible, name: str) -> None:
    def labelled(obj: JSON, wanted: str) -> None:
        obj["metadata"].setdefault("labels", {})["seen"] = f"{name}-{wanted}"

    cats.answers(converting(labelled))
    cats.create(name, "v1")
    assert cats.api.get(cats.at(version="v1") + f"?labelSelector=seen={name}-v2")["items"] == []
    found = until(lambda: cats.api.get(cats.at() + f"?labelSelector=seen={name}-v2&limit=500")["items"])
    assert name in [one["metadata"]["name"] for one in found]


def test_a_watch_in_another_version(cats: Convertible, name: str) -> None:
    start = cats.create(name, "v1")["metadata"]["resourceVersion"]
    asked = f"?watch=1&resourceVersion={start}&fieldSelector=metadata.name={name}"
    with cats.api.watch(cats.at(version="v3") + asked) as events:
        cats.api.patch(cats.at(name, "v1"), {"spec": {"a": 1}})
        cats.api.delete(cats.at(name, "v1"))
        changed, gone = next(events), next(events)
    assert (changed["type"], gone["type"]) == ("MODIFIED", "DELETED")
    for event in (changed, gone):
        assert event["object"]["apiVersion"] == f"{cats.kind.group}/v3"
        assert event["object"]["spec"] == {"a": 1, "via": "v3"}


def test_a_watch_begins_with_what_is_there(cats: Convertible, name: str) -> None:
    cats.create(name, "v1")
    with cats.api.watch(cats.at(version="v2") + f"?watch=1&fieldSelector=metadata.name={name}") as events:
        first = next(events)
    assert (first["type"], first["object"]["spec"]) == ("ADDED", {"via": "v2"})


# ── what a webhook may change ─────────────────────────────────────────────────────────────────────────────────────────


def test_of_the_metadata_only_labels_and_annotations_change(cats: Convertible, name: str) -> None:
    def changed(obj: JSON, wanted: str) -> None:
        new = {"finalizers": ["a/b"], "labels": {"l": wanted}, "annotations": {"a": wanted}}
        obj["metadata"] |= new | {"resourceVersion": "1", "generation": 77, "ownerReferences": []}

    before = cats.create(name, "v1")
    cats.answers(converting(changed))
    meta = cats.get(name, "v2")["metadata"]
    assert meta == before["metadata"] | {"labels": {"l": "v2"}, "annotations": {"a": "v2"}}


def test_labels_that_do_not_come_back_are_gone(cats: Convertible, name: str) -> None:
    body = cats.kind.object(name, version="v1", spec={})
    body["metadata"]["labels"] = {"a": "b"}
    cats.api.post(cats.at(version="v1"), body)
    cats.answers(converting(lambda obj, _: obj["metadata"].pop("labels", None)))
    assert "labels" not in cats.get(name, "v2")["metadata"]


def test_what_a_version_does_not_know_is_pruned(api: Api, ns: str, webhook: Webhook, name: str) -> None:
    known = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    made = define(api, ns, webhook, [version("v1", known, stored=True), version("v2", known), version("v3")])
    cats = next(made)
    cats.create(name, "v3", spec={"a": 1, "b": 2})
    assert cats.get(name, "v1")["spec"] == {"a": 1}
    assert cats.get(name, "v2")["spec"] == {"a": 1}
    assert cats.get(name, "v3")["spec"] == {"a": 1, "via": "v3"}
    next(made, None)


# ── beside other things ───────────────────────────────────────────────────────────────────────────────────────────────


def test_admission_sees_the_version_of_the_request(cats: Convertible, case: Case) -> None:
    rule = {"apiGroups": [cats.kind.group], "apiVersions": ["*"], "resources": ["cats"], "operations": ["*"]}
    case.register("Validating", case.hook(rules=[rule]))
    cats.create(case.name, "v2", metadata={"name": case.name, "labels": {"case": case.name}})
    (asked,) = case.asked()
    assert asked["object"]["apiVersion"] == f"{cats.kind.group}/v2"
    assert asked["object"]["spec"] == {}


def test_admission_in_another_version_is_converted_there_and_back(cats: Convertible, case: Case) -> None:
    rule = {"apiGroups": [cats.kind.group], "apiVersions": ["v3"], "resources": ["cats"], "operations": ["*"]}
    case.answers(patching({"op": "add", "path": "/spec/a", "value": 1}))
    case.register("Mutating", case.hook(rules=[rule]))
    made = cats.create(case.name, "v2", metadata={"name": case.name, "labels": {"case": case.name}})
    assert case.asked()[0]["object"]["spec"] == {"via": "v3"}
    assert made["spec"] == {"a": 1, "via": "v3,v2,v1,v2"}


def test_a_namespace_is_emptied_without_the_webhook(cats: Convertible, name: str) -> None:
    """A write of metadata alone needs no other version, even if the webhook is unreachable."""
    ns = cats.api.namespace()
    cats.api.post(cats.kind.path(ns, version="v1"), cats.kind.object(name, version="v1", spec={}))
    cats.api.delete(at("namespaces", name=ns))
    until(lambda: cats.api.request("GET", cats.kind.path(ns, name, version="v1")).status == 404)
