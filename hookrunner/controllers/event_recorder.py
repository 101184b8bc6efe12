"""Kubernetes Events about any object, where `kubectl describe` and `kubectl get events` show them.

    recorder = EventRecorder(client)
    nodes = recorder.source("cloud-node-controller")
    nodes.record(ObjectReference("v1", "Node", "", "worker-1", uid), ObjectEvent("Synced", "Node synced", False))
    await recorder.write()  # until cancelled

To record an Event never waits and never fails. Messages of one object, source and reason that come within a moment are
written as one Event; a repetition of the last one is counted in it, for an hour, in which an API server keeps it
(`--event-ttl`). Nothing waits for an Event: one that cannot be written is logged and forgotten. It needs the rights
`create` and `patch` on `events` in the namespaces of the objects, and in `default` for those without one.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (the core kind, which every
version of kubectl shows with its counts).
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import NamedTuple, Protocol

from hookrunner import log
from hookrunner.errors import KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.resources import ObjectReference, Resource
from hookrunner.model.status import one_line
from hookrunner.model.timestamps import rfc3339
from hookrunner.printable import printable
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import timeout_at

LAST_EVENTS = 2.0
"""Seconds at the end of a process for Events that wait."""
LONGEST = 1024
"""Characters of a message."""
NAMESPACE_OF_CLUSTER = "default"
"""The namespace of Events about objects without a namespace, as kubectl and the API server have it."""

_COUNTED_FOR = 3600.0
"""Seconds without a repetition after which an Event is not counted any more."""
_MOST = 5000
"""Objects and reasons that are remembered; then those of which nothing was heard for longest are forgotten."""
_LONGEST_NAME = 236
"""Characters that are left of an object's name in that of its Event, which has 253."""

_EVENTS = Resource("v1", "Event", "events", True)
_RULE = refusals.rbac_rule(_EVENTS, ["create", "patch"])
_OPTIONS = WriteOptions(timeout=10.0)
_log = log.get(__name__)


class EventLike(Protocol):
    """What an Event says. `reason`: one word in CamelCase; `message`: for a person; a warning means that a person
    should look at it."""

    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def is_warning(self) -> bool: ...


class ComponentRecorder(Protocol):
    """Takes Events of one component. To record one never waits and never fails."""

    def record(self, about: ObjectReference, event: EventLike) -> None:
        """An Event about this object."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """See `EventLike`."""

    reason: str
    message: str
    is_warning: bool = True


@dataclass(frozen=True, slots=True)
class StateEvent(ObjectEvent):
    """What holds now, in place of messages of its reason that are not written yet."""


@dataclass(frozen=True, slots=True)
class EventPace:
    """Seconds in which messages are gathered, between two Events of one object, source and reason, and between two
    counts of the very same."""

    gathered: float = 0.0
    again: float = 10.0
    repeated: float = 60.0


class _Key(NamedTuple):
    """What is written as one Event. `topic`: what the messages are about beside the object; they begin with it."""

    about: ObjectReference
    source: str
    reason: str
    topic: str


@dataclass(frozen=True, slots=True)
class _Posted:
    """The last Event as the API server has taken it."""

    ref: ObjectRef
    message: str
    count: int


@dataclass(eq=False, slots=True)
class _Thread:
    """The messages of one key: those that are not written yet with how often each came, and the last Event. Times are
    seconds of the loop's clock."""

    waiting: Counter[str] = field(default_factory=Counter)
    is_warning: bool = True
    heard_at: float = 0.0
    posted_at: float | None = None
    posted: _Posted | None = None

    def hear(self, message: str, is_warning: bool, now: float) -> None:
        """Add a message."""
        if not self.waiting:
            self.heard_at = now
        self.waiting[message] += 1
        self.is_warning = is_warning

    def drop_all_but(self, message: str) -> None:
        """Forget other messages that are not written yet."""
        self.waiting = Counter({message: self.waiting[message]} if message in self.waiting else {})

    def message(self, topic: str) -> str:
        """All messages in one."""
        text = "; ".join(self.waiting)
        if topic and not text.startswith((f"{topic}:", f"{topic} ")):
            text = f"{topic}: {text}"
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    def due(self, pace: EventPace, topic: str) -> float:
        """When the messages should be written."""
        gathered = self.heard_at + pace.gathered
        if self.posted_at is None:
            return gathered
        repeats = self.posted is not None and self.posted.message == self.message(topic)
        return max(gathered, self.posted_at + (pace.repeated if repeats else pace.again))


_USUAL = EventPace()


class EventRecorder:
    """Takes Events, and writes them while `write` runs. `mask` takes secrets out of messages."""

    def __init__(self, client: Client, pace: EventPace = _USUAL, mask: Callable[[str], str] = str) -> None:
        self._client = client
        self._pace = pace
        self._mask = mask
        self._threads: dict[_Key, _Thread] = {}
        """In the order in which they heard something last."""
        self._waiting: dict[_Key, _Thread] = {}
        """Those with messages that are not written yet."""
        self._news = asyncio.Event()
        self._is_refused = False

    def source(self, component: str) -> "EventSource":
        """Takes Events that name this component."""
        return EventSource(self, component)

    def record(self, about: ObjectReference, source: str, event: EventLike, topic: str = "") -> None:
        """Have an Event about an object written. Messages of different topics are written apart.

        A message becomes one line, since `kubectl get events` shows only the first, and printable: hooks, providers and
        API servers may have written it."""
        key = _Key(about, source, event.reason, topic)
        thread = self._threads.pop(key) if key in self._threads else _Thread()
        message = printable(one_line(self._mask(event.message)))
        if isinstance(event, StateEvent):
            thread.drop_all_but(message)
        thread.hear(message, event.is_warning, asyncio.get_running_loop().time())
        self._threads[key] = self._waiting[key] = thread
        if len(self._threads) > _MOST:
            self._forget_first()
        self._news.set()

    async def post(self, about: ObjectReference, source: str, event: EventLike) -> None:
        """Write an Event at once, and return when it is written or could not be: for what has to be known before
        something else is done."""
        self.record(about, source, event)
        key = _Key(about, source, event.reason, "")
        if thread := self._waiting.pop(key, None):
            await self._post(key, thread)

    async def write(self) -> None:
        """Write Events until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with timeout_at(self._next, loop.time()):
                    await self._news.wait()
            self._news.clear()
            for key, thread in [*self._waiting.items()]:
                if thread.due(self._pace, key.topic) <= loop.time():
                    self._waiting.pop(key, None)
                    await self._post(key, thread)
            while self._threads and self._forgotten_at <= loop.time():
                self._forget_first()

    async def write_rest(self, within: float = LAST_EVENTS) -> None:
        """Write what waits at once, at the end of a program, for at most so many seconds. `write` must not run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._waiting:
                    key = next(iter(self._waiting))
                    await self._post(key, self._waiting.pop(key))

    @property
    def _next(self) -> float | None:
        """When there is something to do."""
        if self._waiting:
            return min(thread.due(self._pace, key.topic) for key, thread in self._waiting.items())
        return self._forgotten_at if self._threads else None

    @property
    def _forgotten_at(self) -> float:
        """When the thread that has heard nothing for longest is forgotten."""
        return next(iter(self._threads.values())).heard_at + _COUNTED_FOR

    def _forget_first(self) -> None:
        key = next(iter(self._threads))
        del self._threads[key]
        self._waiting.pop(key, None)

    async def _post(self, key: _Key, thread: _Thread) -> None:
        """Write what waits. What is recorded meanwhile waits for the next time."""
        message, posted = thread.message(key.topic), thread.posted
        counts, thread.waiting = thread.waiting, Counter()
        thread.posted_at = asyncio.get_running_loop().time()
        try:
            if posted is None or posted.message != message or not await self._count(thread, posted, counts.total()):
                thread.posted = await self._create(key, message, max(counts.values()), thread.is_warning)
            self._is_refused = False
        except KubeError as error:
            self._log(key, error)
            self._is_refused = True

    async def _count(self, thread: _Thread, posted: _Posted, more: int) -> bool:
        """Count in the last Event; False if it does not exist any more."""
        count = posted.count + more
        try:
            patch = {"count": count, "lastTimestamp": rfc3339(time.time())}
            await writes.merge_patch(self._client, posted.ref, patch, _OPTIONS)
        except NotFound:
            return False
        thread.posted = _Posted(posted.ref, posted.message, count)
        return True

    async def _create(self, key: _Key, message: str, count: int, is_warning: bool) -> _Posted:
        namespace = key.about.namespace or NAMESPACE_OF_CLUSTER
        name = f"{key.about.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:16]}"
        now = rfc3339(time.time())
        event: JSON = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": key.about.document,
            "type": "Warning" if is_warning else "Normal",
            "reason": key.reason,
            "message": message,
            "count": count,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": key.source},
            "reportingComponent": key.source,
            "reportingInstance": "",
        }
        await writes.create(self._client, ObjectRef(_EVENTS, namespace), event, _OPTIONS)
        return _Posted(ObjectRef(_EVENTS, namespace, name), message, count)

    def _log(self, key: _Key, error: KubeError) -> None:
        explained = refusals.explain_rights(error, "write Events", _RULE)
        level = "debug" if self._is_refused else "warn"
        _log.log(level, "an Event cannot be written", reason=key.reason, about=key.about.name, error=explained)


@dataclass(frozen=True, slots=True)
class EventSource:
    """Takes Events of one component."""

    recorder: EventRecorder
    component: str

    def record(self, about: ObjectReference, event: EventLike) -> None:
        """Have an Event about this object written."""
        self.recorder.record(about, self.component, event)

    async def post(self, about: ObjectReference, event: EventLike) -> None:
        """See `EventRecorder.post`."""
        await self.recorder.post(about, self.component, event)
