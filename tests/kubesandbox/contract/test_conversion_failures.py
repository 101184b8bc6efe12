"""Conversions that go wrong: what is written and shown then. Level: control plane."""

from collections.abc import Callable

import pytest

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.conversions import Convertible, converting, define, marked, replied, version
from tests.kubesandbox.contract.objects import at
from tests.kubesandbox.contract.webhook import JSON, Decides, Raw, Webhook

MERGE = "application/merge-patch+json"


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
    "labels that are a list": (
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


def test_no_server_listens(api: Api, ns: str, webhook: Webhook, name: str) -> None:
    made = define(api, ns, webhook, [version("v1", stored=True), version("v2")])
    cats = next(made)
    client = {"conversion": {"webhook": {"clientConfig": {"url": "https://127.0.0.1:1/c"}}}}
    api.patch(at("customresourcedefinitions", name=cats.kind.name), {"spec": client})
    body = cats.kind.object(name, version="v2", spec={})
    said = 'failed: Post "https://127.0.0.1:1/c?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    until(lambda: said in str(api.request("POST", cats.at(), body).body.get("message")))
    next(made, None)
