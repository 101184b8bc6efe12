"""The text that a cloud's program prints, as a result or a `ProviderError`.

    answer = read_answer(text)
    result = result_of(answer, INSTANCES, "b1f2")

Strict, because a result may lead to the deletion of a Node: one JSON object with either `result` or `error`, no key
twice, no other request's answer. Whatever else comes is `Unavailable`, and says nothing about the cloud.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias

import orjson

from hookrunner import redaction
from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.wire_requests import API_VERSION
from hookrunner.cloud.shown_texts import Mask, shortened
from kubetypes import json_values
from kubetypes.bounds import DocumentBounds
from kubetypes.json_values import JSON

Answer: TypeAlias = dict[str, JSON]
"""One JSON object that a program has printed, not judged yet."""

ANSWER = DocumentBounds("one answer of a cloud's program", 2 << 20, 100_000)
"""An answer is parsed in the event loop, where nothing else runs meanwhile: this takes tens of milliseconds at most. It
is enough for 2,500 Nodes in a call with 20 labels each, or 7,000 routes with addresses."""
SHORTEST_RETRY, LONGEST_RETRY = 0.1, 3600.0
"""Seconds that `retryAfterSeconds` may mean."""
DEFAULT_PAUSE = 30.0
"""Seconds of `Throttled` without `retryAfterSeconds`."""
_CODES = frozenset(ErrorCode)
_SHORT = 64 << 10
"""Bytes of an answer that may be parsed twice."""


def unavailable(message: str) -> ProviderError:
    """The failure of a call whose answer cannot be used, or that has none."""
    return ProviderError(ErrorCode.UNAVAILABLE, message)


def read_answer(text: bytes) -> Answer:
    """The one JSON object that the text is. Raises ProviderError (`Unavailable`)."""
    if not text.strip():
        raise unavailable("it printed nothing; print one JSON object on standard output")
    try:
        answer = json_values.loads(text, ANSWER)
        _require_unique_keys(text, answer)
    except ValueError as error:
        raise unavailable(f"its standard output is not one JSON object: {shortened(str(error))}") from None
    if not isinstance(answer, dict):
        raise unavailable(f"its standard output must be one JSON object, not {redaction.kind(answer)}")
    return answer


def result_of(answer: Answer, verb: AnyVerb, request_id: str, mask: Mask = str) -> dict[str, JSON]:
    """The `result` of an answer. `NotFound` of the verbs that make something go is an empty one.

    Raises ProviderError: the program's own error, or `Unavailable` for an answer that is not as docs/providers.md says.
    """
    _require_same(answer, "apiVersion", API_VERSION)
    _require_same(answer, "requestID", request_id)
    if ("result" in answer) == ("error" in answer):
        number = "both" if "result" in answer else "neither"
        raise unavailable(f"the answer to {verb} needs either 'result' or 'error', and has {number}")
    if "error" in answer:
        error = read_error(answer["error"], mask)
        return _absent(error, verb)
    result = answer["result"]
    if not isinstance(result, dict):
        raise unavailable(f"the 'result' of {verb} must be an object, not {redaction.kind(result)}")
    return result


def request_id_of(answer: Answer) -> str:
    """To which request this is the answer. Raises ProviderError if it does not say so."""
    request_id = answer.get("requestID")
    if not isinstance(request_id, str) or not request_id:
        raise unavailable("a line of `serve` has no 'requestID': it is needed to find the question")
    return request_id


def read_error(error: JSON, mask: Mask = str) -> ProviderError:
    """What `error` says, of an answer or of one entry of a list."""
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    if not isinstance(code, str) or not code:
        return unavailable("an 'error' needs a 'code', for example Unavailable")
    said = shortened(mask(message)) if isinstance(message, str) and message else "without a message"
    if code not in _CODES:
        return unavailable(f"{said} (unknown code {shortened(mask(code))})")
    return _with_retry(ErrorCode(code), said, error.get("retryAfterSeconds"))


def _with_retry(code: ErrorCode, message: str, seconds: JSON) -> ProviderError:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0
    if code is ErrorCode.PENDING and not is_number:
        return unavailable(f"{message} (Pending needs 'retryAfterSeconds', a number)")
    if code not in (ErrorCode.PENDING, ErrorCode.THROTTLED):
        return ProviderError(code, message)
    wanted = seconds if is_number else DEFAULT_PAUSE
    return ProviderError(code, message, min(max(wanted, SHORTEST_RETRY), LONGEST_RETRY))


def _absent(error: ProviderError, verb: AnyVerb) -> dict[str, JSON]:
    if error.code is not ErrorCode.NOT_FOUND:
        raise error
    if not verb.absent_is_done:
        raise unavailable(f"{verb} cannot fail with NotFound, only lb-update and lb-delete can: {error.reason}")
    return {}


def _require_unique_keys(text: bytes, value: JSON) -> None:
    """Raises ValueError for a key that stands twice in one object: it means different things to different readers.

    orjson keeps the last of equal keys, so that the value has fewer texts than `text`. Compared is their number; to
    parse a second time with Python's `json`, which would see the keys, costs five times as much. That names the key in
    a short text, where a person looks for it.
    """
    if _count_texts(text) == _count_texts(orjson.dumps(value)):
        return
    if len(text) <= _SHORT:
        json.loads(text, object_pairs_hook=_require_unique)
    raise ValueError("a key stands twice in one object")


def _count_texts(document: bytes) -> int:
    """Half the number of quotes that no backslash stands before."""
    return (document.count(b'"') - document.replace(rb"\\", b"").count(rb"\"")) // 2


def _require_unique(pairs: list[tuple[str, JSON]]) -> None:
    seen = set[str]()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key '{redaction.key(key)}' stands twice in one object")
        seen.add(key)


def _require_same(answer: Mapping[str, JSON], key: str, wanted: str) -> None:
    """Left out, or as in the request."""
    if key in answer and answer[key] != wanted:
        raise unavailable(f"the answer has another '{key}' than the request; copy it, or leave it out")
