"""The response files of webhooks: a hook's verdict on an admission review, and the objects that it has converted.

Ours alone are `code`, `auditAnnotations`, and `patch` as the JSON itself. Keys may be in any case, and a null is
a missing key, as the predecessor reads them. An unknown key is ignored with a warning in the log.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence

from hookrunner import log, redaction
from hookrunner.errors import BadOutput, NoAnswer
from hookrunner.hooks import documents, patches
from hookrunner.model.contexts import ContextType
from hookrunner.model.json_objects import IN_PLACE, JsonObjects
from hookrunner.model.operations import Answer
from hookrunner.model.reviews import DENIED, Converted, Verdict
from hookrunner.process.pure_calls import LARGE, SizeBounds, call_by_size
from hookrunner.shapes import (
    ANY_VALUE,
    FLAG,
    TEXT,
    TEXTS,
    Integer,
    Many,
    Problem,
    Shape,
    Table,
    check,
    suggestion,
)
from kubetypes import json_values
from kubetypes.bounds import in_units
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

# Codes below 400 become 400 in the API server, and those beyond 599 are no refusal to any client.
_CODE = Integer(400, 599)
ADMISSION: Mapping[str, Shape] = {
    "allowed": FLAG,
    "message": TEXT,
    "code": _CODE,
    "warnings": Many(TEXT, at_least=0),
    "auditAnnotations": TEXTS,
    "patch": ANY_VALUE,
}
CONVERSION: Mapping[str, Shape] = {"failedMessage": TEXT, "convertedObjects": ANY_VALUE}
CONVERSION_BOUNDS = SizeBounds(
    IN_PLACE // 2,
    limits=LARGE,
    error=lambda size, lost: BadOutput(f"the conversion response of {size:,} bytes cannot be read: {lost}"),
)
"""Half of a review's, which is read twice as fast."""
_MOST_WARNINGS = 20
_OBJECTS = Many(Table({}, open=True), at_least=0)

_log = log.get(__name__)


def admission(text: bytes) -> Verdict | None:
    """What the admission response file says, None if it is empty. Raises BadOutput with every problem."""
    if len(text) > documents.AT_ONCE:
        raise BadOutput(f"got bad validating response: more than {in_units(documents.AT_ONCE)}; write less of a patch")
    return to_verdict(_first(text, "validating")) if text else None


def to_verdict(value: JSON) -> Verdict:
    """The same for a value that has been read."""
    response, unknown = _checked(value, "validating", ADMISSION)
    _warn_of(unknown, "validating", ADMISSION)
    patch = _decoded(response.get("patch"))
    if patch != [] and (wrong := list(patches.step_problems(patch, "patch"))):
        raise _bad("validating", wrong)
    return Verdict(
        allowed=response.get("allowed", False),
        message=response.get("message", ""),
        code=int(response.get("code", DENIED)),
        warnings=tuple(response.get("warnings", ())),
        audit=response.get("auditAnnotations", {}),
        patch=tuple(patch),
    )


def conversion(text: bytes) -> Converted | None:
    """What the conversion response file says, None if it is empty. Raises BadOutput with every problem."""
    converted, unknown = parse_conversion(text)
    _warn_of(unknown, "conversion", CONVERSION)
    return converted


async def read_conversion(text: bytes) -> Converted | None:
    """The same, in another process for a long text."""
    converted, unknown = await call_by_size(len(text), CONVERSION_BOUNDS, parse_conversion, text)
    _warn_of(unknown, "conversion", CONVERSION)
    return converted


def parse_conversion(text: bytes) -> tuple[Converted | None, Sequence[str]]:
    """The same without a warning, and the unknown keys: a pure function."""
    return to_converted(_first(text, "conversion")) if text else (None, ())


def to_converted(value: JSON) -> tuple[Converted, Sequence[str]]:
    """The same for a value that has been read."""
    response, unknown = _checked(value, "conversion", CONVERSION)
    objects = response.get("convertedObjects", [])
    # Thousands of objects that are as they should be are not worth 35 ms of looking for words about what they are not.
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise _bad("conversion", list(check(objects, _OBJECTS, "convertedObjects")))
    return Converted(JsonObjects.of(objects), response.get("failedMessage", "")), unknown


def verdict_of(answer: Answer, kind: ContextType) -> Verdict:
    """The verdict of a run that was about an admission review of this type.

    Raises BadOutput if it is missing, or one that the API server would not take.
    """
    if answer.admission is None:
        raise NoAnswer("the hook wrote nothing to VALIDATING_RESPONSE_PATH: the API server would refuse the operation")
    if kind is ContextType.VALIDATING and answer.admission.patch:
        text = "the API server takes no `patch` from a validating webhook; declare the binding under kubernetesMutating"
        raise BadOutput(f"got bad validating response: {text}")
    return answer.admission


def conversion_of(answer: Answer) -> Converted:
    """What came of a run that was about a conversion. Raises BadOutput if there is nothing."""
    if answer.conversion is None:
        raise NoAnswer("the hook wrote nothing to CONVERSION_RESPONSE_PATH: the API server would get a failure")
    return answer.conversion


def _first(text: bytes, kind: str) -> JSON:
    """The first JSON value of a file."""
    try:
        return documents.first_json(text)
    except BadDocument as error:
        raise BadOutput(f"got bad {kind} response: {error}; write one JSON object") from None


def _checked(value: JSON, kind: str, keys: Mapping[str, Shape]) -> tuple[JSON, Sequence[str]]:
    """The keys of a response, and those that are unknown. `null` says as little as `{}`."""
    response = documents.folded(value, keys, was_json=True)
    if not isinstance(response, dict):
        raise BadOutput(f"got bad {kind} response: an object is expected, not {redaction.described(response)}")
    if wrong := list(check(response, Table(keys, open=True))):
        raise _bad(kind, wrong)
    return response, sorted(response.keys() - keys.keys())


def _warn_of(unknown: Sequence[str], kind: str, keys: Mapping[str, Shape]) -> None:
    for key in unknown[:_MOST_WARNINGS]:
        advice = suggestion(key, keys) or f"; known are {', '.join(keys)}"
        _log.warn(f"key '{redaction.key(key)}' of the {kind} response is unknown and ignored{advice}")
    if len(unknown) > _MOST_WARNINGS:
        _log.warn(f"unknown keys of the {kind} response are ignored", more=len(unknown) - _MOST_WARNINGS)


def _decoded(patch: JSON) -> JSON:
    """A patch is written as the base64 of its JSON, lines broken or not, or as the JSON itself."""
    if not isinstance(patch, str):
        return [] if patch is None else patch
    try:
        decoded = base64.b64decode(patch.replace("\n", "").replace("\r", ""), validate=True)
        return json_values.loads(decoded or b"[]")
    except (binascii.Error, ValueError):
        text = "is neither the base64 of a JSON patch nor the patch itself; write [{op: …, path: …, value: …}]"
        raise _bad("validating", [Problem("patch", text)]) from None


def _bad(kind: str, problems: list[Problem]) -> BadOutput:
    return BadOutput(f"got bad {kind} response: {'; '.join(map(str, _shown(problems)))}")


def _shown(problems: list[Problem]) -> Iterator[Problem | str]:
    """The first few: thousands of converted objects may be wrong in the same way."""
    yield from problems[:5]
    if len(problems) > 5:
        yield f"and {len(problems) - 5} more"
