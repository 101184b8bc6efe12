"""Answers to the API server: verdicts, converted objects and failures as JSON.

The API server refuses an answer, or silently drops a part of it, for things that a hook's author cannot know; what
can be corrected without changing the verdict is corrected here.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response,
k8s.io/apiserver: admission/plugin/webhook/request/admissionreview.go, webhook/errors/statuserror.go, attributes.go.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from hookrunner.errors import ReviewFailed
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import DENIED, AdmissionReview, ConversionReview, Verdict

ADMISSION, CONVERSION = "AdmissionReview", "ConversionReview"
"""Kinds of reviews."""

PIECE = 256 * 1024
"""Bytes of a conversion's answer that are made at a time: under a millisecond of work."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_NOT_IN_KEYS = re.compile(r"[^-A-Za-z0-9_.]")
_LONGEST_KEY = 63


def verdict(review: AdmissionReview, given: Verdict) -> bytes:
    """The answer to an admission review.

    A refusal carries no patch: it would not be applied, and a validating webhook's answer with a patch is ignored.
    """
    response: dict[str, object] = {"uid": review.request.uid, "allowed": given.allowed}
    if not given.allowed:
        response["status"] = {"code": _code(given.code), "message": _text(given.message)}
    elif given.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(list(given.patch))).decode()
    if warnings := _warnings(given.warnings):
        response["warnings"] = warnings
    if audit := _audit(given.audit):
        response["auditAnnotations"] = audit
    return orjson.dumps({"apiVersion": review.api_version, "kind": ADMISSION, "response": response})


def refused(review: AdmissionReview, failure: ReviewFailed) -> bytes:
    """The answer where there is no verdict and the failure policy is `Fail`."""
    return verdict(review, Verdict(allowed=False, message=str(failure), code=failure.code))


def converted(review: ConversionReview, objects: JsonObjects) -> Iterator[bytes]:
    """The answer with the objects, in pieces of about `PIECE`."""
    head = _conversion(review, {"status": "Success"})
    # What closes the envelope is put after the objects, which are never held in one more copy.
    head, pieces = head[:-2] + b',"convertedObjects":[', objects.pieces(PIECE)
    piece = head + next(pieces, b"")
    for following in pieces:
        yield piece
        piece = following
    yield piece + b"]}}"


def unconverted(review: ConversionReview, reason: str) -> bytes:
    """The answer to a conversion that failed; `kubectl` shows the reason."""
    message = _text(reason) or f"conversion to {review.request.desired} failed without a message"
    return _conversion(review, {"status": "Failure", "message": message})


def _conversion(review: ConversionReview, result: Mapping[str, str]) -> bytes:
    """The envelope as JSON. It ends with the closing braces of `response` and of itself."""
    response = {"uid": review.request.uid, "result": result}
    return orjson.dumps({"apiVersion": review.api_version, "kind": CONVERSION, "response": response})


def _code(code: int) -> int:
    """A refusal is an HTTP status of 400 to 599; the API server turns less into 400 and breaks on more than 999."""
    return code if 400 <= code <= 599 else DENIED


def _warnings(warnings: Sequence[str]) -> list[str]:
    """Warnings become HTTP headers: one with a control character (a line break) would be dropped without a message."""
    return [text for text in (_CONTROLS.sub(" ", _text(warning)).strip() for warning in warnings) if text]


def _audit(annotations: Mapping[str, str]) -> dict[str, str]:
    """Keys as the API server demands them after `<webhook>/`: it drops others and reports that only in its own log."""
    mended = {_key(key): _text(value) for key, value in annotations.items()}
    mended.pop("", None)
    return mended


def _key(key: str) -> str:
    """At most 63 of letters, digits, `-`, `_` and `.`, the first and the last a letter or digit."""
    return _NOT_IN_KEYS.sub("-", key).strip("-_.")[:_LONGEST_KEY].rstrip("-_.")


def _text(text: str) -> str:
    """Without the halves of characters that Python makes of undecodable bytes: JSON cannot express them."""
    return text.encode("utf-8", "replace").decode()
