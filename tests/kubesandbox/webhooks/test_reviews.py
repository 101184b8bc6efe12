"""Whatever a webhook replies, it is read or refused, never a bug. Level: pure."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.status import Refused
from kubesandbox.webhooks import conversion_replies, reviews, webhook_client
from kubesandbox.webhooks.conversion_replies import BadObject
from kubesandbox.webhooks.reviews import BadReply, BadReview
from tests.tables import each

KEYS = ("reason", "name", "causes", "retryAfterSeconds", "status", "message", "a b")
FIELDS = ("uid", "allowed", "status", "warnings", "patch", "patchType", "result", "convertedObjects")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 900) | st.sampled_from(["", "u", "a b", "Success", "W10="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=6,
)
RESPONSES = st.dictionaries(
    st.sampled_from(["uid", "allowed", "status", "warnings", "patch", "patchType", "result", "convertedObjects"]),
    VALUES,
)
STATUSES = st.dictionaries(st.sampled_from(["code", "message", "reason", "details", "status"]), VALUES)
BEFORE = {"kind": "Cat", "apiVersion": "a/v1", "metadata": {"name": "u", "uid": "1", "labels": {"a": "b"}}}


def review(group: str, kind: str, response: object) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": kind, "response": response}


@given(st.one_of(RESPONSES, VALUES), st.booleans())
def test_a_reply_of_an_admission_webhook(response: object, mutating: bool) -> None:
    text = json.dumps(review("admission.k8s.io", "AdmissionReview", response)).encode()
    try:
        reply = reviews.checked(reviews.read(text, "v1"), "v1", "u", mutating=mutating)
    except (BadReply, BadReview):
        return
    assert isinstance(reply.allowed, bool)
    assert isinstance(reviews.denial("a.b.c", reply.status), Refused)


@given(STATUSES)
def test_a_denial_is_always_a_refusal(status: dict[str, Any]) -> None:
    refused = reviews.denial("a.b.c", status)
    assert refused.code >= 400
    json.dumps(refused.json())


@given(st.one_of(RESPONSES, VALUES))
def test_a_reply_of_a_conversion_webhook(response: object) -> None:
    text = json.dumps(review("apiextensions.k8s.io", "ConversionReview", response)).encode()
    try:
        objects = conversion_replies.read(text, "v1", "u")
    except (BadReply, BadReview):
        return
    assert isinstance(objects, list)


@given(
    st.fixed_dictionaries(
        {}, optional={"kind": st.just("Cat") | VALUES, "apiVersion": st.just("a/v2") | VALUES, "metadata": VALUES}
    )
    | VALUES,
    st.dictionaries(st.sampled_from(["name", "uid", "labels", "annotations"]), VALUES),
)
def test_a_converted_object(after: object, meta: dict[str, Any]) -> None:
    for one in (after, {"kind": "Cat", "apiVersion": "a/v2", "metadata": {"name": "u", "uid": "1", **meta}}):
        try:
            made = conversion_replies.checked(BEFORE, one, "a/v2")
        except BadObject:
            continue
        assert (made["apiVersion"], made["metadata"]["uid"]) == ("a/v2", "1")


@each(
    ("url", "called"),
    [
        ("https://a", "https://a/?timeout=5s"),
        ("https://a:1/", "https://a:1/?timeout=5s"),
        ("https://a/b/", "https://a/b?timeout=5s"),
        ("https://a/b//c", "https://a/b/c?timeout=5s"),
        ("https://a/.well-known/x%20y", "https://a/.well-known/x%20y?timeout=5s"),
        ("https://[::1]:8/b", "https://[::1]:8/b?timeout=5s"),
    ],
)
def test_the_address_that_is_called(url: str, called: str) -> None:
    assert webhook_client.address({"url": url}, 5) == called
