"""What response files may contain, and the errors of others. Level: pure."""

import base64
from typing import Any

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks import verdicts
from hookrunner.hooks.verdicts import admission, conversion
from hookrunner.model.contexts import ContextType
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.operations import Answer
from hookrunner.model.reviews import Converted, Verdict
from tests.tables import each

STEP = {"op": "add", "path": "/a", "value": 1}


def in_base64(value: Any) -> str:
    return base64.b64encode(orjson.dumps(value)).decode()


@each(
    ("text", "verdict"),
    [
        (b"", None),
        (b"{}", Verdict(allowed=False)),
        (b"null", Verdict(allowed=False)),
        (b'{"message": "no"}', Verdict(allowed=False, message="no")),
        (b'{"Allowed": true, "Message": null, "patch": null}', Verdict(allowed=True)),
        (b'\n{"allowed": true}\n{"allowed": false} junk', Verdict(allowed=True)),
        (b'{"allowed": false, "code": 422}', Verdict(allowed=False, code=422)),
        (b'{"allowed": true, "warnings": ["w"]}', Verdict(allowed=True, warnings=("w",))),
        (b'{"allowed": true, "auditAnnotations": {"a": "b"}}', Verdict(allowed=True, audit={"a": "b"})),
    ],
)
def test_a_verdict_is_the_first_json_value_and_denies_by_default(text: bytes, verdict: Verdict | None) -> None:
    assert admission(text) == verdict


@each(
    ("written", "patch"),
    [
        (in_base64([STEP]), (STEP,)),
        ([STEP], (STEP,)),
        ("\n".join(in_base64([STEP])), (STEP,)),
        ("", ()),
        ([], ()),
        (in_base64([]), ()),
        ([{"op": "remove", "path": ""}], ({"op": "remove", "path": ""},)),
    ],
)
def test_a_patch_is_base64_or_the_steps_themselves(written: Any, patch: Any) -> None:
    assert admission(orjson.dumps({"allowed": True, "patch": written})) == Verdict(allowed=True, patch=patch)


@each(
    ("response", "message"),
    [
        ({"allowed": "yes"}, 'allowed must be of type boolean: "string"; write true or false without quotes'),
        ({"message": 5}, 'message must be of type string: "integer"; write a text'),
        ({"code": 200}, "code must be at least 400"),
        ({"code": 600}, "code must be at most 599"),
        ({"code": "403"}, "code must be of type integer"),
        ({"warnings": "w"}, 'warnings must be of type array: "string"; write a list of one text: [a]'),
        ({"warnings": ["a", 1]}, "warnings[1] must be of type string"),
        ({"auditAnnotations": {"a": 1}}, "auditAnnotations.a must be of type string"),
        ({"allowed": 1, "message": 1}, "allowed must be of type boolean"),
        ({"allowed": 1, "message": 1}, "; message must be of type string"),
        ({"patch": "[]"}, "patch is neither the base64 of a JSON patch nor the patch itself; write [{op:"),
        ({"patch": in_base64({})}, 'patch must be of type array: "object"'),
        ({"patch": {}}, 'patch must be of type array: "object"'),
        ({"patch": 0}, 'patch must be of type array: "integer"'),
        ({"patch": ["add"]}, "patch[0] must be of type object"),
        ({"patch": [STEP, {"op": "ad", "path": "/a"}]}, "patch[1].op should be one of [add remove replace"),
        ({"patch": [{"op": "add", "path": "/a"}]}, "patch[0].value is required for add"),
        ({"patch": [{"op": "move", "path": "/a"}]}, "patch[0].from is required for move"),
        ({"patch": in_base64([{"op": "remove"}])}, "patch[0].path is required"),
    ],
)
def test_a_wrong_verdict_says_which_key_and_what_to_write(response: Any, message: str) -> None:
    with pytest.raises(BadOutput, match=r"^got bad validating response: ") as error:
        admission(orjson.dumps(response))
    assert message in str(error.value)


@each(
    ("text", "message"),
    [
        (b"{", "line 1"),
        (b" ", "not JSON: nothing but white space; write one JSON object"),
        (b"[]", "an object is expected, not "),
        (b'"yes"', "an object is expected, not "),
        (b"allowed: true", "not JSON"),
        (b"\xff", "not JSON"),
    ],
)
def test_a_response_that_is_no_json_object_is_refused(text: bytes, message: str) -> None:
    for kind, read in (("validating", admission), ("conversion", conversion)):
        with pytest.raises(BadOutput, match=f"^got bad {kind} response: ") as error:
            read(text)
        assert message in str(error.value)


@each(
    ("text", "result"),
    [
        (b"", None),
        (b"null", Converted()),
        (b'{"convertedObjects": [{"kind": "A"}]}', Converted(JsonObjects.of([{"kind": "A"}]))),
        (b'{"failedMessage": "no", "convertedObjects": null}', Converted(failure="no")),
        (b'{"FailedMessage": "no"}', Converted(failure="no")),
    ],
)
def test_converted_objects_or_a_reason_are_read(text: bytes, result: Converted | None) -> None:
    assert conversion(text) == result


@each(
    ("response", "message"),
    [
        ({"failedMessage": 1}, "failedMessage must be of type string"),
        ({"convertedObjects": {}}, 'convertedObjects must be of type array: "object"'),
        ({"convertedObjects": [{}, 1]}, "convertedObjects[1] must be of type object"),
        ({"convertedObjects": [1] * 9}, "convertedObjects[4] must be of type object"),
        ({"convertedObjects": [1] * 9}, "; and 4 more"),
    ],
)
def test_a_wrong_conversion_says_which_key_and_what_to_write(response: Any, message: str) -> None:
    with pytest.raises(BadOutput, match=r"^got bad conversion response: ") as error:
        conversion(orjson.dumps(response))
    assert message in str(error.value)


def test_an_unknown_key_is_ignored_with_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    assert admission(b'{"allowed": true, "warning": ["w"]}') == Verdict(allowed=True)
    assert "key 'warning' of the validating response is unknown and ignored; did you mean 'warnings'?" in (
        capfd.readouterr().err
    )


def test_a_review_needs_an_answer() -> None:
    with pytest.raises(BadOutput, match="wrote nothing to VALIDATING_RESPONSE_PATH"):
        verdicts.verdict_of(Answer(), ContextType.VALIDATING)
    with pytest.raises(BadOutput, match="wrote nothing to CONVERSION_RESPONSE_PATH"):
        verdicts.conversion_of(Answer())


def test_only_a_mutating_webhook_may_patch() -> None:
    without, answer = Answer(admission=Verdict(True)), Answer(admission=Verdict(allowed=True, patch=(STEP,)))
    assert verdicts.verdict_of(without, ContextType.VALIDATING) is without.admission
    assert verdicts.verdict_of(answer, ContextType.MUTATING) is answer.admission
    with pytest.raises(BadOutput, match="takes no `patch` from a validating webhook; declare the binding under"):
        verdicts.verdict_of(answer, ContextType.VALIDATING)


@pytest.mark.slow
async def test_a_conversion_that_another_process_reads_is_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    text = b'{"convertedObjects": [{"kind": "A"}], "failedMesage": "x"}' + b" " * verdicts.CONVERSION_BOUNDS.in_place
    assert await verdicts.read_conversion(text) == Converted(JsonObjects.of([{"kind": "A"}]))
    assert "key 'failedMesage' of the conversion response is unknown" in capfd.readouterr().err
    with pytest.raises(BadOutput, match=r"^got bad conversion response: an object is expected"):
        await verdicts.read_conversion(b"[]" + b" " * verdicts.CONVERSION_BOUNDS.in_place)


def test_a_verdict_of_more_than_one_parse_may_take_is_refused() -> None:
    with pytest.raises(BadOutput, match="more than 8 MiB"):
        admission(b'{"message": "%b"}' % (b"x" * (8 << 20)))
