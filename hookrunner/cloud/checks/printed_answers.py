"""What is wrong with the text that a provider prints, in words for its author. Pure.

`provider/wire_answers.py` decides whether an answer counts; here the usual mistakes get a name and a remedy.
"""

import re
from typing import NamedTuple

from hookrunner.cloud.answers import CloudVerb, ErrorCode, ProviderError
from hookrunner.cloud.provider.wire_answers import ANSWER, read_result, shortened
from kubetypes import json_values
from kubetypes.json_values import JSON

_SHOWN = 60


class AnswerProblem(NamedTuple):
    """Which rule an answer breaks, and how."""

    rule: str
    text: str


def find_answer_problem(printed: bytes, verb: CloudVerb, request_id: str) -> AnswerProblem | None:
    """Why this text is no answer; None if it is one, also if it is a proper error."""
    if text := _misprint(printed):
        return AnswerProblem("one-document", text)
    try:
        read_result(printed, verb, request_id)
    except ProviderError as error:
        return _refused(json_values.loads(printed, ANSWER), error) if _is_json(printed) else _unreadable(error)
    return None


def _misprint(printed: bytes) -> str:
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
    return _noise(text)


def _noise(text: str) -> str:
    """What stands before or behind the document; nothing is said of a text that is one."""
    if _is_json(text.encode()):
        return ""
    begin = text.find("{")
    if begin < 0:
        return f"its output is not JSON: '{shortened(text, _SHOWN)}'; messages belong on standard error"
    if before := text[:begin].strip():
        return f"'{shortened(before, _SHOWN)}' stands before the JSON document; messages belong on standard error"
    for line_end in (match.start() for match in re.finditer(r"\}\s*\S", text)):
        if _is_json(text[: line_end + 1].encode()):
            behind = shortened(text[line_end + 1 :].strip(), _SHOWN)
            return f"'{behind}' stands behind the JSON document; print one document"
    if text.count("{") + text.count("[") > text.count("}") + text.count("]"):
        return f"its JSON document ends too early, after '{shortened(text[-_SHOWN:], _SHOWN)}'"
    return ""


def _unreadable(error: ProviderError) -> AnswerProblem:
    return AnswerProblem("one-document", error.reason)


def _refused(answer: JSON, error: ProviderError) -> AnswerProblem | None:
    """The rule that the parsed answer breaks; None for an error that the provider has reported properly."""
    if not isinstance(answer, dict):
        return AnswerProblem("one-document", error.reason)
    reported = answer.get("error")
    if ("result" in answer) != ("error" in answer) and isinstance(reported, dict):
        code = reported.get("code")
        if code in set(ErrorCode) and error.code == code:
            return None
        return AnswerProblem("error-code", f"error code {str(code)[:_SHOWN]!r}: {error.reason}")
    rules = {
        "standard output": "one-document",
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
