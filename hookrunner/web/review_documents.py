"""Reviews as the API server writes them, read from their JSON text.

    version, request = await read_review("conversion", body)    # a ConversionRequest

A large one is read in another process: the values of a megabyte are tens of milliseconds of work, to make them and to
free them. For that process nothing of HTTP is imported here: it would take longer to start than to read.
"""

from collections.abc import Sequence

from hookrunner.model.bindings import ReviewKind
from hookrunner.model.json_objects import IN_PLACE
from hookrunner.model.reviews import AdmissionRequest, ConversionRequest
from hookrunner.process.pure_calls import LARGE, SizeBounds, call_by_size
from kubetypes import json_values
from kubetypes.json_values import JSON

_BOUNDS = SizeBounds(IN_PLACE, limits=LARGE)
VALUE_WORK = 8
"""Bytes of JSON that take as long as to make the value of an opening bracket or comma."""


class UnreadableReview(ValueError):
    """No review of this kind. The message is for the client."""


async def read_review(
    kind: ReviewKind, body: bytearray
) -> tuple[str, AdmissionRequest] | tuple[str, ConversionRequest]:
    """The `apiVersion` of a review and its `request`. Raises UnreadableReview, CallLost."""
    if kind == "admission":
        return await call_by_size(_work(body), _BOUNDS, parse_admission, body)
    return await call_by_size(_work(body), _BOUNDS, parse_conversion, body)


def is_read_in_place(body: bytearray) -> bool:
    """Does it take no other process, and so no time to wait for, to read this review?"""
    return _work(body) <= IN_PLACE


def _work(body: bytearray) -> int:
    work = len(body)
    if work <= IN_PLACE:
        work += sum(map(body.count, (b"{", b"[", b","))) * VALUE_WORK
    return work


def parse_admission(body: bytes | bytearray) -> tuple[str, AdmissionRequest]:
    """The `apiVersion` of an AdmissionReview and its `request`. Raises UnreadableReview."""
    version, request = _parsed(body, "AdmissionReview", ("admission.k8s.io/v1", "admission.k8s.io/v1beta1"))
    return version, AdmissionRequest.of(request)


def parse_conversion(body: bytes | bytearray) -> tuple[str, ConversionRequest]:
    """The `apiVersion` of a ConversionReview and its `request`. Raises UnreadableReview."""
    version, request = _parsed(body, "ConversionReview", ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"))
    if not isinstance(request.get("desiredAPIVersion"), str):
        raise _missing("request.desiredAPIVersion")
    objects = request.get("objects")
    if not isinstance(objects, list) or not all(isinstance(obj, dict) for obj in objects):
        raise _missing("request.objects")
    return version, ConversionRequest.of(request)


def _parsed(body: bytes | bytearray, kind: str, versions: Sequence[str]) -> tuple[str, JSON]:
    """Accepts unknown fields, as Go does; refuses `NaN`, undecodable text and excessive nesting, which are not JSON."""
    try:
        review = json_values.loads(body)
    except ValueError as error:
        raise UnreadableReview(f"Invalid JSON payload: {error}") from error
    if not isinstance(review, dict):
        raise UnreadableReview(f"Invalid JSON payload: it has to be an object, a {kind}")
    version, request = str(review.get("apiVersion")), review.get("request")
    if review.get("kind") != kind or version not in versions:
        shown = f"{version} {review.get('kind')}"[:200]
        raise UnreadableReview(f"this path takes a {kind} of {' or '.join(versions)}, not a {shown!r}")
    if not isinstance(request, dict):
        raise _missing("request")
    if not isinstance(request.get("uid"), str):
        raise _missing("request.uid")
    return version, request


def _missing(what: str) -> UnreadableReview:
    return UnreadableReview(f"Missing parameters: {what}")
