"""Reviews over HTTP: the paths, the deadline of each review, and the answers.

`POST /hooks/<id>` is an admission review, `POST /<name of a CRD>` a conversion review; `GET /healthz` and `GET /readyz`
are for probes; other paths do not exist. A `Reviewer` decides; hooks are not known here.

Any client may send anything, so memory is bounded: a path that no hook answers is refused by the head alone. A
review is parsed only to be checked, and waits and runs as text; large ones are parsed in other processes, two at a
time. A conversion review is parsed when its turn for the memory comes, and has that until it is answered.

What the API server does (k8s.io/apiserver v0.36, pkg/util/webhook/authentication.go, and asked of a real one): it adds
`?timeout=` to both kinds, the webhook's `timeoutSeconds` (10 s unless told otherwise, rounded up to whole seconds) to
admission reviews, 30 s to conversions, where nothing can be set. When that time is over it closes the connection.
"""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import TypeAlias

from aiohttp import web

from hookrunner import log, options
from hookrunner.errors import ReviewFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import SHOWN, AdmissionRequest, AdmissionReview, ConversionReview, Reviewer, Verdict
from hookrunner.process.pure_calls import CallLost
from hookrunner.web import review_answers, review_bodies
from hookrunner.web.review_bodies import Most
from hookrunner.web.review_documents import UnreadableReview, is_read_in_place, read_review
from hookrunner.web.review_limits import MEBIBYTE, TREE, ReviewBound, ReviewLimits, enough
from kubetypes.http_connections import Pieces

Outcome: TypeAlias = tuple[web.Response, str]
"""An answer, and the word for it in the metrics."""

DEFAULT_TIMEOUT: dict[ReviewKind, float] = {"admission": 10.0, "conversion": 30.0}
LONGEST_TIMEOUT = 30.0
MARGIN = 0.2
"""Seconds before the API server's own timeout at which the answer is due: it has to travel."""
PARSED_APART = 2
"""Large reviews that are parsed at once, each in a process of its own."""
GUARD = 0.1
"""Seconds by which a reviewer may miss the deadline."""

_log = log.get(__name__)


class Reviews:
    """Answers of a webhook port: `answer` is for a `TlsListener`, `kinds` are the reviews that are accepted there."""

    def __init__(
        self,
        reviewer: Reviewer,
        kinds: Iterable[ReviewKind],
        bound: ReviewBound,
        metrics: Metrics,
        limits: ReviewLimits | None = None,
    ) -> None:
        limits = limits or ReviewLimits()
        self._reviewer = reviewer
        self._kinds = frozenset(kinds)
        self._bound = bound
        self._metrics = metrics
        half = bound.budget.half
        self._most: dict[ReviewKind, Most] = {
            "admission": _most(limits.admission_body, half, limits.admission_body * TREE),
            "conversion": _most(limits.conversion_body, half, MEBIBYTE),
        }
        self._labels = set[str]()
        self._apart = asyncio.Semaphore(PARSED_APART)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """Answer a request. Raises nothing but CancelledError, when the client has gone."""
        try:
            return await self._route(request)
        except web.HTTPException as refusal:
            kept = {name: refusal.headers[name] for name in ("Allow", "Retry-After") if name in refusal.headers}
            return web.Response(status=refusal.status, text=refusal.text, headers=kept)
        except Exception as error:
            _log.error("a review met a bug, please report it", path=request.path, exc_info=error)
            return _failed(f"Internal error: {type(error).__name__}, see the log of hookrunner")

    async def _route(self, request: web.BaseRequest) -> web.Response:
        path = request.path
        match [segment for segment in path.split("/") if segment]:
            case ["healthz"]:
                _only(request, "GET", "HEAD")
                return web.Response(text="ok\n")
            case ["readyz"]:
                _only(request, "GET", "HEAD")
                missing = self._reviewer.missing()
                return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)
            case ["hooks", *names] if names and "admission" in self._kinds:
                return await self._accept_review(request, "admission", "/".join(names))
            # The name of a CRD is `<plural>.<group>`.
            case [definition] if "." in definition and "conversion" in self._kinds:
                return await self._accept_review(request, "conversion", definition)
        raise web.HTTPNotFound(text=f"{path}: there is nothing here but webhooks\n")

    async def _accept_review(self, request: web.BaseRequest, kind: ReviewKind, name: str) -> web.Response:
        began, most = asyncio.get_running_loop().time(), self._most[kind]
        self._check_known(kind, name, began)
        _only(request, "POST")
        review_bodies.check(request, most.size)
        try:
            with self._bound.taking() as take:
                deadline = began + allowance(request.query.get("timeout", ""), DEFAULT_TIMEOUT[kind])
                body, cost = await review_bodies.read(request, most, take)
                async with AsyncExitStack() as room:
                    room.enter_context(self._bound.admitted())
                    if kind == "conversion":
                        await self._bound.take_room(room, cost, deadline)
                    review = await self._read_review(kind, name, body, deadline)
                    del body  # an admission's is there once more, and a conversion's is needed no more
                    return await self._review_and_count(kind, name, review, began)
        except web.HTTPTooManyRequests:
            self._count(kind, name, "limit", began)
            await review_bodies.drain(request)
            raise

    async def _read_review(
        self, kind: ReviewKind, name: str, body: bytearray, deadline: float
    ) -> AdmissionReview | ConversionReview:
        """Raises HTTPBadRequest, HTTPTooManyRequests at the deadline, HTTPInternalServerError."""
        try:
            if is_read_in_place(body):
                version, request = await read_review(kind, body)
            else:
                async with asyncio.timeout_at(deadline), self._apart:
                    version, request = await read_review(kind, body)
        except UnreadableReview as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        except TimeoutError:
            raise enough("reviews that are being parsed take all the time") from None
        except CallLost as lost:
            raise web.HTTPInternalServerError(text=f"the review cannot be parsed: {lost}\n") from None
        if isinstance(request, AdmissionRequest):
            return AdmissionReview(name, version, request, deadline)
        return ConversionReview(name, version, request, deadline)

    def _check_known(self, kind: ReviewKind, name: str, began: float) -> None:
        """Raises HTTPNotFound."""
        if reason := self._reviewer.unknown(kind, name):
            _log.warn("review refused", type=kind, reason=reason[:SHOWN])
            self._count(kind, name, "unknown", began)
            raise web.HTTPNotFound(text=f"{reason[:SHOWN]}\n")

    async def _review_and_count(
        self, kind: ReviewKind, name: str, review: AdmissionReview | ConversionReview, began: float
    ) -> web.Response:
        result = "failed"
        try:
            response, result = await self._outcome(review)
            return response
        except asyncio.CancelledError:
            _log.debug("the API server has given up a review", type=kind, webhook=name)
            raise
        finally:
            self._count(kind, name, result, began)

    async def _outcome(self, review: AdmissionReview | ConversionReview) -> Outcome:
        """Verdict or failure. The reviewer minds the deadline itself, and knows the failure policy; this is a guard."""
        try:
            async with asyncio.timeout_at(review.deadline + GUARD):
                if isinstance(review, AdmissionReview):
                    return _decided(review, await self._reviewer.admit(review))
                objects = await self._reviewer.convert(review)
        except ReviewFailed as failure:
            return _without_verdict(review, failure), "failed"
        except TimeoutError:
            late = ReviewFailed("hookrunner had no answer by the deadline", ignorable=True)
            return _without_verdict(review, late), "failed"
        return await _render_conversion(review, objects), "converted"

    def _count(self, kind: ReviewKind, name: str, result: str, began: float) -> None:
        """A path can be anything, and a label is never removed: only names that a hook has answered become labels."""
        if result not in ("failed", "limit", "unknown"):
            self._labels.add(name)
        label = name if name in self._labels else ""
        self._metrics.webhook_reviews.inc(kind, label, result)
        self._metrics.webhook_seconds.observe(asyncio.get_running_loop().time() - began, kind, label, "total")


def allowance(timeout: str, default: float) -> float:
    """Seconds that a review may take: the query's Go duration less the margin; nonsense there is the default."""
    try:
        seconds = options.duration(timeout)
    except ValueError:
        seconds = default
    if seconds <= 0:
        seconds = default
    seconds = min(seconds, LONGEST_TIMEOUT)
    return seconds - min(MARGIN, seconds / 2)


def _most(size: int, half: int, uncounted: int) -> Most:
    cost = min(size * TREE, half)
    return Most(min(size, half), cost, min(uncounted, cost))


def _only(request: web.BaseRequest, *methods: str) -> None:
    if request.method not in methods:
        text = f"{request.path} takes {' and '.join(methods)} only\n"
        raise web.HTTPMethodNotAllowed(request.method, methods, text=text)


def _decided(review: AdmissionReview, verdict: Verdict) -> Outcome:
    if not verdict.allowed:
        subject = review.request.subject
        _log.info("review denied", webhook=review.webhook, reason=verdict.message[:SHOWN], **subject)
    return _json(review_answers.verdict(review, verdict)), "allowed" if verdict.allowed else "denied"


def _without_verdict(review: AdmissionReview | ConversionReview, failure: ReviewFailed) -> web.Response:
    """A failed call where the API server is to ignore it, a refusal elsewhere."""
    reason = str(failure)[:SHOWN]
    if isinstance(review, ConversionReview):
        _log.warn("review failed", webhook=review.definition, reason=reason)
        return _json(review_answers.unconverted(review, str(failure)))
    _log.warn("review failed", webhook=review.webhook, reason=reason, **review.request.subject)
    return _failed(str(failure)) if failure.ignorable else _json(review_answers.refused(review, failure))


async def _render_conversion(review: ConversionReview, objects: JsonObjects) -> web.Response:
    """Large answers are made piece by piece, so that other reviews come in between."""
    pieces = []
    for piece in review_answers.converted(review, objects):
        pieces.append(piece)
        await asyncio.sleep(0)
    return _json(*pieces)


def _json(*pieces: bytes) -> web.Response:
    body = pieces[0] if len(pieces) == 1 and len(pieces[0]) <= review_answers.PIECE else Pieces(pieces)
    return web.Response(body=body, headers={"Content-Type": "application/json"})


def _failed(text: str) -> web.Response:
    """No Retry-After here: the API server would ask again at once."""
    return web.Response(text=f"{text}\n", status=500)
