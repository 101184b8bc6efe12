"""What users should hear about modules and their configuration: notices, written as Kubernetes Events, where
`kubectl describe` and `kubectl get events` show them.

To publish a notice never waits and never fails. Events of a subject that is an object, an instance of an addon, are
about that object. All others are about the ConfigMap: it is what users edit, it exists on every cluster and outlives
our Pod, and one look at it shows everything. Repetitions are counted in the existing Event. Nothing waits for an Event;
one that cannot be written is logged and forgotten. It needs the rights `create` and `patch` on `events` in our
namespace, and in those of instances.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (the core kind, which every
version of kubectl shows with its counts).
"""

import asyncio
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from hookrunner import log
from hookrunner.engine.run_gate import Notifier
from hookrunner.errors import Denied, KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.resources import ObjectReference, Resource
from hookrunner.model.status import one_line
from hookrunner.model.timestamps import rfc3339
from kubetypes.json_values import JSON
from kubetypes.timers import timeout_at

CALM = 1.0
"""Seconds in which notices of one subject and reason are gathered: a hundred deleted objects are one Event."""
AGAIN, REPEATED = 10.0, 60.0
"""Seconds between two Events of one subject and reason, and between two counts of the very same."""
LONGEST = 1024
"""Characters of a message."""

NAMESPACE_OF_CLUSTER = "default"
"""The namespace of Events about objects without a namespace, as kubectl and the API server have it."""

_MOST = 1000
"""Notices that are kept while no Event can be written; then the oldest are dropped."""

_EVENTS = Resource("v1", "Event", "events", True)
_RULE = refusals.rbac_rule(_EVENTS, ["create", "patch"])
_COMPONENT = "hookrunner"
_OPTIONS = WriteOptions(timeout=10.0)
_log = log.get("events")


@dataclass(frozen=True, slots=True)
class Notice:
    """`subject` is a module, a release or a section of the configuration; `reason` one word in CamelCase, `message` for
    a person; `bad` means that a person should look at it."""

    subject: str
    reason: str
    message: str
    bad: bool = True


class Notices:
    """Notices in the order in which they were published; for one reader. Between `begin` and `end` a subject is an
    object, which its Events are about."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=_MOST)
        self._published = Notifier()
        self._objects: dict[str, ObjectReference] = {}
        self._ended: set[str] = set()
        self._is_news = False
        """Was anything published or ended since the last batch?"""

    def begin(self, subject: str, about: ObjectReference) -> None:
        """A subject is this object, which is new, or another one than before."""
        self._objects[subject] = about
        self._ended.discard(subject)

    def end(self, subject: str) -> None:
        """It is gone. Its last notices may still be written."""
        self._ended.add(subject)
        self._wake()

    def about(self, subject: str) -> ObjectReference | None:
        """The object that Events of a subject are about, None for the ConfigMap."""
        return self._objects.get(subject)

    @property
    def ended(self) -> tuple[str, ...]:
        """The subjects that are gone, not forgotten, and of which no notice is unread."""
        return tuple(self._ended - {notice.subject for notice in self._notices})

    def forget(self, subject: str) -> None:
        """The last notice of a subject that is gone was written."""
        self._ended.discard(subject)
        self._objects.pop(subject, None)

    def publish(self, notice: Notice) -> None:
        """Add a notice."""
        self._notices.append(notice)
        self._wake()

    async def next_batch(self) -> list[Notice]:
        """All that were not read yet, as soon as there is one; none if only a subject has ended."""
        while not self._is_news:
            await self._published.next()
        notices, self._is_news = list(self._notices), False
        self._notices.clear()
        return notices

    def _wake(self) -> None:
        self._is_news = True
        self._published.notify()


@dataclass(eq=False, slots=True)
class _Thread:
    """The notices of one subject for one reason. Times are seconds of the loop's clock. `waiting` are the messages that
    are not written yet and how often each came, `posted` is the last Event, `about` the object that the next one is
    about, None for the ConfigMap."""

    subject: str
    about: ObjectReference | None = None
    waiting: Counter[str] = field(default_factory=Counter)
    bad: bool = True
    heard_at: float = 0.0
    posted_at: float = -REPEATED
    posted: JSON = None

    def hear(self, notice: Notice, about: ObjectReference | None, now: float) -> None:
        """Add a message, as one line: `kubectl get events` shows only the first, and the reason would stand below
        it."""
        if not self.waiting:
            self.heard_at = now
        if about != self.about:  # created again: its Events are found by its UID
            self.about, self.posted = about, None
        self.waiting[one_line(notice.message)] += 1
        self.bad = notice.bad

    def remember(self, event: JSON) -> None:
        """The API server has taken this Event."""
        self.posted = event

    def rest(self, now: float) -> None:
        """The messages were written, or could not be."""
        self.posted_at = now
        self.waiting.clear()

    @property
    def message(self) -> str:
        """All messages in one, beginning with the subject: the Events of all modules stand in one list. Those of an
        object stand below that."""
        text = "; ".join(self.waiting)
        if not self.about and not text.startswith((f"{self.subject}:", f"{self.subject} ")):
            text = f"{self.subject}: {text}"
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    @property
    def repeats(self) -> bool:
        """Does the last Event have this very message?"""
        return self.posted is not None and self.posted["message"] == self.message

    @property
    def due(self) -> float:
        """When the messages should be written."""
        return max(self.heard_at + CALM, self.posted_at + (REPEATED if self.repeats else AGAIN))


class EventSubject(Protocol):
    """The object that most Events are about: a ConfigMap. `uid` is empty while it does not exist."""

    namespace: str
    name: str

    @property
    def uid(self) -> str: ...


class EventWriter:
    """Writes notices as Events, about `config` if their subject is no object."""

    def __init__(self, client: Client, notices: Notices, config: EventSubject) -> None:
        self._client = client
        self._notices = notices
        self._config = config
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._refused = False

    async def post(self) -> None:
        """Write Events until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with timeout_at(self._next, loop.time()):
                    self._hear(await self._notices.next_batch(), loop.time())
            for (_, reason), thread in self._threads.items():
                if thread.waiting and thread.due <= loop.time():
                    await self._write(reason, thread)
                    thread.rest(loop.time())
            self._forget_ended()

    @property
    def _next(self) -> float | None:
        return min((thread.due for thread in self._threads.values() if thread.waiting), default=None)

    def _hear(self, notices: Iterable[Notice], now: float) -> None:
        for notice in notices:
            thread = self._threads.setdefault((notice.subject, notice.reason), _Thread(notice.subject))
            thread.hear(notice, self._notices.about(notice.subject), now)

    def _forget_ended(self) -> None:
        """Drop what is kept of subjects that are gone, when their last Events are written."""
        for subject in self._notices.ended:
            threads = {key: thread for key, thread in self._threads.items() if key[0] == subject}
            if not any(thread.waiting for thread in threads.values()):
                self._notices.forget(subject)
                for key in threads:
                    del self._threads[key]

    async def _write(self, reason: str, thread: _Thread) -> None:
        try:
            if not (thread.repeats and await self._count(thread)):
                event = self._event(reason, thread)
                await writes.create(self._client, ObjectRef(_EVENTS, event["metadata"]["namespace"]), event, _OPTIONS)
                thread.remember(event)
            self._refused = False
        except KubeError as error:
            explained = refusals.explain_rights(error, "write Events", _RULE) if isinstance(error, Denied) else error
            _log.log("debug" if self._refused else "warn", "an Event cannot be written", reason=reason, error=explained)
            self._refused = True

    async def _count(self, thread: _Thread) -> bool:
        """Count in the last Event; False if it does not exist any more: API servers delete Events after an hour."""
        news = {"count": thread.posted["count"] + thread.waiting.total(), "lastTimestamp": rfc3339(time.time())}
        metadata = thread.posted["metadata"]
        ref = ObjectRef(_EVENTS, metadata["namespace"], metadata["name"])
        try:
            await writes.merge_patch(self._client, ref, news, _OPTIONS)
        except NotFound:
            return False
        thread.remember(thread.posted | news)
        return True

    def _event(self, reason: str, thread: _Thread) -> JSON:
        about, now = thread.about or self._config_map, rfc3339(time.time())
        name = f"{about.name}.{uuid.uuid4().hex[:16]}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.namespace or NAMESPACE_OF_CLUSTER},
            "involvedObject": about.document,
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

    @property
    def _config_map(self) -> ObjectReference:
        config = self._config
        return ObjectReference("v1", "ConfigMap", config.namespace, config.name, config.uid)
