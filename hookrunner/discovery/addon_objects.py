"""The `Addon` objects in the cluster: which there are, and their writes.

    objects = AddonObjects(client, home, queue)
    await objects.follow(watches)                  # until cancelled
    await objects.put("coredns", make)             # created, or its status corrected; nothing if it is there already
    await objects.remove("coredns")

Of a status a digest is kept, since it may be large. An object that we have created, or written the status of, has a
label with hookrunner's namespace: so another hookrunner leaves it alone, and so it is deleted with its components.
"""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress

from hookrunner.discovery.addon_kind import ADDONS
from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.addon_status import own_part
from hookrunner.errors import NotFound
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.kube.writes import FIELD_MANAGER, DeleteOptions, ObjectRef, WriteOptions
from hookrunner.model.events import Synced, WatchLost
from hookrunner.model.releases import HOME
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_OPTIONS = WriteOptions(manager=FIELD_MANAGER, force=True, timeout=10.0)


@dataclass(frozen=True, slots=True)
class LiveAddon:
    """What is kept of an object: its uid and resourceVersion, the namespace of the hookrunner that writes it, empty if
    none has, a digest of the status, and the condition `Ready` in it."""

    uid: str
    version: int
    home: str
    digest: bytes
    ready: JSON

    @classmethod
    def of(cls, obj: JSON) -> "LiveAddon":
        """What is kept of this object."""
        metadata, (part, ready) = obj["metadata"], own_part(obj.get("status"))
        version = str(metadata.get("resourceVersion", ""))
        home = str((metadata.get("labels") or {}).get(HOME, ""))
        number = int(version) if version.isdecimal() else 0
        return cls(str(metadata.get("uid", "")), number, home, _digest(part), ready)


class AddonObjects:
    """All objects of the kind. `home` is hookrunner's namespace. `lost` gives notice when the kind is not served."""

    def __init__(self, client: Client, home: str, queue: AddonQueue) -> None:
        self.is_listed = False
        self.lost = Notifier()
        self._client = client
        self._home = home
        self._queue = queue
        self._live: dict[ObjectKey, LiveAddon] = {}
        self._informer = Informer(self._live)

    @property
    def foreign(self) -> dict[str, str]:
        """The objects that another hookrunner writes, with its namespace."""
        return {key.name: live.home for key, live in self._live.items() if live.home not in ("", self._home)}

    def is_foreign(self, name: str) -> bool:
        """Does another hookrunner write it?"""
        live = self._live.get(_key(name))
        return live is not None and live.home not in ("", self._home)

    async def follow(self, watches: Opener) -> None:
        """Keep them until cancelled."""
        async with aclosing(self._informer.follow(watches, Selection(ADDONS.api_version, ADDONS.kind))) as batches:
            async for facts in batches:
                self._read(facts)
                del facts

    async def put(self, name: str, make: Callable[[JSON], JSON]) -> None:
        """Bring an object into line with a status, which `make` makes with the present condition `Ready`. Raises
        KubeError."""
        live = self._live.get(_key(name)) or await self._create(name)
        if not live.home:
            live = await self._write(name, "", {"metadata": {"labels": {HOME: self._home}, "uid": live.uid}})
        status = make(live.ready)
        if _digest(own_part(status)[0]) != live.digest:
            await self._write(name, "status", {"metadata": {"uid": live.uid}, "status": status})

    async def remove(self, name: str) -> None:
        """Delete an object if we have written it. Raises KubeError."""
        live = self._live.get(_key(name))
        if live and live.home == self._home:
            with suppress(NotFound):
                await writes.delete(self._client, _ref(name), DeleteOptions(uid=live.uid))
            self._live.pop(_key(name), None)

    async def _create(self, name: str) -> LiveAddon:
        metadata = {"name": name, "labels": {HOME: self._home}}
        body = {"apiVersion": ADDONS.api_version, "kind": ADDONS.kind, "metadata": metadata}
        return self._keep(name, (await writes.create(self._client, _ref(""), body, _OPTIONS)).json)

    async def _write(self, name: str, subresource: str, body: JSON) -> LiveAddon:
        """Apply the status, or patch the object. If another object has the name by now, the uid does not fit."""
        if subresource:
            head = {"apiVersion": ADDONS.api_version, "kind": ADDONS.kind}
            whole = head | body | {"metadata": body["metadata"] | {"name": name}}
            answer = await writes.apply(self._client, _ref(name, subresource), whole, _OPTIONS)
        else:
            answer = await writes.merge_patch(self._client, _ref(name), body, WriteOptions(manager=FIELD_MANAGER))
        return self._keep(name, answer.json)

    def _keep(self, name: str, obj: JSON) -> LiveAddon:
        """Note an object as the API server has answered it: the watch may still show an earlier state."""
        live = self._live[_key(name)] = LiveAddon.of(obj)
        return live

    def _read(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            match fact:
                case Added(seen) | Modified(seen):
                    known, live = self._live.get(seen.key), LiveAddon.of(seen.obj)
                    if known and known.uid == live.uid and known.version >= live.version:
                        continue
                    self._live[seen.key] = live
                    self._queue.note([seen.key.name])
                case Deleted(key, last):
                    known = self._live.get(key)
                    if known and (last is None or last.obj["metadata"]["uid"] == known.uid):
                        del self._live[key]
                    self._queue.note([key.name])
                case Synced():
                    self.is_listed = True
                    self._queue.note([key.name for key in self._live])
                case WatchLost(brief=False):
                    self.lost.notify()


def _key(name: str) -> ObjectKey:
    return ObjectKey("", ADDONS.kind, name)


def _ref(name: str, subresource: str = "") -> ObjectRef:
    return ObjectRef(ADDONS, "", name, subresource)


def _digest(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()
