"""What a program asks of the API server, recorded on the way, and sent again by a client that does nothing else.

    async with Recorder(access, directory) as recorder:     # a program uses recorder.kubeconfig
        ...
    recorded = [request.replaced(texts) for request in recorder.between(began, ended)]
    seconds = await replay(cluster, recorded)

Each request waits only for those of the same unit that had been answered before it was sent, so that a replay takes as
long as the API server and a bare client need.
"""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from benchmarks.cluster import Cluster, Refused
from tests.faults.exchange import Exchange
from tests.faults.proxy import Proxy

_AT_ONCE = 24
"""As many as hookrunner has under way."""

_UNIT = re.compile(r"\bunit-([a-z]{2})\b|/units/([a-z]{2})\b|\bunit\.[\w-]+\.([a-z]{2})\b")
"""A name that belongs to a unit: of its objects, of the instance, of its release."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request with its raw `target`, when it was sent and answered, in epoch seconds, and how (`status`)."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: str
    sent: float
    answered: float
    status: int

    @property
    def unit(self) -> str:
        """The two letters of the unit that it is about, empty if it is about none."""
        found = _UNIT.search(self.target) or _UNIT.search(self.body)
        return next(filter(None, found.groups()), "") if found else ""

    def as_dry_run(self, before: float) -> "RecordedRequest":
        """The same as a dry run, answered just before another request was sent."""
        target = f"{self.target}{'&' if '?' in self.target else '?'}dryRun=All"
        return replace(self, target=target, sent=before - 2e-6, answered=before - 1e-6)

    def replaced(self, texts: Mapping[str, str]) -> "RecordedRequest":
        """With other texts in place of some, and for whatever state an object is in."""
        target, body = self.target, _without_version(self.body)
        for text, other in texts.items():
            target, body = target.replace(text, other), body.replace(text, other)
        return replace(self, target=target, body=body)


class Recorder(Proxy):
    """A proxy that keeps all requests but watches."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recorded: list[RecordedRequest] = []

    def between(self, begin: float, end: float) -> list[RecordedRequest]:
        """What was sent between these times (epoch seconds), in this order."""
        chosen = (request for request in self._recorded if begin <= request.sent <= end)
        return sorted(chosen, key=lambda request: request.sent)

    async def _forward(self, exchange: Exchange, incoming: web.BaseRequest, body: bytes) -> web.StreamResponse:
        sent = time.time()
        response = await super()._forward(exchange, incoming, body)
        if "watch" not in incoming.query:
            headers = {name: incoming.headers[name] for name in ("Content-Type", "Accept") if name in incoming.headers}
            whole = incoming.method, incoming.path_qs, headers, body.decode(), sent, time.time(), response.status
            self._recorded.append(RecordedRequest(*whole))
        return response


async def replay(cluster: Cluster, recorded: Sequence[RecordedRequest]) -> float:
    """Send them as they were recorded; the seconds that it takes. Raises Refused if one is refused that was not."""
    turn = asyncio.Semaphore(_AT_ONCE)
    units = defaultdict[str, list[tuple[float, asyncio.Task[None]]]](list)

    async def send(request: RecordedRequest, earlier: Sequence[asyncio.Task[None]]) -> None:
        if earlier:
            await asyncio.wait(earlier)
        async with turn:
            status = await cluster.repeat(request.method, request.target, request.headers, request.body)
        if status >= 300 > request.status:
            raise Refused(f"{request.method} {request.target} → {status}, and was {request.status} when recorded")

    began = time.perf_counter()
    for request in recorded:
        others = units[request.unit]
        earlier = [task for answered, task in others if answered <= request.sent]
        others.append((request.answered, asyncio.create_task(send(request, earlier))))
    await asyncio.gather(*(task for others in units.values() for _, task in others))
    return time.perf_counter() - began


def _without_version(body: str) -> str:
    """A body without the resourceVersion that it was made for."""
    if '"resourceVersion"' not in body:
        return body
    document = json.loads(body)
    document.get("metadata", {}).pop("resourceVersion", None)
    return json.dumps(document)
