"""The ConfigMap in which users set which modules are on and with which values, and the Secret for confidential values.

A deleted one counts as it was until its grace is over. If it is created again before, that is an edit like any other.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import field
from typing import Literal

from hookrunner import log
from hookrunner.errors import AlreadyExists, Conflict, Denied, KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.informer import ObjectState, Opener, follow_object
from hookrunner.kube.lacked_rights import alternatives
from hookrunner.kube.writes import ObjectRef, WriteAnswer
from hookrunner.model.events import WatchLost, WatchRestored
from hookrunner.model.resources import Resource, Selection
from hookrunner.model.timestamps import rfc3339
from hookrunner.values.config_sections import NO_TEXT
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import timeout_at

_log = log.get(__name__)
_VERBS = ["get", "list", "watch", "create", "update"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in it, keys to texts, its resourceVersion and its UID; all empty while it does not exist."""

    data: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    uid: str = ""


class Grace:
    """The time for which an object that is missing still counts as it was: a client that replaces it deletes and
    creates it (`kubectl replace --force`), and modules that only it has turned on must not go meanwhile. `seconds` 0
    means no grace. `until` is when it ends, epoch seconds for people; 0 while it does not run."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.until = 0.0
        self._deadline = 0.0
        self._changed = Notifier()

    @property
    def running(self) -> bool:
        """Does the missing object still count as it was?"""
        return self.until > 0

    def begin(self) -> None:
        """The object is missing. A grace that runs goes on as it is."""
        if self.seconds and not self.running:
            self._deadline = _now() + self.seconds
            self.until = time.time() + self.seconds
            self._changed.notify()

    def end(self) -> None:
        """The object exists again, or nothing depends on it."""
        self.until = 0.0
        self._changed.notify()

    async def wait_until_over(self) -> None:
        """Wait until a grace has run to its end."""
        while not (self.running and _now() >= self._deadline):
            with suppress(TimeoutError):
                async with timeout_at(self._deadline if self.running else None, _now()):
                    await self._changed.next()


def _now() -> float:
    return asyncio.get_running_loop().time()


class ConfigObject:
    """One ConfigMap or Secret of a name. `unseen` says why it cannot be read at the moment, `is_known` that it was read
    once. `grace` runs while it is missing and still counts as it was. `adopted` wakes those that wait until the reader
    of `states` has adopted the last one.

    To write, hold `writing` from reading `contents` until `write` has returned. The watch then does not report our own
    write as an edit, and `contents` are those that the reader of `states` has adopted."""

    def __init__(
        self,
        client: Client,
        watches: Opener,
        kind: Literal["ConfigMap", "Secret"],
        key: tuple[str, str],
        grace: Grace,
    ) -> None:
        self.contents = Contents()
        self.grace = grace
        self.unseen, self.is_known = "not read yet", False
        self.adopted = Notifier()
        self.writing = asyncio.Lock()
        self._written = 0
        self.namespace, self.name = key
        self._client = client
        self._watches = watches
        self._resource = Resource("v1", kind, kind.lower() + "s", True)

    def __str__(self) -> str:
        return f"{self._resource.kind} {self.namespace}/{self.name}"

    @property
    def uid(self) -> str:
        """Its UID, empty while it does not exist."""
        return self.contents.uid

    def renamed(self, name: str) -> "ConfigObject":
        """The object of another name in the same namespace."""
        kind: Literal["ConfigMap", "Secret"] = "Secret" if self._resource.kind == "Secret" else "ConfigMap"
        return ConfigObject(self._client, self._watches, kind, (self.namespace, name), Grace(0.0))

    async def states(self) -> AsyncIterator[Contents]:
        """Yields its contents, as soon as they are known and then at every change; never ends."""
        selection = Selection("v1", self._resource.kind, self.namespace, fields=f"metadata.name={self.name}")
        async with aclosing(follow_object(self._watches, selection)) as states:
            async for state in states:
                async with self.writing:
                    is_news = self._take_in(state)
                if is_news:
                    yield self.contents
                    self.adopted.notify()

    async def ends(self) -> AsyncIterator[Contents]:
        """Yields its contents, which are empty then, each time that its grace is over; never ends."""
        while True:
            await self.grace.wait_until_over()
            async with self.writing:
                if self.grace.running:  # else it was created while a write was waited for
                    self.grace.end()
                    self._drop()
            yield self.contents
            self.adopted.notify()

    def expect(self) -> None:
        """It should exist: if it does not, its grace begins."""
        if not self.contents.version:
            self.grace.begin()

    def _take_in(self, state: ObjectState | WatchLost | WatchRestored) -> bool:
        """Does the state say what the object holds now?"""
        match state:
            case ObjectState(obj, True):
                self.unseen, self.is_known, self._written = "", True, 0
                self._hold(self._contents(obj) if obj else Contents())
                return True
            case ObjectState(None):
                self._hold(Contents())
                return True
            case ObjectState(obj) if int(obj["metadata"]["resourceVersion"]) >= self._written:
                self._hold(self._contents(obj))
                return True
            case WatchLost(reason):
                self.unseen = reason
                _log.error(f"{self} cannot be read", reason=reason)
            case WatchRestored():
                self.unseen = ""
        return False  # or a state from before our last write, whose answer is known

    def _hold(self, contents: Contents) -> None:
        """It holds this now, or does not exist."""
        if contents.version:
            self.contents = contents
            self.grace.end()
        elif self.contents.version and self.grace.seconds:
            self.grace.begin()
        elif self.contents.version:
            self._drop()

    def _drop(self) -> None:
        self.contents = Contents()
        _log.warn(f"{self} is deleted, what only it has set no longer counts")

    async def read(self) -> Contents:
        """Read its contents from the API server. Raises KubeError."""
        try:
            self.contents = self._contents(await writes.read(self._client, self._ref))
        except NotFound:
            self.contents = Contents()
        except KubeError as error:
            error = self._explained(error)
            self.unseen = str(error)
            raise error from None
        self.unseen, self.is_known = "", True
        return self.contents

    async def write(self, key: str, text: str) -> Contents:
        """Set one key, and create the object if it does not exist; the other keys stay byte for byte as they are.

        Raises Conflict if it was changed since it was last read, or another KubeError: NotFound during its grace,
        since an object with this key alone would replace the missing one.
        """
        if self.grace.running:
            wait = f"it is written to when it is created again, or from {rfc3339(self.grace.until)} on"
            raise NotFound(404, "NotFound", f"{self} is missing; {wait}")
        version = self.contents.version
        try:
            with alternatives():
                self.contents = self._contents(await self._write(version, key, text))
        except Denied as error:
            raise self._explained(error) from error
        except (AlreadyExists, NotFound) as error:
            raise Conflict(409, "Conflict", str(error)) from error
        self._written = int(self.contents.version)
        return self.contents

    async def _write(self, version: str, key: str, text: str) -> JSON:
        try:
            return (await (self._patch(version, key, text) if version else self._create(key, text))).json
        except Denied as error:
            if not (version and refusals.is_forbidden(error)):
                raise
            return await self._put(key, text)

    async def _create(self, key: str, text: str) -> WriteAnswer:
        named = {"apiVersion": "v1", "kind": self._resource.kind, "metadata": {"name": self.name}}
        body = named | {"data": {key: text}}
        return await writes.create(self._client, ObjectRef(self._resource, self.namespace), body)

    async def _patch(self, version: str, key: str, text: str) -> WriteAnswer:
        patch = {"metadata": {"resourceVersion": version}, "data": {key: text}}
        return await writes.merge_patch(self._client, self._ref, patch)

    async def _put(self, key: str, text: str) -> JSON:
        """Write by an update and return the answer: users of addon-operator grant `update` and not `patch`."""
        try:
            live = await writes.read(self._client, self._ref)
            if live["metadata"]["resourceVersion"] != self.contents.version:
                raise Conflict(409, "Conflict", f"{self} was changed meanwhile")
            body = live | {"data": (live.get("data") or {}) | {key: text}}
            return (await writes.replace(self._client, self._ref, body)).json
        except NotFound as error:
            raise Conflict(409, "Conflict", str(error)) from error

    @property
    def _ref(self) -> ObjectRef:
        return ObjectRef(self._resource, self.namespace, self.name)

    def _explained(self, error: KubeError) -> KubeError:
        """The error; for a missing right with all rights that are needed."""
        return refusals.explain_rights(error, f"read and write {self}", refusals.rbac_rule(self._resource, _VERBS))

    def _contents(self, obj: JSON) -> Contents:
        data = obj.get("data") or {}
        if self._resource.kind == "Secret":
            data = {key: _decoded(text) for key, text in data.items()}
        binary = dict.fromkeys(obj.get("binaryData") or (), NO_TEXT)  # kubectl puts files there that are not in UTF-8
        data = {**data, **binary}
        return Contents(data, obj["metadata"]["resourceVersion"], obj["metadata"].get("uid", ""))


def _decoded(text: str) -> str:
    """A Secret's bytes as text."""
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return NO_TEXT


@dataclass(frozen=True, slots=True)
class ConfigSources:
    """What users write in the cluster: the ConfigMap, and the Secret if one is named, else None. Together they are the
    configuration."""

    config: ConfigObject
    secret: ConfigObject | None = None

    def __iter__(self) -> Iterator[ConfigObject]:
        return (source for source in (self.config, self.secret) if source)

    @property
    def contents(self) -> tuple[Contents, Contents]:
        """What they hold, the ConfigMap first."""
        return self.config.contents, self.secret.contents if self.secret else Contents()

    @property
    def unread(self) -> str:
        """Why one of them was never read, empty if all were. Without the Secret's values nothing may run."""
        return next((f"{source}: {source.unseen}" for source in self if not source.is_known), "")

    @property
    def missing(self) -> tuple[ConfigObject, ...]:
        """Those that do not exist, and whose grace runs."""
        return tuple(source for source in self if source.grace.running)
