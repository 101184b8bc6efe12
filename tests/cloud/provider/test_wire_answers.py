"""What a cloud's program prints: everything abnormal is `Unavailable`, and nothing abnormal is "not found".

Level: pure."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cloud.answers import ErrorCode, InstanceState, ProviderError, Want
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.wire_answers import read_answer, request_id_of, result_of
from hookrunner.cloud.provider.wire_results import read_instances
from tests.tables import each

V = "cloud.hookrunner.io/v1"


def refused(text: str | bytes, verb: AnyVerb = verbs.INSTANCES) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        result_of(read_answer(text if isinstance(text, bytes) else text.encode()), verb, "r1")
    return caught.value


@each(
    "text", ['{"result": {}}', ' \n{"result":{}}\n ', f'{{"apiVersion":"{V}","requestID":"r1","result":{{}},"more":1}}']
)
def test_good_answers(text: str) -> None:
    assert result_of(read_answer(text.encode()), verbs.INSTANCES, "r1") == {}


@each(
    ("text", "says"),
    [
        ("", "printed nothing"),
        (" \n", "printed nothing"),
        ("usage: my-cloud VERB", "not one JSON object"),
        ("\x1b[31merror\x1b[0m", "not one JSON object"),
        ('{"result": {}}{"result": {}}', "not one JSON object"),
        ('{"result": {}', "not one JSON object"),
        ('\ufeff{"result": {}}', "not one JSON object"),
        (b'{"result": {"a": "\xff"}}', "not one JSON object"),
        ('{"result": ' + "[" * 10_000 + "]" * 10_000 + "}", "not one JSON object"),
        ('{"result": {"a": 1, "a": 2}}', "the key 'a' stands twice"),
        ('{"result": {"a": NaN}}', "not one JSON object"),
        ("[]", "must be one JSON object, not a list"),
        ("null", "must be one JSON object, not null"),
        ("{}", "either 'result' or 'error', and has neither"),
        ('{"result": {}, "error": {"code": "Pending"}}', "has both"),
        ('{"result": null}', "must be an object, not null"),
        ('{"result": []}', "must be an object, not a list"),
        ('{"requestID": "r2", "result": {}}', "another 'requestID'"),
        ('{"requestID": 1, "result": {}}', "another 'requestID'"),
        ('{"apiVersion": "cloud.hookrunner.io/v2", "result": {}}', "another 'apiVersion'"),
        ('{"error": "no"}', "needs a 'code'"),
        ('{"error": {}}', "needs a 'code'"),
        ('{"error": {"code": "Boom", "message": "x"}}', r"x \(unknown code Boom\)"),
        ('{"error": {"code": "NotFound", "message": "x"}}', "only lb-update and lb-delete can: x"),
        ('{"error": {"code": "Pending", "message": "x"}}', "Pending needs 'retryAfterSeconds'"),
        ('{"error": {"code": "Pending", "retryAfterSeconds": "5"}}', "Pending needs"),
        ('{"error": {"code": "Pending", "retryAfterSeconds": true}}', "Pending needs"),
        ('{"error": {"code": "Unavailable"}}', "without a message"),
    ],
)
def test_abnormal_answers_are_unavailable(text: str | bytes, says: str) -> None:
    error = refused(text)
    assert error.code is ErrorCode.UNAVAILABLE
    with pytest.raises(ProviderError, match=says):
        raise error


@each(
    ("error", "code", "after"),
    [
        ({"code": "Throttled"}, ErrorCode.THROTTLED, 30.0),
        ({"code": "Throttled", "retryAfterSeconds": 7}, ErrorCode.THROTTLED, 7.0),
        ({"code": "Throttled", "retryAfterSeconds": 1e9}, ErrorCode.THROTTLED, 3600.0),
        ({"code": "Throttled", "retryAfterSeconds": -1}, ErrorCode.THROTTLED, 30.0),
        ({"code": "Pending", "retryAfterSeconds": 42}, ErrorCode.PENDING, 42.0),
        ({"code": "Pending", "retryAfterSeconds": 0}, ErrorCode.PENDING, 0.1),
        ({"code": "Invalid", "retryAfterSeconds": 5}, ErrorCode.INVALID, 0.0),
        ({"code": "NotImplemented"}, ErrorCode.NOT_IMPLEMENTED, 0.0),
        ({"code": "Unauthenticated"}, ErrorCode.UNAUTHENTICATED, 0.0),
        ({"code": "ImplementedElsewhere"}, ErrorCode.IMPLEMENTED_ELSEWHERE, 0.0),
    ],
)
def test_errors_with_their_times(error: dict[str, object], code: ErrorCode, after: float) -> None:
    said = refused(json.dumps({"error": error}))
    assert (said.code, said.retry_after) == (code, after)


@each("verb", [verbs.LB_UPDATE, verbs.LB_DELETE])
def test_not_found_is_done_where_something_is_to_go(verb: AnyVerb) -> None:
    assert result_of(read_answer(b'{"error": {"code": "NotFound"}}'), verb, "r1") == {}


def test_a_message_is_one_short_printable_line() -> None:
    error = refused(json.dumps({"error": {"code": "Invalid", "message": "a\n\x1b[2J" + "b" * 5000}}))
    assert (error.reason[:12], len(error.reason)) == ("a \\x1b[2Jbbb", 1001)


def test_a_line_of_serve_names_its_request() -> None:
    assert request_id_of(read_answer(b'{"requestID": "r7", "result": {}}')) == "r7"
    for line in (b'{"result": {}}', b"log line", b'{"requestID": ""}', b'{"requestID": 7}'):
        with pytest.raises(ProviderError):
            request_id_of(read_answer(line))


SAYS_SO = {"name": "a", "state": "notFound"}
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "b", "notFound", "NotFound", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "state", "instances", "result", "error", "message", "zone"]), inner)
    ),
    max_leaves=12,
)
ENTRIES = st.lists(st.just(SAYS_SO) | st.fixed_dictionaries({"name": st.just("a"), "state": JSONS}) | JSONS, max_size=4)


@given(JSONS | ENTRIES.map(lambda entries: {"result": {"instances": entries}}), st.integers(0, 80), st.booleans())
def test_only_an_entry_that_says_so_means_not_found(document: object, cut: int, is_cut: bool) -> None:
    """Whatever is printed, whole or cut off: "not found" needs the one entry of the Node that says it."""
    text = json.dumps(document).encode()
    try:
        result = result_of(read_answer(text[:cut] if is_cut else text), verbs.INSTANCES, "r1")
        answer = read_instances(result, ["a"], {Want.STATE})["a"]
    except ProviderError:
        return
    if answer.state is InstanceState.NOT_FOUND:
        assert isinstance(document, dict)
        entries = document["result"]["instances"]
        named = [entry for entry in entries if isinstance(entry, dict) and entry.get("name") == "a"]
        assert [entry["state"] for entry in named] == ["notFound"]
