"""Definitions whose objects a webhook converts: what is stored, what is shown, what goes wrong."""

import base64
import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.sandbox.contract.admission import Case
from tests.sandbox.contract.api import Api, until
from tests.sandbox.contract.objects import FREE, CustomKind, at, crd
from tests.sandbox.contract.webhook import JSON, Decides, Raw, Webhook, patching

MERGE = "application/merge-patch+json"
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
BELOW: JSON = {"status": {}, "scale": SCALE}


def version(name: str, schema: JSON = FREE, *, stored: bool = False) -> JSON:
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": BELOW,
    }


@dataclass(slots=True)
class Convertible:
    """A kind in v1 (stored), v2 and v3, whose objects say in `spec.via` which way they have gone."""

    api: Api
    ns: str
    kind: CustomKind
    webhook: Webhook

    @property
    def path(self) -> str:
        """Where it is converted."""
        return f"/{self.kind.name}"

    def answers(self, answer: Decides | Raw) -> None:
        """How it is converted from now on."""
        self.webhook.answers[self.path] = answer

    def asked(self, wanted: str = "", name: str = "") -> list[JSON]:
        """Requests for a version, of an object."""
        return [
            one
            for one in self.webhook.at(self.path)
            if one["desiredAPIVersion"].endswith(wanted)
            and (not name or name in [obj["metadata"]["name"] for obj in one["objects"]])
        ]

    def create(self, name: str, version: str = "v2", **content: Any) -> JSON:
        """An object, made in a version."""
        body = self.kind.object(name, version=version, **({"spec": {}} | content))
        made: JSON = self.api.post(self.kind.path(self.ns, version=version), body)
        return made

    def get(self, name: str, version: str) -> JSON:
        """It in a version."""
        shown: JSON = self.api.get(self.kind.path(self.ns, name, version=version))
        return shown

    def at(self, name: str = "", version: str = "v2") -> str:
        """The path of a collection, or of one object."""
        return self.kind.path(self.ns, name, version=version)


def converting(change: Callable[[JSON, str], object] | None = None) -> Decides:
    """Convert, and let `change` have the object and the short name of its new version."""

    def answer(review: JSON) -> JSON:
        request = review["request"]
        wanted, objects = request["desiredAPIVersion"], json.loads(json.dumps(request["objects"]))
        for obj in objects:
            obj["apiVersion"] = wanted
            if change is not None:
                change(obj, wanted.rpartition("/")[2])
        return replied(review, result={"status": "Success"}, convertedObjects=objects)

    return answer


def replied(review: JSON, **response: Any) -> JSON:
    said = {"uid": review["request"]["uid"]} | response
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said}


def marked(obj: JSON, wanted: str) -> None:
    spec = obj.setdefault("spec", {})
    spec["via"] = f"{spec['via']},{wanted}" if spec.get("via") else wanted


@pytest.fixture(scope="module")
def defined(api: Api, ns: str, webhook: Webhook) -> Iterator[Convertible]:
    """A kind that the cases share."""
    yield from define(api, ns, webhook, [version("v1", stored=True), version("v2"), version("v3")])


def define(api: Api, ns: str, webhook: Webhook, versions: list[JSON]) -> Iterator[Convertible]:
    kind = CustomKind(f"g{secrets.token_hex(4)}.example.com", "cats", "Cat")
    made = Convertible(api, ns, kind, webhook)
    made.answers(converting(marked))
    client = webhook.client(made.path)
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    api.post(at("customresourcedefinitions"), crd(kind.group, "cats", versions=versions, conversion=conversion))
    for each in versions:
        until(partial(_served, api, made.at(version=each["name"])))
    yield made
    api.request("DELETE", at("customresourcedefinitions", name=kind.name))


def _served(api: Api, path: str) -> bool:
    return api.request("GET", path).status == 200


@pytest.fixture
def cats(defined: Convertible) -> Convertible:
    defined.answers(converting(marked))
    defined.webhook.asked.clear()
    return defined


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


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────────────────


def broken(change: Callable[[JSON], object]) -> Decides:
    return converting(lambda obj, _: change(obj))


FAILED, BAD = "{} failed: ", "{} returned invalid object"
SUCCESS = {"status": "Success"}
FAILURES: dict[str, tuple[Decides | Raw, str]] = {
    "a failure": (lambda it: replied(it, result={"status": "Failed", "message": "cannot"}), FAILED + "cannot"),
    "a failure without a message": (
        lambda it: replied(it, result={"status": "Failed"}),
        FAILED + "response.result.status was 'Failed', not 'Success'",
    ),
    "no result": (replied, FAILED + "response.result.status was '', not 'Success'"),
    "no objects": (lambda it: replied(it, result=SUCCESS), "{} returned 0 objects, expected 1"),
    "another uid": (lambda it: replied(it, uid="x", result=SUCCESS), FAILED + 'expected response.uid="'),
    "another kind of review": (
        lambda it: replied(it) | {"kind": "Pod"},
        FAILED + 'no kind "Pod" is registered for version "apiextensions.k8s.io/v1" in scheme',
    ),
    "no kind of review": (
        lambda it: {"response": replied(it)["response"]},
        FAILED + "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
    ),
    "no response": (
        lambda it: {"apiVersion": it["apiVersion"], "kind": it["kind"]},
        FAILED + "no response provided",
    ),
    "an error": (
        Raw(b"", 500),
        FAILED + 'an error on the server ("unknown") has prevented the request from succeeding',
    ),
    "garbage": (Raw(b"<html>"), FAILED + "couldn't get version/kind; json parse error: "),
    "no object": (
        lambda it: replied(it, result=SUCCESS, convertedObjects=["x"]),
        "json: cannot unmarshal string into Go value of type map[string]interface {{}}",
    ),
    "another version": (
        broken(lambda obj: obj.update(apiVersion="example.com/v9")),
        BAD + " at index 0: invalid groupVersion (expected {group}/v1, received example.com/v9)",
    ),
    "another kind": (
        broken(lambda obj: obj.update(kind="Dog")),
        BAD + " at index 0: invalid kind (expected Cat, received Dog)",
    ),
    "no kind": (broken(lambda obj: obj.pop("kind")), "Object 'Kind' is missing in '{{"),
    "another name": (
        broken(lambda obj: obj["metadata"].update(name="other")),
        BAD + ": must have the same name: {name} != other",
    ),
    "another namespace": (
        broken(lambda obj: obj["metadata"].update(namespace="other")),
        BAD + ": must have the same namespace: {ns} != other",
    ),
    "another object": (broken(lambda obj: obj["metadata"].update(uid="x")), BAD + ": must have the same UID: "),
    "no metadata": (broken(lambda obj: obj.pop("metadata")), BAD + ": must have the same name: {name} != "),
    "a bad label": (
        broken(lambda obj: obj["metadata"].update(labels={"a b": "c"})),
        '{} returned invalid metadata: metadata.labels: Invalid value: "a b": ',
    ),
    "a label that is no text": (
        broken(lambda obj: obj["metadata"].update(labels={"a": 1})),
        "{} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    "labels that are none": (
        broken(lambda obj: obj["metadata"].update(labels=["a"])),
        "{} returned invalid metadata: invalid metadata.labels of type []interface {{}} in converted object",
    ),
    "a bad annotation": (
        broken(lambda obj: obj["metadata"].update(annotations={"a b": "c"})),
        '{} returned invalid metadata: metadata.annotation: Invalid value: "a b": ',
    ),
}


@pytest.mark.parametrize("what", FAILURES)
def test_an_object_that_cannot_be_converted_is_not_written(cats: Convertible, name: str, what: str) -> None:
    answer, said = FAILURES[what]
    cats.answers(answer)
    refused = cats.api.request("POST", cats.at(), cats.kind.object(name, version="v2", spec={}))
    about = f"conversion webhook for {cats.kind.group}/v2, Kind=Cat"
    wanted = said.format(about, group=cats.kind.group, name=name, ns=cats.ns)
    assert (refused.status, refused.body["message"][: len(wanted)]) == (500, wanted)
    assert "reason" not in refused.body
    assert cats.api.request("GET", cats.at(name, "v1")).status == 404


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {"spec": {"a": 1}}), ("DELETE", None)])
def test_an_object_that_cannot_be_converted_is_not_shown(
    cats: Convertible, name: str, method: str, body: JSON | None
) -> None:
    cats.answers(FAILURES["a failure"][0])
    cats.create(name, "v1")
    refused = cats.api.request(method, cats.at(name), body, content_type=MERGE)
    said = f"conversion webhook for {cats.kind.group}/v1, Kind=Cat failed: cannot"
    assert (refused.status, refused.body["message"]) == (500, said)
    assert cats.get(name, "v1")["spec"] == {}
    cats.answers(converting(marked))
    assert cats.get(name, "v2")["spec"] == {"via": "v2"}


def test_nobody_listens(api: Api, ns: str, webhook: Webhook, name: str) -> None:
    made = define(api, ns, webhook, [version("v1", stored=True), version("v2")])
    cats = next(made)
    client = {"conversion": {"webhook": {"clientConfig": {"url": "https://127.0.0.1:1/c"}}}}
    api.patch(at("customresourcedefinitions", name=cats.kind.name), {"spec": client})
    body = cats.kind.object(name, version="v2", spec={})
    said = 'failed: Post "https://127.0.0.1:1/c?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    until(lambda: said in str(api.request("POST", cats.at(), body).body.get("message")))
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
    """What only changes metadata needs no other version, whoever may be unreachable."""
    ns = cats.api.namespace()
    cats.api.post(cats.kind.path(ns, version="v1"), cats.kind.object(name, version="v1", spec={}))
    cats.api.delete(at("namespaces", name=ns))
    until(lambda: cats.api.request("GET", cats.kind.path(ns, name, version="v1")).status == 404)


REQUIRED = "webhookClientConfig: Required value: required when strategy is set to Webhook"
CLIENT: JSON = {"url": "https://127.0.0.1:1/c"}
WRONG: list[tuple[JSON, list[str]]] = [
    ({"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}}, []),
    ({"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1beta1", "v9"]}}, []),
    ({}, ["conversionReviewVersions: Required value", REQUIRED]),
    (
        {"webhook": {"conversionReviewVersions": ["v1"]}},
        [REQUIRED],
    ),
    (
        {"webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}},
        ["webhookClientConfig: Required value: exactly one of url or service is required"],
    ),
    (
        {"webhook": {"clientConfig": {"url": "http://a/b"}, "conversionReviewVersions": ["v1"]}},
        ["webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme"],
    ),
    (
        {
            "webhook": {
                "clientConfig": {"service": {"namespace": "a", "name": "b", "path": "c//d", "port": 0}},
                "conversionReviewVersions": ["v1"],
            }
        },
        [
            "webhookClientConfig.service.path: Invalid value: \"c//d\": must start with a '/'",
            'webhookClientConfig.service.path: Invalid value: "c//d": segment[0] may not be empty',
            'webhookClientConfig.service.path: Invalid value: "c//d": segment[1] may not be empty',
            "webhookClientConfig.service.port: Invalid value: 0: port is not valid",
        ],
    ),
    (
        {"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v8", "v9", "v8"]}},
        [
            'conversionReviewVersions: Invalid value: ["v8","v9","v8"]: must include at least one of v1, v1beta1',
            'conversionReviewVersions[2]: Invalid value: "v8": duplicate version',
        ],
    ),
]


@pytest.mark.parametrize(("said", "causes"), WRONG)
def test_what_is_wrong_with_a_conversion_is_told(api: Api, said: JSON, causes: list[str]) -> None:
    body = crd(f"g{secrets.token_hex(4)}.example.com", "cats", conversion={"strategy": "Webhook", **said})
    answer = api.request("POST", at("customresourcedefinitions") + "?dryRun=All", body)
    told = sorted(f"{one['field']}: {one['message']}" for one in answer.body.get("details", {}).get("causes", []))
    assert len(told) == len(causes)
    for one, wanted in zip(told, causes, strict=True):
        assert one.startswith(f"spec.conversion.{wanted}")


def test_a_bundle_of_authorities_must_be_readable(api: Api, webhook: Webhook) -> None:
    """Before, the definition waits; when it is served, it is refused."""
    nonsense = {"url": webhook.url + "/c", "caBundle": base64.b64encode(b"nonsense").decode()}
    said = {"strategy": "Webhook", "webhook": {"clientConfig": nonsense, "conversionReviewVersions": ["v1"]}}
    group = f"g{secrets.token_hex(4)}.example.com"
    path = at("customresourcedefinitions", name=f"cats.{group}")
    api.post(at("customresourcedefinitions"), crd(group, "cats", conversion=said))

    def established() -> JSON:
        conditions = api.get(path).get("status", {}).get("conditions") or []
        return next((one for one in conditions if one["type"] == "Established"), JSON())

    told = until(established)
    assert (told["status"], told["reason"]) == ("False", "InvalidCABundle")
    change = {"spec": {"conversion": {"webhook": {"clientConfig": webhook.client("/c")}}}}
    api.patch(path, change)
    until(lambda: established()["status"] == "True")
    change["spec"]["conversion"]["webhook"]["clientConfig"] = nonsense
    refused = api.request("PATCH", path, change, content_type=MERGE)
    (cause,) = refused.body["details"]["causes"]
    assert cause["field"] == "spec.conversion.webhookClientConfig.caBundle"
    assert "unable to load root certificates: unable to parse bytes as PEM block" in cause["message"]
    api.delete(path)
