"""Answers as JSON: what each verdict becomes; what the API server would refuse or drop is corrected. Level: pure."""

import base64
from typing import Any

import orjson

from hookrunner.errors import ReviewFailed
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import AdmissionRequest, AdmissionReview, ConversionRequest, ConversionReview, Verdict
from hookrunner.web import review_answers
from tests.tables import each

REQUEST = {"uid": "u-2", "desiredAPIVersion": "g/v2", "objects": []}
ADMISSION = AdmissionReview("a", "admission.k8s.io/v1", AdmissionRequest.of({"uid": "u-1", "object": {}}), 0.0)
CONVERSION = ConversionReview("c", "apiextensions.k8s.io/v1beta1", ConversionRequest.of(REQUEST), 0.0)


def response(verdict: Verdict) -> dict[str, Any]:
    answer = orjson.loads(review_answers.verdict(ADMISSION, verdict))
    assert (answer.pop("apiVersion"), answer.pop("kind")) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"].pop("uid") == "u-1"
    assert list(answer) == ["response"]
    return dict(answer["response"])


def converted(*objects: Any) -> dict[str, Any]:
    return dict(orjson.loads(b"".join(review_answers.converted(CONVERSION, JsonObjects.of(objects)))))


@each(
    ("verdict", "expected"),
    [
        (Verdict(True), {"allowed": True}),
        (Verdict(True, message="unheard"), {"allowed": True}),
        (Verdict(False, "no", 418), {"allowed": False, "status": {"code": 418, "message": "no"}}),
        (Verdict(False), {"allowed": False, "status": {"code": 403, "message": ""}}),
        (Verdict(True, warnings=("w1", "w2")), {"allowed": True, "warnings": ["w1", "w2"]}),
        (Verdict(True, audit={"key": "value"}), {"allowed": True, "auditAnnotations": {"key": "value"}}),
        (
            Verdict(False, "no", warnings=("w",), patch=({"op": "remove"},)),
            {"allowed": False, "status": {"code": 403, "message": "no"}, "warnings": ["w"]},
        ),
    ],
)
def test_verdict_omits_empty_fields(verdict: Verdict, expected: dict[str, Any]) -> None:
    assert response(verdict) == expected


def test_patch_is_base64_of_its_steps() -> None:
    steps = ({"op": "add", "path": "/metadata/labels/a", "value": "ä"},)
    answer = response(Verdict(True, patch=steps))
    assert (answer["patchType"], orjson.loads(base64.b64decode(answer["patch"]))) == ("JSONPatch", list(steps))


@each("code", [-1, 0, 200, 399, 600, 1000, 2**40])
def test_code_that_is_no_refusal_becomes_403(code: int) -> None:
    assert response(Verdict(False, "no", code))["status"]["code"] == 403


def test_warnings_become_one_line_each_and_empty_ones_go() -> None:
    given = Verdict(True, warnings=("two\r\nlines\x7f\x85", "", " \n", "\ttab"))
    assert response(given)["warnings"] == ["two lines", "tab"]


@each(
    ("key", "mended"),
    [
        ("plain-Key_1.x", "plain-Key_1.x"),
        ("example.com/key", "example.com-key"),
        ("-under_", "under"),
        ("a" * 70, "a" * 63),
        ("a" * 62 + "-b", "a" * 62),
        ("für alle", "f-r-alle"),
    ],
)
def test_audit_keys_are_made_valid(key: str, mended: str) -> None:
    assert response(Verdict(True, audit={key: "v"}))["auditAnnotations"] == {mended: "v"}


def test_audit_key_without_valid_characters_is_dropped() -> None:
    assert "auditAnnotations" not in response(Verdict(True, audit={"///": "v"}))


def test_text_that_is_not_utf_8_is_replaced() -> None:
    answer = response(Verdict(False, "a\udcffb", warnings=("\udc80",), audit={"k": "\ud800"}))
    assert answer["status"]["message"] == "a?b"
    assert (answer["warnings"], answer["auditAnnotations"]) == (["?"], {"k": "?"})


def test_failure_becomes_a_refusal_with_its_code() -> None:
    answer = orjson.loads(review_answers.refused(ADMISSION, ReviewFailed("Hook failed", 500)))
    assert answer["response"] == {"uid": "u-1", "allowed": False, "status": {"code": 500, "message": "Hook failed"}}


@each("objects", [(), ({"a": 1},), ({"a": 1}, {"b": [2]}, {})])
def test_converted_objects_keep_their_order(objects: tuple[dict[str, Any], ...]) -> None:
    assert converted(*objects) == {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "ConversionReview",
        "response": {"uid": "u-2", "result": {"status": "Success"}, "convertedObjects": list(objects)},
    }


def test_objects_in_json_are_embedded_unchanged() -> None:
    assert converted(orjson.Fragment(b'{"a": 1}'))["response"]["convertedObjects"] == [{"a": 1}]


def test_large_answer_comes_in_pieces() -> None:
    objects = [{"data": "x" * 1000, "n": n} for n in range(1000)]
    pieces = list(review_answers.converted(CONVERSION, JsonObjects.of(objects)))
    assert len(pieces) == 4
    assert all(len(piece) < review_answers.PIECE + 2000 for piece in pieces)
    assert orjson.loads(b"".join(pieces))["response"]["convertedObjects"] == objects


@each(("reason", "shown"), [("no way", "no way"), ("", "conversion to g/v2 failed without a message")])
def test_failed_conversion_states_its_reason(reason: str, shown: str) -> None:
    answer = orjson.loads(review_answers.unconverted(CONVERSION, reason))
    assert answer["response"] == {"uid": "u-2", "result": {"status": "Failure", "message": shown}}
