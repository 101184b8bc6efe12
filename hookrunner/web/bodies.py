"""The body of a request: whether we want it at all, how much of it we take, what it costs to parse, what it says.

Everything that is refused is an `aiohttp.web.HTTPException` with a text. How long a body may take to arrive is not
looked at here (connections.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson
from aiohttp import HttpVersion11, web

from hookrunner.model.resources import JSON
from hookrunner.model.reviews import AdmissionRequest
from hookrunner.web.parsing_cost import ParsingCost
from kubetypes import json_values

_WORST = 40
"""No text takes more times its size when it is parsed."""


@dataclass(frozen=True, slots=True)
class Most:
    """What a body may have: bytes, and bytes that parsing it takes. Below `uncounted` of the latter nothing is counted,
    and the worst is assumed."""

    size: int
    cost: int
    uncounted: int


def check(request: web.BaseRequest, most: int) -> None:
    """Refuse by the head alone. Raises HTTPUnsupportedMediaType, HTTPRequestEntityTooLarge, HTTPExpectationFailed."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Content-Type must be application/json\n")
    # A few bytes of gzip can be gigabytes; the API server never compresses what it asks.
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="compressed bodies are not taken: send it without Content-Encoding\n")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    if request.headers.get("Expect", "100-continue").lower() != "100-continue":
        raise web.HTTPExpectationFailed(text="the only expectation that can be met is 100-continue\n")


async def read(request: web.BaseRequest, most: Most, take: Callable[[int], None]) -> tuple[bytearray, int]:
    """The whole body, and what parsing it will take; `take` is given the size of each piece, and may raise.

    Raises HTTPRequestEntityTooLarge as soon as one of them is more than `most`.
    """
    _encourage(request)
    body, counter = bytearray(), ParsingCost()
    while chunk := await request.content.readany():
        take(len(chunk))
        counting = _worst(body) > most.uncounted
        body += chunk
        if len(body) > most.size:
            raise _too_large(most.size)
        if _worst(body) > most.uncounted:
            counter.feed(chunk if counting else bytes(body))
        if counter.estimate > most.cost:
            raise _too_costly(most.cost)
    return body, min(_worst(body), max(counter.estimate, most.uncounted))


async def drain(request: web.BaseRequest) -> None:
    """Let the rest of the body pass, so that the connection can be used again."""
    while await request.content.readany():
        pass


def _worst(body: bytearray) -> int:
    return len(body) * _WORST


def admission(body: bytearray) -> tuple[str, AdmissionRequest]:
    """The `apiVersion` of an AdmissionReview and its `request`. Raises HTTPBadRequest."""
    version, request = _parsed(body, "AdmissionReview", ("admission.k8s.io/v1", "admission.k8s.io/v1beta1"))
    try:
        return version, AdmissionRequest.of(request)
    except orjson.JSONEncodeError as error:
        raise web.HTTPBadRequest(text="Invalid JSON payload: nested too deep\n") from error


def conversion(body: bytearray) -> tuple[str, JSON]:
    """The same of a ConversionReview, whose request stays as it was parsed."""
    version, request = _parsed(body, "ConversionReview", ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"))
    if not isinstance(request.get("desiredAPIVersion"), str):
        raise _missing("request.desiredAPIVersion")
    objects = request.get("objects")
    if not isinstance(objects, list) or not all(isinstance(obj, dict) for obj in objects):
        raise _missing("request.objects")
    return version, request


def _parsed(body: bytearray, kind: str, versions: Sequence[str]) -> tuple[str, JSON]:
    """Unknown fields are as welcome as in Go; `NaN`, undecodable text and bottomless nesting are not JSON for us."""
    try:
        review = json_values.loads(body)
    except ValueError as error:
        raise web.HTTPBadRequest(text=f"Invalid JSON payload: {error}\n") from error
    if not isinstance(review, dict):
        raise web.HTTPBadRequest(text=f"Invalid JSON payload: it has to be an object, a {kind}\n")
    version, request = str(review.get("apiVersion")), review.get("request")
    if review.get("kind") != kind or version not in versions:
        shown = f"{version} {review.get('kind')}"[:200]
        raise web.HTTPBadRequest(text=f"this path takes a {kind} of {' or '.join(versions)}, not a {shown!r}\n")
    if not isinstance(request, dict):
        raise _missing("request")
    if not isinstance(request.get("uid"), str):
        raise _missing("request.uid")
    return version, request


def _missing(what: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=f"Missing parameters: {what}\n")


def _encourage(request: web.BaseRequest) -> None:
    """aiohttp leaves this to the routes of an application, and there is none."""
    if "Expect" in request.headers and request.version >= HttpVersion11 and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _too_costly(most: int) -> web.HTTPRequestEntityTooLarge:
    text = f"parsing the body would take more than {most} bytes of memory: it has too many values for its size\n"
    return web.HTTPRequestEntityTooLarge(most, most + 1, text=text)


def _too_large(most: int) -> web.HTTPRequestEntityTooLarge:
    return web.HTTPRequestEntityTooLarge(most, most + 1, text=f"the body is larger than {most} bytes\n")
