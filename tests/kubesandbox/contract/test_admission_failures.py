"""Webhooks without an answer, or with a bad one: the outcome of the request, by the `failurePolicy`.

Level: control plane."""

import base64
import json

import pytest

from tests.kubesandbox.contract.admission import HOOK, Case, Kind
from tests.kubesandbox.contract.webhook import JSON, Decides, Raw, allowed, patching, reviewed, stranger
from tests.tables import each

FAILED = f'Internal error occurred: failed calling webhook "{HOOK}": '
CALL, INVALID = f"{FAILED}failed to call webhook: ", f"{FAILED}received invalid webhook response: "
SLOW, PATIENT = 2, 30
"""Seconds that the server waits: for an answer that comes later, and for all that a busy machine may be late with."""
KINDS: list[Kind] = ["Mutating", "Validating"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def typed(response: JSON) -> Decides:
    return lambda review: reviewed(review, response)


def other(**changed: str) -> Decides:
    return lambda review: reviewed(review, {"allowed": True}) | changed


STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "out of order", "code": 500}
ANSWERS: dict[str, tuple[Decides | Raw, str]] = {
    "an error": (Raw(b"boom", 500), CALL + 'an error on the server ("unknown") has prevented the request from'),
    "an error with a Status": (Raw(json.dumps(STATUS).encode(), 500), CALL + "out of order"),
    "nothing there": (Raw(b"", 404), CALL + "the server could not find the requested resource"),
    "a bad request": (Raw(b"", 400), CALL + "the server rejected our request for an unknown reason"),
    "not available": (Raw(b"", 503), CALL + "the server is currently unable to handle the request"),
    "a redirect": (Raw(b"", 301), CALL + "the server responded with the status code 301 but did not return more"),
    "no body": (Raw(), CALL + "0-length response with status code: 200 and content type: application/json"),
    "garbage": (Raw(b"<html>"), CALL + "couldn't get version/kind; json parse error: "),
    "a list": (Raw(b"[]"), CALL + "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
    "an empty object": (Raw(b"{}"), INVALID + "webhook response was absent"),
    "another kind": (other(kind="Pod"), CALL + 'no kind "Pod" is registered for version "admission.k8s.io/v1"'),
    "another version": (
        other(apiVersion="admission.k8s.io/v1beta1"),
        CALL + "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    "no kind": (
        lambda review: {"response": reviewed(review, {"allowed": True})["response"]},
        INVALID + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
    "another uid": (typed({"allowed": True, "uid": "x"}), INVALID + 'expected response.uid="'),
    "no boolean": (
        typed({"allowed": "yes"}),
        CALL + "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    "no base64": (typed({"allowed": True, "patch": "!", "patchType": "JSONPatch"}), CALL + "illegal base64 data"),
}


@each("what", ANSWERS)
def test_an_answer_that_is_none_fails_the_request(registered: Case, what: str) -> None:
    answer, said = ANSWERS[what]
    registered.answers(answer)
    refused = registered.create()
    assert (refused.status, refused.body["reason"]) == (500, "InternalError")
    assert refused.body["message"].startswith(said)
    cause = refused.body["message"].removeprefix("Internal error occurred: ")
    assert refused.body["details"] == {"causes": [{"message": cause}]}
    assert registered.send("GET", f"configmaps/{registered.name}").status == 404


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


REMOVE = packed('[{"op": "remove", "path": "/data"}]')
PATCHES: dict[str, tuple[JSON, str]] = {
    "without a type": ({"patch": REMOVE}, INVALID + "webhook returned response.patch but not response.patchType"),
    "only a type": (
        {"patchType": "JSONPatch"},
        INVALID + "webhook returned response.patchType but not response.patch",
    ),
    "an empty type": (
        {"patch": REMOVE, "patchType": ""},
        INVALID + 'webhook returned invalid response.patchType of ""',
    ),
    "a strange type": ({"patch": REMOVE, "patchType": "Merge"}, FAILED + 'unsupported patch type "Merge"'),
    "no JSON": (
        {"patch": packed("{"), "patchType": "JSONPatch"},
        FAILED + "received undecodable patch in webhook response: ",
    ),
    "no list": (
        {"patch": packed("{}"), "patchType": "JSONPatch"},
        FAILED + "received undecodable patch in webhook response: ",
    ),
}


def test_a_patch_that_is_none_fails_the_request(case: Case) -> None:
    case.register("Mutating", case.hook())
    for what, (response, said) in PATCHES.items():
        case.answers(allowed(**response))
        refused = case.create()
        assert (refused.status, refused.body["message"][: len(said)]) == (500, said), what


@pytest.mark.slow
@each_kind
def test_an_answer_or_a_patch_that_is_none_may_be_ignored(case: Case, kind: Kind) -> None:
    patches = [allowed(**response) for response, _ in PATCHES.values()] if kind == "Mutating" else []
    answers = [answer for answer, _ in ANSWERS.values()] + patches
    for number, answer in enumerate(answers):
        case.answers(answer, str(number))
    numbers = range(len(answers))
    hooks = [case.hook(case.path(str(at)), name=f"a{at}.example.com", failurePolicy="Ignore") for at in numbers]
    case.register(kind, *hooks)
    created = case.create()
    assert (created.status, created.warnings) == (201, ())
    assert len(set(case.order())) == len(answers)


def test_a_validating_webhook_may_not_patch(case: Case) -> None:
    case.answers(patching({"op": "remove", "path": "/data"}))
    case.register("Validating", case.hook())
    assert case.create().body["message"] == INVALID + "validating webhook may not return response.patch"


# ── the way there ─────────────────────────────────────────────────────────────────────────────────────────────────────


def unreachable(case: Case, what: str) -> tuple[JSON, str]:
    """A `clientConfig` that leads nowhere, and why."""
    there = case.webhook.client(case.path())
    seconds = SLOW if what == "too late" else PATIENT
    untrusted = "tls: failed to verify certificate: x509: "
    post = f'Post "{there["url"]}?timeout={seconds}s": '
    wrong = base64.b64encode(stranger()).decode()
    return {
        "no listener": (
            {**there, "url": "https://127.0.0.1:1/a//b/"},
            f'Post "https://127.0.0.1:1/a/b?timeout={seconds}s": dial tcp 127.0.0.1:1: connect: connection refused',
        ),
        "another authority": (
            {**there, "caBundle": wrong},
            f"{post}{untrusted}certificate signed by unknown authority",
        ),
        "no authority": ({"url": there["url"]}, f"{post}{untrusted}certificate signed by unknown authority"),
        "another host": (
            {**there, "url": there["url"].replace("127.0.0.1", "localhost")},
            f"{post.replace('127.0.0.1', 'localhost')}{untrusted}",
        ),
        "no such host": (
            {**there, "url": "https://nowhere.invalid/"},
            f'Post "https://nowhere.invalid/?timeout={seconds}s": dial tcp: lookup nowhere.invalid',
        ),
        "no such service": (
            {"service": {"namespace": case.ns, "name": "none", "path": "/x"}},
            f'Post "https://none.{case.ns}.svc:443/x?timeout={seconds}s": service "none" not found',
        ),
        "too late": (there, f"{post}context deadline exceeded"),
    }[what]


PLACES = [
    "no listener",
    "another authority",
    "no authority",
    "another host",
    "no such host",
    "no such service",
    "too late",
]


@pytest.mark.slow
@pytest.mark.parametrize("what", PLACES)
@each_kind
def test_a_webhook_that_cannot_be_reached_fails_the_request_or_not(case: Case, kind: Kind, what: str) -> None:
    client, said = unreachable(case, what)
    case.answers(Raw(b"", 200, SLOW + 1) if what == "too late" else allowed())
    hook = case.hook(clientConfig=client, timeoutSeconds=SLOW if what == "too late" else PATIENT)
    case.register(kind, hook, hook | {"name": "other.example.com", "failurePolicy": "Ignore"})
    refused = case.create()
    assert (refused.status, refused.body["reason"]) == (500, "InternalError")
    assert refused.body["message"].startswith(CALL + said)


@pytest.mark.slow
def test_webhooks_that_cannot_be_reached_may_be_ignored(case: Case) -> None:
    case.answers(Raw(b"", 200, SLOW + 1))
    hooks = [
        case.hook(name=f"a{at}.example.com", clientConfig=unreachable(case, what)[0], timeoutSeconds=SLOW)
        for at, what in enumerate(PLACES)
    ]
    case.register("Mutating", *(hook | {"failurePolicy": "Ignore"} for hook in hooks))
    assert case.create().status == 201


@pytest.mark.slow
def test_who_asks_for_a_pause_is_asked_again(case: Case) -> None:
    pause = Raw(b"", 429, headers={"Retry-After": "1"})
    case.answers(lambda review: pause if len(case.asked()) == 1 else reviewed(review, {"allowed": True}))
    case.register("Validating", case.hook())
    assert case.create().status == 201
    assert len(case.asked()) == 2
