"""How much the webhook servers take at once, and for how long they wait for whom.

Times and sizes are settings of a server (`Limits`); the bound on reviews is one object for all servers (`Bound`). Which
of the admitted reviews runs its hook first is decided where hooks are run (engine/reviews/runs.py): a review that only
waits for snapshots must not keep others from running.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

from hookrunner.metrics.names import Metrics

MEBIBYTE = 1024 * 1024

BODIES = 512 * MEBIBYTE
"""Bytes of all requests' bodies together, from when they come until they are answered: whoever reaches a port can send
them, and one review in the queue costs as much memory as one that runs."""

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
    connections: int = 4096
    """Open ones, each of some 80 KiB. More than reviews in the queue, since each review in HTTP/1.1 has its own."""
    handshake: float = 10.0
    farewell: float = 5.0
    """For the client to end TLS in its turn."""
    parting: float = 1.0
    """The same when the program stops."""
    taking: float = 30.0
    """For the client to take its answer."""
    grace: float = 10.0
    """For running reviews when the program stops."""
    admission_body: int = 16 * MEBIBYTE
    """An object and its predecessor have at most 3 MiB each (the API server's own limit for a body)."""
    conversion_body: int = 256 * MEBIBYTE
    """All objects of a kind come in one request if a client lists them unpaged. What is read takes some 5 to 10 times
    the memory of its text, 25 times if it is `{}` again and again."""


class Bound:
    """How many reviews are being answered or wait for their turn, over all servers, and how many may be; and how much
    their bodies take.

    `most` is `--webhook-concurrency` plus `--webhook-queue`.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._admitted = 0
        self._taken = 0
        metrics.webhook_running.from_function(lambda: [((), self._admitted)])

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """One more review until the end of the `with`. Raises HTTPTooManyRequests, at once, if that is one too many."""
        if self._admitted >= self._most:
            raise _enough(f"{self._admitted} reviews are being answered or wait")
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    @contextmanager
    def taking(self) -> Iterator[Callable[[int], None]]:
        """Room for one body until the end of the `with`; what is given has to be told of every byte that comes.

        It raises HTTPTooManyRequests if that is too much. Sizes that clients announce do not count: it costs nothing to
        announce.
        """
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if self._taken + size > BODIES:
                raise _enough(f"reviews that are being answered or wait have {self._taken} bytes")
            self._taken += size
            taken += size

        try:
            yield take
        finally:
            self._taken -= taken


def _enough(there: str) -> web.HTTPTooManyRequests:
    return web.HTTPTooManyRequests(
        text=f"{there}: no more are taken now, ask again\n", headers={"Retry-After": RETRY_AFTER}
    )
