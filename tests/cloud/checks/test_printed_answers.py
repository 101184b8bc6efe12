"""What is wrong with a provider's answer is a finding, whatever stands where its error code belongs. Level: pure."""

import json

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.checks.printed_answers import AnswerProblem, judge_answer
from hookrunner.cloud.provider import verbs
from kubetypes.json_values import JSON
from tests.tables import each


def judged(**answer: JSON) -> object:
    return judge_answer(json.dumps({"requestID": "r", **answer}).encode(), verbs.LB_GET, "r")


@each("code", [[], ["NotFound"], {}, {"a": 1}, None, 7, True, "", "notFound", "Oops"])
def test_code_that_does_not_exist_is_a_finding(code: JSON) -> None:
    found = judged(error={"code": code, "message": "no"})
    assert isinstance(found, AnswerProblem)
    assert (found.rule, found.text.startswith(f"error code {str(code)!r}: ")) == ("error-code", True)


@each("error", [[], "NotFound", None, 7, {}])
def test_error_of_another_shape_is_a_finding(error: JSON) -> None:
    found = judged(error=error)
    assert isinstance(found, AnswerProblem)
    assert found.rule in ("error-code", "result", "result-or-error")


def test_error_that_is_reported_properly_is_none() -> None:
    found = judged(error={"code": "Unavailable", "message": "no"})
    assert isinstance(found, ProviderError)
    assert found.code is ErrorCode.UNAVAILABLE
