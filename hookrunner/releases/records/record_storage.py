"""Reads and writes release records: Secrets, or ConfigMaps with `HELM_DRIVER=configmap`. Keeps what their labels say.

    storage = RecordStorage(client, "secret")
    revisions, version = await storage.list_revisions("kube-system")   # one request, metadata only
    record = await storage.read(revisions[-1])
    revision = await storage.write(record)

The name is `sh.helm.release.v1.<release>.v<N>`, the type `helm.sh/release.v1`. `RevisionCache` holds the labels,
kept up to date by our own writes and by a watch. What would be a long step of the event loop is done in a thread, where
others run in between, or in another process: a parser lets nothing run until it is done.
Source: https://helm.sh/docs/topics/advanced/#storage-backends; what helm 4.1 was seen to write.
"""

import asyncio
import base64
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Literal, NamedTuple
from weakref import WeakValueDictionary

import orjson

from hookrunner import log
from hookrunner.errors import AlreadyExists, Conflict, Denied, NotFound, ReleaseFailed
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.informer import Relist
from hookrunner.kube.writes import ListOptions, ObjectRef, WriteOptions
from hookrunner.model.bindings import Change
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.releases import HOME, Head
from hookrunner.model.resources import Resource, Selection
from hookrunner.process.pure_calls import CallLimits, CallLost, SizeBounds, call_by_size
from hookrunner.releases.records.record import (
    PENDING,
    QUICK_TO_PARSE,
    ReleaseRecord,
    ReleaseRevision,
    RevisionStatus,
    revision_of,
)
from hookrunner.releases.records.record_encoding import inflated, packed_to_fit, parsed
from kubetypes.json_values import JSON

Driver = Literal["secret", "configmap"]
OTHER: Mapping[Driver, Driver] = {"secret": "configmap", "configmap": "secret"}

_log = log.get(__name__)
_PLURAL = {"secret": "secrets", "configmap": "configmaps"}
_KIND = {"secret": "Secret", "configmap": "ConfigMap"}
_TYPE = "helm.sh/release.v1"
_VERBS = ["get", "list", "create", "update", "delete"]

_QUICK = 16 * 1024
"""Bytes of JSON that are packed in a millisecond at most: a thread would cost more than it saves."""

_APART = CallLimits(seconds=180.0, memory=2 << 30)
"""A megabyte of YAML takes a second or two."""


def _failure(size: int, lost: CallLost) -> Exception:
    return ReleaseFailed(f"it cannot be read: {lost}")


UNPACKING = SizeBounds(in_place=16 << 10, in_thread=sys.maxsize)
"""16 KiB of packed text are unpacked in a few milliseconds."""
PARSING = SizeBounds(in_place=128 << 10, in_thread=4 << 20, limits=_APART, error=_failure)
"""128 KiB of JSON take a millisecond, 4 MiB less than 50 ms at once."""
READING = SizeBounds(in_place=QUICK_TO_PARSE, in_thread=256 << 10, limits=_APART, error=_failure)
"""256 KiB of a manifest take less than 50 ms at once."""

_WORTH_KEEPING = 256 * 1024
"""Bytes of a release's objects that are kept in memory."""


class _Kept(NamedTuple):
    """A record that we have written or read: its text, and its objects if they are known and not large."""

    revision: ReleaseRevision
    text: str
    objects: JsonObjects


class RecordStorage:
    """The records of one `kind` in one cluster. Records in other namespaces than `home`, the operator's, name it. Every
    method raises KubeError if the API server refuses a request."""

    def __init__(self, client: Client, driver: Driver, home: str = "") -> None:
        self.kind = _KIND[driver]
        self._resource = Resource("v1", self.kind, _PLURAL[driver], True)
        self._client = client
        self._driver = driver
        self._home = home
        self._latest: dict[tuple[str, str], _Kept] = {}
        self._reads = WeakValueDictionary[tuple[str, str, int], asyncio.Lock]()
        """Each as long as a task reads this record or waits for it: after a start several want the same ones."""

    def selection(self, namespace: str) -> Selection:
        """The records of a namespace, for a watch."""
        return Selection("v1", self.kind, namespace, "owner=helm", metadata_only=True)

    async def list_revisions(self, namespace: str) -> tuple[list[ReleaseRevision], int]:
        """Read the labels of all records of a namespace, and the list's resourceVersion.

        An object with Helm's label that is not a record is named in the log.
        """
        page = await self._list_by_labels(namespace, "owner=helm")
        records = [(item["metadata"], revision_of(item["metadata"])) for item in page["items"]]
        for metadata, revision in records:
            if revision is None:
                name = f"{namespace}/{metadata['name']}"
                _log.warn("not a release record: its labels `name` and `version` are missing or invalid", record=name)
        return [revision for _, revision in records if revision], int(page["metadata"]["resourceVersion"])

    async def list_strays(self) -> list[ReleaseRevision]:
        """Read the labels of records of this `home` in other namespaces. Raises Denied without the right to list
        all."""
        page = await self._list_by_labels("", f"owner=helm,{HOME}={self._home}")
        return [revision for item in page["items"] if (revision := revision_of(item["metadata"]))]

    async def find(self, name: str, namespace: str) -> str:
        """Find a record of a release, as `<kind> <namespace>/<name>`; empty if it has none. Records are found by their
        names: a record that has lost its labels is still a record."""
        of_type = ListOptions(fields=f"type={_TYPE}" if self._driver == "secret" else "", metadata_only=True)
        page = await writes.read_list(self._client, ObjectRef(self._resource, namespace), of_type)
        names = [str(item["metadata"]["name"]) for item in page["items"]]
        record_name = next((candidate for candidate in names if _is_record(candidate, name)), "")
        return record_name and f"{self.kind} {namespace}/{record_name}"

    async def read(self, revision: ReleaseRevision) -> ReleaseRecord:
        """Read the whole record. Raises ReleaseFailed, naming it, if it cannot be read."""
        async with self._reads.setdefault((revision.namespace, revision.name, revision.number), asyncio.Lock()):
            return await self._read(revision)

    async def _read(self, revision: ReleaseRevision) -> ReleaseRecord:
        if (kept := self._latest.get((revision.namespace, revision.name))) and kept.revision == revision:
            record = ReleaseRecord(await read_document(kept.text), revision.labels, kept.objects)
            return record if record.known else await _with_objects(record)
        with self._explain_rights():
            stored = await writes.read(self._client, self._ref(revision.namespace, revision.name, revision.number))
        try:
            text = (stored.get("data") or {})["release"]
            text = base64.b64decode(text).decode("ascii") if self._driver == "secret" else text
            record = await _with_objects(ReleaseRecord(await read_document(text), revision.labels))
        except (KeyError, ValueError, ReleaseFailed) as error:
            raise ReleaseFailed(
                f"{self.kind} {revision.namespace}/{_name(revision.name, revision.number)}: {error}"
            ) from None
        if known := revision_of(stored["metadata"]):
            self._remember(_Kept(known, text, _worth_keeping(record)))
        return record

    async def write(self, record: ReleaseRecord, known: ReleaseRevision | None = None) -> ReleaseRevision:
        """Create a record, or replace it if it is `known`. Raises ReleaseFailed if this revision exists already, or is
        no longer as `known`."""
        write, ref = writes.create, ObjectRef(self._resource, record.namespace)
        if known:
            write, ref = writes.replace, self._ref(record.namespace, record.name, record.revision)
        text = await _pack(record)
        body = self._body(record, text, known)
        try:
            with self._explain_rights():
                answer = await write(self._client, ref, body, WriteOptions(metadata_only=True))
            revision = revision_of(answer.json["metadata"])
        except AlreadyExists as error:
            raise ReleaseFailed(await self._explain_missing_labels(record) or _describe_overtaken(record)) from error
        except Conflict as error:
            raise ReleaseFailed(_describe_overtaken(record)) from error
        assert revision is not None, "it has the labels of a record"
        self._remember(_Kept(revision, text, _worth_keeping(record)))
        return revision

    async def delete(self, revision: ReleaseRevision) -> None:
        """Delete a record. An absent record is no error."""
        if (kept := self._latest.get((revision.namespace, revision.name))) and kept.revision == revision:
            del self._latest[revision.namespace, revision.name]
        with self._explain_rights(), suppress(NotFound):
            await writes.delete(self._client, self._ref(revision.namespace, revision.name, revision.number))

    async def _list_by_labels(self, namespace: str, selector: str) -> JSON:
        """List metadata of objects with these labels, in one namespace or in all ("")."""
        with self._explain_rights():
            options = ListOptions(labels=selector, metadata_only=True)
            return await writes.read_list(self._client, ObjectRef(self._resource, namespace), options)

    async def _explain_missing_labels(self, record: ReleaseRecord) -> str:
        """How to correct an object that has the name of a record and not its labels; empty if it has its labels."""
        name = _name(record.name, record.revision)
        with self._explain_rights():
            ref = self._ref(record.namespace, record.name, record.revision)
            metadata = await writes.read_metadata(self._client, ref)
        if (metadata.get("labels") or {}).get("owner") == "helm" and revision_of(metadata):
            return ""
        try:
            status = (await self.read(ReleaseRevision(record.name, record.namespace, record.revision, ""))).status
        except ReleaseFailed as error:
            return f"{error}; it also lacks the labels of a record: delete it"
        labels = f"owner=helm name={record.name} version={record.revision} status={status}"
        command = f"kubectl label --overwrite -n {record.namespace} {self.kind.lower()} {name} {labels}"
        return f"{self.kind} {record.namespace}/{name} has lost the labels by which records are found: {command}"

    @contextmanager
    def _explain_rights(self) -> Iterator[None]:
        """Name all rights that are needed when one is missing."""
        try:
            yield
        except Denied as error:
            rule = refusals.rbac_rule(self._resource, _VERBS)
            raise refusals.explain_rights(error, "keep records of releases", rule) from error

    def _body(self, record: ReleaseRecord, text: str, known: ReleaseRevision | None) -> JSON:
        system = {"owner": "helm", "name": record.name, "status": record.status, "version": str(record.revision)}
        stamp = {"modifiedAt" if known else "createdAt": str(int(time.time()))}
        home = {HOME: self._home} if self._home not in ("", record.namespace) else {}
        metadata = {
            "name": _name(record.name, record.revision),
            "namespace": record.namespace,
            "labels": {**record.labels, **system, **stamp, **home},
            **({"resourceVersion": str(known.version)} if known else {}),
        }
        body = {"apiVersion": "v1", "kind": self.kind, "metadata": metadata, "data": {"release": text}}
        if self._driver == "secret":
            body |= {"type": _TYPE, "data": {"release": base64.b64encode(text.encode()).decode()}}
        return body

    def _remember(self, kept: _Kept) -> None:
        """The latest record of each release is the one that is needed next, and small."""
        key = kept.revision.namespace, kept.revision.name
        if key not in self._latest or self._latest[key].revision.number <= kept.revision.number:
            self._latest[key] = kept

    def _ref(self, namespace: str, name: str, number: int) -> ObjectRef:
        return ObjectRef(self._resource, namespace, _name(name, number))


def _name(name: str, number: int) -> str:
    return f"sh.helm.release.v1.{name}.v{number}"


def _is_record(object_name: str, name: str) -> bool:
    """Is this what a record of release `name` is called?"""
    number = object_name.rpartition(".v")[2]
    return number.isdecimal() and object_name == _name(name, int(number))


def _describe_overtaken(record: ReleaseRecord) -> str:
    return f"another client has written revision {record.revision} of it; the next attempt reads the records again"


def _worth_keeping(record: ReleaseRecord) -> JsonObjects:
    return record.known if len(record.known.text) <= _WORTH_KEEPING else JsonObjects()


async def _with_objects(record: ReleaseRecord) -> ReleaseRecord:
    """The record with its objects, so that its manifest is parsed once for all who look at it. Who asks for the objects
    of a manifest that cannot be read learns why."""
    with suppress(ReleaseFailed, orjson.JSONEncodeError):
        return replace(record, known=await read_objects(record))
    return record


async def _pack(record: ReleaseRecord) -> str:
    """Pack a record. A large one takes some tens of milliseconds, so a thread does it."""
    if len(record.manifest) > _QUICK or len(orjson.dumps(record.document)) > _QUICK:
        return await asyncio.to_thread(packed_to_fit, record)
    return packed_to_fit(record)


class RevisionCache:
    """The revisions of one namespace. A record that we deleted is remembered until the watch reports its deletion, so
    that older watch events do not bring it back."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, ReleaseRevision]] = {}
        self._heads: dict[str, Head] = {}
        """Those that were asked for since their releases changed: many runs ask for all."""
        self._removed: dict[tuple[str, int], int] = {}

    def replace(self, revisions: Iterable[ReleaseRevision], version: int) -> set[str]:
        """Replace the cache by a list at this resourceVersion. Names of the releases whose heads other clients have
        changed."""
        listed = {(revision.name, revision.number): revision for revision in revisions}
        relist = Relist[tuple[str, int]]()
        # Newer ones are our own writes.
        known = [revision for of_release in self._known.values() for revision in of_release.values()]
        relist.begin((old.name, old.number) for old in known if old.version <= version)
        for key in listed:
            relist.see(key)
        gone = [self._known[name][number] for name, number in sorted(relist.end())]
        changed = {revision.name for revision in gone if self.observe(Change.DELETED, revision)}
        return changed | {revision.name for revision in listed.values() if self.observe(None, revision)}

    def keep(self, revision: ReleaseRevision) -> None:
        """Note that a record was written or seen."""
        self._known.setdefault(revision.name, {})[revision.number] = revision
        self._heads.pop(revision.name, None)

    def remove(self, name: str, number: int) -> None:
        """Note that we deleted a record."""
        if gone := self._drop(name, number):
            self._removed[name, number] = gone.version

    def history(self, name: str) -> tuple[ReleaseRevision, ...]:
        """The revisions of a release, the latest last."""
        known = self._known.get(name, {})
        return tuple(known[number] for number in sorted(known))

    def head(self, name: str) -> Head | None:
        """The latest revision of a release."""
        if name not in self._heads and (known := self._known.get(name)):
            self._heads[name] = known[max(known)].head
        return self._heads.get(name)

    def heads(self) -> dict[str, Head]:
        """The latest revisions of all releases, by name."""
        return {name: head for name in self._known if (head := self.head(name))}

    def observe(self, change: Change | None, revision: ReleaseRevision) -> bool:
        """Take in a watch event of one record. Has another client changed the release's head?

        Our own writes are known already, with their resourceVersions or higher ones. A pending revision is still in
        progress: the change counts when it has ended.
        """
        before = self.head(revision.name)
        self._take_in(change, revision)
        after = self.head(revision.name)
        return before != after and (after is None or after.status not in {*PENDING, RevisionStatus.UNINSTALLING})

    def _take_in(self, change: Change | None, revision: ReleaseRevision) -> None:
        key = revision.name, revision.number
        known = self._known.get(revision.name, {}).get(revision.number)
        last = known.version if known else self._removed.get(key, -1)
        if change is Change.DELETED:
            self._removed.pop(key, None)
            if revision.version >= last:
                self._drop(*key)
        elif revision.version > last:
            self.keep(revision)

    def _drop(self, name: str, number: int) -> ReleaseRevision | None:
        known = self._known.get(name, {})
        dropped = known.pop(number, None)
        self._heads.pop(name, None)
        if not known:
            self._known.pop(name, None)
        return dropped


async def read_document(text: str) -> JSON:
    """The document of a stored text. Raises ReleaseFailed."""
    raw = await call_by_size(len(text), UNPACKING, inflated, text)
    return await call_by_size(len(raw), PARSING, parsed, raw)


async def read_objects(record: ReleaseRecord) -> JsonObjects:
    """The objects of a record's manifest. Raises ReleaseFailed, orjson.JSONEncodeError."""
    return await call_by_size(len(record.manifest), READING, objects_of, record.without_chart)


def objects_of(record: ReleaseRecord) -> JsonObjects:
    """The same, at once."""
    return JsonObjects.of(record.objects)
