"""A webhook server over real TLS, and a reviewer with a memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from hookrunner.errors import ReviewFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import AdmissionReview, ConversionReview, Verdict
from hookrunner.web.listen import on_port
from hookrunner.web.review_limits import MemoryBudget, ReviewBound, ReviewLimits
from hookrunner.web.reviews import Reviews
from hookrunner.web.tls import TlsListener, listening
from kubetypes.json_values import JSON
from tests.web.certificates import Authority

BOTH: tuple[ReviewKind, ...] = ("admission", "conversion")


class ScriptedReviewer:
    """A reviewer that gives scripted answers, records the reviews that it gets, and can be paused."""

    def __init__(
        self, verdict: Verdict | Exception | None = None, objects: Sequence[JSON] | Exception = (), paused: bool = False
    ) -> None:
        self.verdict: Verdict | Exception = verdict or Verdict(True)
        self.objects = objects
        self.lacks = ""
        self.undeclared = set[str]()
        self.reviews: list[AdmissionReview | ConversionReview] = []
        self.cancelled = 0
        self.unpaused = asyncio.Event()
        if not paused:
            self.unpaused.set()
        self.changed = asyncio.Condition()

    async def admit(self, review: AdmissionReview) -> Verdict:
        await self._record(review)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    async def convert(self, review: ConversionReview) -> JsonObjects:
        await self._record(review)
        if isinstance(self.objects, Exception):
            raise self.objects
        return JsonObjects.of(self.objects)

    def unknown(self, kind: ReviewKind, name: str) -> str:
        return "" if name not in self.undeclared else f"no hook answers '{name}'"

    def missing(self) -> str:
        return self.lacks

    async def wait_for_reviews(self, times: int) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.reviews) >= times)

    async def wait_for_cancellations(self, times: int = 1) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.cancelled >= times)

    async def _record(self, review: AdmissionReview | ConversionReview) -> None:
        self.reviews.append(review)
        try:
            await self._notify()
            await self.unpaused.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await self._notify()
            raise

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()


@dataclass(frozen=True, slots=True)
class Served:
    """A running server. `session` trusts its CA."""

    listener: TlsListener
    session: aiohttp.ClientSession
    port: int
    ca: Authority
    metrics: Metrics

    async def post(self, path: str, json: Any = None, **more: Any) -> tuple[int, Any]:
        """Status, and the JSON or text of the answer."""
        body = {"json": json} if json is not None else {}
        async with self.session.post(path, **body, **more) as answer:
            return answer.status, await (answer.json() if answer.content_type == "application/json" else answer.text())


@dataclass(frozen=True, slots=True)
class Setup:
    """How a server differs from the usual."""

    kinds: Sequence[ReviewKind] = BOTH
    limits: ReviewLimits = field(default_factory=ReviewLimits)
    most: int = 1000
    memory: int = 512 << 20
    client_cas: Sequence[Path] = ()


@asynccontextmanager
async def served(reviewer: ScriptedReviewer, setup: Setup | None = None) -> AsyncIterator[Served]:
    setup = setup or Setup()
    metrics, ca = Metrics(), Authority()
    reviews = Reviews(
        reviewer, setup.kinds, ReviewBound(setup.most, MemoryBudget(setup.memory), metrics), metrics, setup.limits
    )
    sock = on_port("127.0.0.1", 0, "--webhook-port")
    port = sock.getsockname()[1]
    pair = ca.server()
    connector = aiohttp.TCPConnector(ssl=ca.client_context(), limit=0)
    async with listening(sock, reviews.answer, setup.client_cas, setup.limits) as listener:
        listener.use(pair.certificate, pair.key)
        async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session:
            yield Served(listener, session, port, ca, metrics)


def admission(**request: Any) -> dict[str, Any]:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", **request}}


def conversion(*objects: Any, wanted: str = "example.com/v2") -> dict[str, Any]:
    request = {"uid": "u-2", "desiredAPIVersion": wanted, "objects": list(objects)}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


def failed(message: str = "Hook failed", code: int = 403, ignorable: bool = False) -> ReviewFailed:
    return ReviewFailed(message, code, ignorable)


def count(metrics: bytes, *words: str) -> float:
    """The sum of the series of reviews whose line has all the words."""
    lines = (line for line in metrics.decode().splitlines() if line.startswith("hookrunner_webhook_reviews_total{"))
    return sum(float(line.split()[-1]) for line in lines if all(word in line for word in words))
