"""How much the webhook servers take at once, and for how long they wait for whom.

Times and sizes are settings of a server (`Limits`); the bound on reviews is one object for all servers (`Bound`). Which
of the admitted reviews runs its hook first is decided where hooks are run (engine/reviews/runs.py): a review that only
waits for snapshots must not keep others from running.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

from hookrunner.metrics.names import Metrics

MEBIBYTE = 1024 * 1024

RETRY_AFTER = "1"
"""Seconds. The API server itself repeats a review that was answered 429 with this header, up to ten times within the
timeout of the webhook (client-go, rest/with_retry.go), so that a short rush is not felt by anybody."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes.

    `idle` has to be longer than the 90 s for which Go's client keeps an idle connection: it cannot repeat a POST, so a
    request that crosses with our closing of the connection ends in `EOF` for whoever made the review (users of
    shell-operator, which closes after 10 s, know it). Go also opens connections that it does not use at once, so the
    same holds for a connection on which nothing came yet.
    """

    arrival: float = 10.0
    """From the first byte of a request to its last."""
    idle: float = 120.0
    """Between requests, and before the first."""
    handshake: float = 10.0
    farewell: float = 5.0
    """For the client to end TLS in its turn."""
    taking: float = 30.0
    """For the client to take its answer."""
    grace: float = 10.0
    """For running reviews when the program stops."""
    admission_body: int = 16 * MEBIBYTE
    """An object and its predecessor have at most 3 MiB each (the API server's own limit for a body)."""
    conversion_body: int = 256 * MEBIBYTE
    """All objects of a kind come in one request if a client lists them unpaged. What is read takes some 5 to 10 times
    the memory of its text."""


class Bound:
    """How many reviews are being answered or wait for their turn, over all servers, and how many may be.

    `most` is `--webhook-concurrency` plus `--webhook-queue`.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._admitted = 0
        metrics.webhook_running.from_function(lambda: [((), self._admitted)])

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """One more review until the end of the `with`. Raises HTTPTooManyRequests, at once, if that is one too many."""
        if self._admitted >= self._most:
            text = f"{self._admitted} reviews are being answered or wait: no more are taken now, ask again\n"
            raise web.HTTPTooManyRequests(text=text, headers={"Retry-After": RETRY_AFTER})
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1
