"""What is wrong with the text that a provider prints, in words for its author. Pure.

`provider/wire_answers.py` decides whether an answer counts; here the usual mistakes get a name and a remedy.
"""

import json
from typing import NamedTuple

from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.wire_answers import ANSWER, Answer, read_answer, result_of
from hookrunner.cloud.shown_texts import Mask, shortened
from kubetypes import json_values
from kubetypes.json_values import JSON

_SHOWN = 60


class AnswerProblem(NamedTuple):
    """Which rule an answer breaks, and how."""

    rule: str
    text: str


def judge_answer(
    printed: bytes, verb: AnyVerb, request_id: str, mask: Mask = str
) -> dict[str, JSON] | ProviderError | AnswerProblem:
    """The result of an answer, the error that it properly reports, or why this text is no answer, in words without what
    `mask` takes out."""
    answer: Answer | None = None
    try:
        answer = read_answer(printed)
        return result_of(answer, verb, request_id, mask)
    except ProviderError as error:
        return _find_problem(printed, answer, error, mask) or error


def _find_problem(printed: bytes, answer: Answer | None, error: ProviderError, mask: Mask) -> AnswerProblem | None:
    """Why the text cannot be read, or which rule the answer breaks."""
    if answer is not None:
        return _refused(answer, error, mask)
    return AnswerProblem("one-document", _misprint(printed, mask) or error.reason)


def _misprint(printed: bytes, mask: Mask) -> str:
    if not printed.strip():
        return "it printed nothing on standard output"
    if len(printed) > ANSWER.size:
        return f"it printed more than {ANSWER.size >> 20} MiB"
    if printed.startswith(b"\xef\xbb\xbf"):
        return "its output begins with a byte-order mark; write UTF-8 without one"
    try:
        text = printed.decode().strip()
    except UnicodeDecodeError as error:
        return f"its output is not UTF-8: byte 0x{printed[error.start]:02x} at {error.start}"
    if "\x1b[" in text:
        return "its output has colours or other escape sequences; switch them off where output is no terminal"
    return _noise(text, mask)


def _noise(text: str, mask: Mask) -> str:
    """What stands before or behind the document; nothing is said of a text that is one."""
    if _is_json(text.encode()):
        return ""
    begin = text.find("{")
    if begin < 0:
        return f"its output is not JSON: {_part(text, mask)}; messages belong on standard error"
    if before := text[:begin].strip():
        return f"{_part(before, mask)} stands before the JSON document; messages belong on standard error"
    if behind := text[_end_of_document(text) :].strip():
        return f"{_part(behind, mask)} stands behind the JSON document; print one document"
    if text.count("{") + text.count("[") > text.count("}") + text.count("]"):
        return f"its JSON document ends too early, after '{shortened(mask(text)[-_SHOWN:], _SHOWN)}'"
    return ""


def _part(text: str, mask: Mask) -> str:
    return f"'{shortened(mask(text), _SHOWN)}'"


def _end_of_document(text: str) -> int:
    """Where the JSON document ends that the text begins with; the end of the text without one."""
    try:
        return json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return len(text)


def _refused(answer: Answer, error: ProviderError, mask: Mask) -> AnswerProblem | None:
    """The rule that the answer breaks; None for an error that the provider has reported properly."""
    reported = answer.get("error")
    if ("result" in answer) != ("error" in answer) and isinstance(reported, dict):
        code = reported.get("code")
        if error.code == code:
            return None
        return AnswerProblem("error-code", f"error code {shortened(mask(str(code)), _SHOWN)!r}: {error.reason}")
    rules = {
        "'apiVersion'": "api-version",
        "'requestID'": "request-id",
        "needs either": "result-or-error",
    }
    return AnswerProblem(next((rule for word, rule in rules.items() if word in error.reason), "result"), error.reason)


def _is_json(text: bytes) -> bool:
    try:
        json_values.loads(text, ANSWER)
    except ValueError:
        return False
    return True
