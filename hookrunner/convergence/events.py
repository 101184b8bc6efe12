"""What users should hear about modules and their configuration: notices, written as Kubernetes Events, where
`kubectl describe` and `kubectl get events` show them.

To publish a notice never waits and never fails. Events of a subject that is an object, an instance of an addon, are
about that object. All others are about the ConfigMap: it is what users edit, it exists on every cluster and outlives
our Pod, and one look at it shows everything. How they are gathered, counted and written is the matter of
`controllers/event_recorder.py`.
"""

import asyncio
from collections import deque
from contextlib import aclosing
from typing import Protocol

from hookrunner.controllers.event_recorder import EventPace, EventRecorder, EventSource, ObjectEvent, StateEvent
from hookrunner.kube.lacked_rights import LackedRights
from hookrunner.model.resources import ObjectReference
from kubetypes.light_dataclasses import dataclass

GATHERED = 1.0
"""Seconds in which notices of one subject and reason are gathered: a hundred deleted objects are one Event."""
PACE = EventPace(gathered=GATHERED)

_MOST = 1000
"""Notices that are kept while no Event can be written; then the oldest are dropped."""

_COMPONENT = "hookrunner"


@dataclass(frozen=True, slots=True)
class Notice:
    """`subject` is a module, a release or a section of the configuration; `reason` one word in CamelCase, `message` for
    a person; `bad` means that a person should look at it. `is_state`: it holds in place of earlier ones of its
    reason."""

    subject: str
    reason: str
    message: str
    bad: bool = True
    is_state: bool = False


class Notices:
    """Notices in the order in which they were published; for one reader. Between `begin` and `end` a subject is an
    object, which its Events are about."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=_MOST)
        self._objects: dict[str, ObjectReference] = {}
        self._ended: set[str] = set()
        self._news = asyncio.Event()
        """Set if anything was published or has ended since the last batch."""

    def begin(self, subject: str, about: ObjectReference) -> None:
        """A subject is this object, which is new, or another one than before."""
        self._objects[subject] = about
        self._ended.discard(subject)

    def end(self, subject: str) -> None:
        """It is gone. Its last notices may still be written."""
        self._ended.add(subject)
        self._news.set()

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
        self._news.set()

    async def next_batch(self) -> list[Notice]:
        """All that were not read yet, as soon as there is one; none if only a subject has ended."""
        await self._news.wait()
        self._news.clear()
        notices = list(self._notices)
        self._notices.clear()
        return notices


class EventSubject(Protocol):
    """The object that most Events are about: a ConfigMap. `uid` is empty while it does not exist."""

    namespace: str
    name: str

    @property
    def uid(self) -> str: ...


class EventWriter:
    """Writes notices as Events, about `config` if their subject is no object; `lacked` are the rights that are missing,
    of all parts of the program."""

    def __init__(self, recorder: EventRecorder, notices: Notices, config: EventSubject, lacked: LackedRights) -> None:
        self._recorder = recorder
        self._notices = notices
        self._config = config
        self._lacked = lacked

    @property
    def source(self) -> EventSource:
        """For Events that something waits for."""
        return self._recorder.source(_COMPONENT)

    async def post(self) -> None:
        """Write Events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.write())
            group.create_task(self._publish_missing_rights())
            while True:
                for notice in await self._notices.next_batch():
                    self._record(notice)
                for subject in self._notices.ended:
                    self._notices.forget(subject)

    async def _publish_missing_rights(self) -> None:
        async with aclosing(self._lacked.changes()) as messages:
            async for message in messages:
                if message:
                    self._notices.publish(Notice("rights", "RightsMissing", message, is_state=True))

    def _record(self, notice: Notice) -> None:
        """Those about the ConfigMap begin with their subject: the Events of all modules stand in one list."""
        event = (StateEvent if notice.is_state else ObjectEvent)(notice.reason, notice.message, notice.bad)
        if about := self._notices.about(notice.subject):
            self._recorder.record(about, _COMPONENT, event)
        else:
            config = self._config
            about = ObjectReference("v1", "ConfigMap", config.namespace, config.name, config.uid)
            self._recorder.record(about, _COMPONENT, event, topic=notice.subject)
