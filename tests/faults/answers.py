"""Answers that the proxy gives itself, in the API server's words (API conventions, Response Status Kind), and answers
that it loses."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from aiohttp import web

from tests.faults.exchange import Request

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(slots=True)
class Turns:
    """Which requests meet a fault: of those that match the first of every so many, `left` times."""

    match: str
    left: int
    every: int = 1
    came: int = 0

    def take(self, request: Request) -> bool:
        """Does this request meet it? It is counted."""
        if not (self.left and request.matches(self.match)):
            return False
        self.came += 1
        meets = self.came % self.every == 1 % self.every
        self.left -= meets
        return meets


@dataclass(slots=True)
class Countdown:
    """The request that is number `left` of those that count meets a fault, and no other one."""

    counts: Callable[[Request], bool]
    left: int

    def take(self, request: Request) -> bool:
        """Does this request meet it?"""
        if self.left < 0 or not self.counts(request):
            return False
        self.left -= 1
        if self.left:
            return False
        self.left = -1
        return True

    def spare(self) -> bool:
        """Let none meet it any more; whether none has."""
        has_none = self.left > 0
        self.left = -1
        return has_none


@dataclass(slots=True)
class Loss:
    """The connection breaks: before the request has arrived, or, if it is `forwarded`, before its answer comes back.
    At that moment `then` is called."""

    turns: Turns | Countdown
    forwarded: bool
    then: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Answer:
    """A status in place of the API server's answer; `retry_after` is in seconds."""

    turns: Turns
    status: int
    retry_after: int | None

    def response(self) -> web.Response:
        """Return it as a Status object, with `Retry-After` if wanted."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response(status_object(self.status, self.retry_after), status=self.status, headers=headers)


def status_object(code: int, retry_after: int | None = None) -> dict[str, Any]:
    """Return a Failure Status as the API server words it."""
    details = {} if retry_after is None else {"retryAfterSeconds": retry_after}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the fault proxy says: {HTTPStatus(code).phrase}",
        "reason": REASONS.get(code, ""),
        "details": details,
        "code": code,
    }


def expired() -> dict[str, Any]:
    """Return the watch event that tells that the resourceVersion is too old."""
    return {"type": "ERROR", "object": status_object(410)}
