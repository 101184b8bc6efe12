"""Kubernetes Events about modules and their configuration, where `kubectl describe` and `kubectl get events` show them.

All are about the ConfigMap: it is what users edit, it is there on every cluster and outlives our Pod, and one look at
it tells the whole story. Repetitions count in the Event that is there. Nothing waits for an Event; one that cannot be
written is logged and forgotten. Needed for it: `create` and `patch` on `events` in our namespace.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (the core kind, which every
version of kubectl shows with its counts).
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from hookrunner import log
from hookrunner.convergence.news import Item, News
from hookrunner.convergence.objects import ConfigObject
from hookrunner.errors import Denied, KubeError, NotFound
from hookrunner.kube import rights
from hookrunner.kube.client import Call, Client
from hookrunner.model.resources import JSON, Resource
from hookrunner.model.status import one_line
from hookrunner.timers import timeout_at
from hookrunner.web.formats import rfc3339

CALM = 1.0
"""Seconds in which more of the same is gathered: a hundred objects that are gone are one Event."""
AGAIN, REPEATED = 10.0, 60.0
"""Seconds between two Events of one subject and reason, and between two counts of the very same."""
LONGEST = 1024
"""Characters of a message."""

_EVENTS = Resource("v1", "Event", "events", True)
_RULE = rights.rule(_EVENTS, ["create", "patch"])
_COMPONENT = "hookrunner"
_log = log.get("events")


@dataclass(eq=False, slots=True)
class _Thread:
    """What is told of one subject for one reason. Times are those of the loop. `waiting` is still to be told, `posted`
    the last Event, with what it says and how often that has happened."""

    subject: str
    waiting: Counter[str] = field(default_factory=Counter)
    bad: bool = True
    told_at: float = 0.0
    posted_at: float = -REPEATED
    posted: JSON = None

    def hear(self, item: Item, now: float) -> None:
        """One more, in one line: `kubectl get events` shows the first, and the reason stands below it."""
        if not self.waiting:
            self.told_at = now
        self.waiting[one_line(item.message)] += 1
        self.bad = item.bad

    @property
    def message(self) -> str:
        """All of it in one, beginning with whom it is about: the Events of all modules stand in one list."""
        text = "; ".join(self.waiting)
        text = text if text.startswith((f"{self.subject}:", f"{self.subject} ")) else f"{self.subject}: {text}"
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    @property
    def repeats(self) -> bool:
        """Is it just what the last Event says?"""
        return self.posted is not None and self.posted["message"] == self.message

    @property
    def due(self) -> float:
        """When it is to be told."""
        return max(self.told_at + CALM, self.posted_at + (REPEATED if self.repeats else AGAIN))


class Events:
    """Writes what `news` tells, about `config`."""

    def __init__(self, client: Client, news: News, config: ConfigObject) -> None:
        self._client = client
        self._news = news
        self._config = config
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._refused = False

    async def post(self) -> None:
        """For ever."""
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with timeout_at(self._next, loop.time()):
                    self._hear(await self._news.some(), loop.time())
            for (_, reason), thread in self._threads.items():
                if thread.waiting and thread.due <= loop.time():
                    await self._tell(reason, thread)
                    thread.posted_at = loop.time()

    @property
    def _next(self) -> float | None:
        return min((thread.due for thread in self._threads.values() if thread.waiting), default=None)

    def _hear(self, items: Iterable[Item], now: float) -> None:
        for item in items:
            self._threads.setdefault((item.subject, item.reason), _Thread(item.subject)).hear(item, now)

    async def _tell(self, reason: str, thread: _Thread) -> None:
        try:
            if not (thread.repeats and await self._counted(thread)):
                event = self._event(reason, thread)
                await self._client.send(Call("POST", _EVENTS.path(self._config.namespace), body=event, timeout=10.0))
                thread.posted = event
            self._refused = False
        except KubeError as error:
            told = rights.explained(error, "write Events", _RULE) if isinstance(error, Denied) else error
            _log.log("debug" if self._refused else "warn", "an Event cannot be written", reason=reason, error=told)
            self._refused = True
        thread.waiting.clear()

    async def _counted(self, thread: _Thread) -> bool:
        """Add to the last Event; False if it is gone, as they are after an hour."""
        news = {"count": thread.posted["count"] + thread.waiting.total(), "lastTimestamp": rfc3339(time.time())}
        path = _EVENTS.path(self._config.namespace, thread.posted["metadata"]["name"])
        call = Call("PATCH", path, body=news, content_type="application/merge-patch+json", timeout=10.0)
        try:
            await self._client.send(call)
        except NotFound:
            return False
        thread.posted |= news
        return True

    def _event(self, reason: str, thread: _Thread) -> JSON:
        namespace, name, now = self._config.namespace, self._config.name, rfc3339(time.time())
        about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{uuid.uuid4().hex[:16]}", "namespace": namespace},
            "involvedObject": about | ({"uid": uid} if (uid := self._config.contents.uid) else {}),
            "type": "Warning" if thread.bad else "Normal",
            "reason": reason,
            "message": thread.message,
            "count": max(thread.waiting.values()),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": _COMPONENT},
            "reportingComponent": _COMPONENT,
            "reportingInstance": "",
        }
