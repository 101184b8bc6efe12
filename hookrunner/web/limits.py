"""How much the webhook servers take at once, and for how long they wait for whom.

Times and sizes are settings of a server (`Limits`); the bound on reviews is one object for all servers (`Bound`), with
the budget of their memory (`budget.py`). Which of the admitted reviews runs its hook first is decided where hooks are
run (engine/reviews/review_runs.py): a review that only waits for snapshots must not keep others from running.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

from aiohttp import web

from hookrunner.metrics.names import Metrics
from hookrunner.web.budget import Budget, Exhausted

MEBIBYTE = 1024 * 1024

TREE = 4
"""How many times the largest body may be taken by a parsed one. A list of `{}` takes 25 times its own text, an object
as people write them 6 times; those that come near the largest body are mostly long strings."""

CONNECTIONS = 4096

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
    connections: int = CONNECTIONS
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
    admission_body: int = 8 * MEBIBYTE
    """An object and its predecessor have at most 3 MiB each (the API server's own limit for a body)."""
    conversion_body: int = 64 * MEBIBYTE
    """All objects of a kind come in one request if a client lists them unpaged."""


class Bound:
    """How many reviews are being answered or wait for their turn, over all servers, and how many may be.

    `most` is `--webhook-concurrency` plus `--webhook-queue`; `budget` is for what their bodies take.
    """

    def __init__(self, most: int, budget: Budget, metrics: Metrics) -> None:
        self.budget = budget
        self._most = most
        self._admitted = 0
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
        """Room for the body of one review until the end of the `with`; what is given has to be told of every byte that
        comes. Raises HTTPTooManyRequests, at once, if that is too much."""
        with self.budget.taking() as take:
            try:
                yield take
            except Exhausted as error:
                raise _enough(f"reviews that are being answered or wait have {error} bytes") from error

    async def room(self, stack: AsyncExitStack, cost: int, deadline: float) -> None:
        """Room for one parsed body until the end of `stack`. Raises HTTPTooManyRequests if there is none before the
        deadline."""
        try:
            async with asyncio.timeout_at(deadline):
                await stack.enter_async_context(self.budget.parsing(cost))
        except TimeoutError:
            raise _enough(f"reviews that are being answered have all {self.budget.half} bytes for parsing") from None


def _enough(there: str) -> web.HTTPTooManyRequests:
    return web.HTTPTooManyRequests(
        text=f"{there}: no more are taken now, ask again\n", headers={"Retry-After": RETRY_AFTER}
    )
