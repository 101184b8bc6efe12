"""Reads and writes the records of releases: Secrets, or ConfigMaps with `HELM_DRIVER=configmap`.

    records = Records(client, "secret")
    revisions = await records.listed("kube-system")          # one request, metadata only
    record = await records.read(revisions[-1])
    revision = await records.create(record)

The name is `sh.helm.release.v1.<release>.v<N>`, the type `helm.sh/release.v1`.
Source: https://helm.sh/docs/topics/advanced/#storage-backends; what helm 4.1 was seen to write.
"""

import asyncio
import base64
import time
from collections.abc import Mapping
from typing import Literal, NamedTuple

import orjson

from hookrunner import log
from hookrunner.errors import AlreadyExists, Conflict, Denied, NotFound, ReleaseFailed
from hookrunner.kube import rights
from hookrunner.kube.client import Call, Client
from hookrunner.model.resources import JSON, Resource, Selection
from hookrunner.releases.records.record import Record, packed, unpacked
from hookrunner.releases.records.revisions import HOME, Revision, revision_of

Driver = Literal["secret", "configmap"]
OTHER: Mapping[Driver, Driver] = {"secret": "configmap", "configmap": "secret"}

_LOG = log.get("releases.records")
_PLURAL = {"secret": "secrets", "configmap": "configmaps"}
_KIND = {"secret": "Secret", "configmap": "ConfigMap"}
_TYPE = "helm.sh/release.v1"
_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_VERBS = ["get", "list", "create", "update", "delete"]
_LARGEST = 1024 * 1024
"""Bytes that the data of a Secret or a ConfigMap may have.
Source: https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size"""

_QUICK = 16 * 1024
"""Bytes of JSON that are packed in a millisecond at most: a thread that does it costs more than it spares."""

_WORTH_KEEPING = 256 * 1024
"""Bytes of a release's objects that are kept in memory."""


class _Kept(NamedTuple):
    """A record that we have written or read: its text, and its objects as JSON if they are known and not many."""

    revision: Revision
    text: str
    objects: bytes


class Records:
    """The records of one cluster that are of one `kind`. Those that are written in other namespaces than `home`, the
    operator's, name it. Everything raises KubeError where the API does not do what is asked."""

    def __init__(self, client: Client, driver: Driver, home: str = "") -> None:
        self.kind = _KIND[driver]
        self._client = client
        self._driver = driver
        self._home = home
        self._latest: dict[tuple[str, str], _Kept] = {}

    def selection(self, namespace: str) -> Selection:
        """The records of a namespace, to be watched."""
        return Selection("v1", self.kind, namespace, "owner=helm", metadata_only=True)

    async def listed(self, namespace: str) -> tuple[list[Revision], int]:
        """The labels of all records of a namespace, and the list's resourceVersion.

        What carries Helm's label and is no record is named in the log.
        """
        page = await self._labelled(self._path(namespace), "owner=helm")
        found = [(item["metadata"], revision_of(item["metadata"])) for item in page["items"] or ()]
        for metadata, revision in found:
            if revision is None:
                name = f"{namespace}/{metadata['name']}"
                _LOG.warn("no record of a release: its labels `name` and `version` say nothing", record=name)
        return [revision for _, revision in found if revision], int(page["metadata"]["resourceVersion"])

    async def strays(self) -> list[Revision]:
        """Those that were written for this `home` in other namespaces. Raises Denied without a right to list all."""
        page = await self._labelled(f"/api/v1/{_PLURAL[self._driver]}", f"owner=helm,{HOME}={self._home}")
        return [found for item in page["items"] or () if (found := revision_of(item["metadata"]))]

    async def find(self, name: str, namespace: str) -> str:
        """A record of a release as `<kind> <namespace>/<name>`, empty if it has none. Records are found by their
        names: one that has lost its labels is still one."""
        of_type = {"fieldSelector": f"type={_TYPE}"} if self._driver == "secret" else {}
        page = await self._client.get(self._path(namespace), of_type, _METADATA.format("List"))
        names = [str(item["metadata"]["name"]) for item in page["items"] or ()]
        found = next((one for one in names if _is_record(one, name)), "")
        return found and f"{self.kind} {namespace}/{found}"

    async def read(self, revision: Revision) -> Record:
        """The whole record. Raises ReleaseFailed, naming it, if it cannot be read."""
        if (kept := self._latest.get((revision.namespace, revision.name))) and kept.revision == revision:
            return Record(await _document(kept.text), revision.labels, kept.objects)
        found = await self._answer(Call("GET", self._path(revision.namespace, revision.name, revision.number)))
        try:
            text = (found.get("data") or {})["release"]
            text = base64.b64decode(text).decode("ascii") if self._driver == "secret" else text
            record = Record(await _document(text), revision.labels)
        except (KeyError, ValueError, ReleaseFailed) as error:
            raise ReleaseFailed(
                f"{self.kind} {revision.namespace}/{_name(revision.name, revision.number)}: {error}"
            ) from None
        if known := revision_of(found["metadata"]):
            self._remember(_Kept(known, text, b""))
        return record

    async def create(self, record: Record) -> Revision:
        """Raises ReleaseFailed if there is one of this number."""
        return await self._write(record, None)

    async def update(self, record: Record, known: Revision) -> Revision:
        """Write a record anew. Raises ReleaseFailed if it is not as it is `known`."""
        return await self._write(record, known)

    async def delete(self, revision: Revision) -> None:
        """What is not there is deleted already."""
        if (kept := self._latest.get((revision.namespace, revision.name))) and kept.revision == revision:
            del self._latest[revision.namespace, revision.name]
        try:
            await self._send(Call("DELETE", self._path(revision.namespace, revision.name, revision.number)))
        except NotFound:
            return

    async def _labelled(self, path: str, selector: str) -> JSON:
        """A list of metadata only."""
        return await self._answer(Call("GET", path, {"labelSelector": selector}, accept=_METADATA.format("List")))

    async def _write(self, record: Record, known: Revision | None) -> Revision:
        method, path = "POST", self._path(record.namespace)
        if known:
            method, path = "PUT", self._path(record.namespace, record.name, record.revision)
        text = await _text(record)
        call = Call(method, path, body=self._body(record, text, known), accept=_METADATA.format(""))
        try:
            revision = revision_of((await self._answer(call))["metadata"])
        except AlreadyExists as error:
            raise ReleaseFailed(await self._unlabelled(record) or _overtaken(record)) from error
        except Conflict as error:
            raise ReleaseFailed(_overtaken(record)) from error
        assert revision is not None, "it has the labels of a record"
        self._remember(_Kept(revision, text, record.known if len(record.known) <= _WORTH_KEEPING else b""))
        return revision

    async def _unlabelled(self, record: Record) -> str:
        """How to mend what has the place of a record and is not found as one, empty if it has its labels."""
        name = _name(record.name, record.revision)
        where = self._path(record.namespace, record.name, record.revision)
        metadata = (await self._answer(Call("GET", where, accept=_METADATA.format(""))))["metadata"]
        if (metadata.get("labels") or {}).get("owner") == "helm" and revision_of(metadata):
            return ""
        try:
            status = (await self.read(Revision(record.name, record.namespace, record.revision, ""))).status
        except ReleaseFailed as error:
            return f"{error}; it lacks the labels of a record, too: delete it"
        labels = f"owner=helm name={record.name} version={record.revision} status={status}"
        command = f"kubectl label --overwrite -n {record.namespace} {self.kind.lower()} {name} {labels}"
        return f"{self.kind} {record.namespace}/{name} has lost the labels by which records are found: {command}"

    async def _answer(self, call: Call) -> JSON:
        return orjson.loads(await self._send(call))

    async def _send(self, call: Call) -> bytes:
        try:
            return await self._client.send(call)
        except Denied as error:
            rule = rights.rule(Resource("v1", self.kind, _PLURAL[self._driver], True), _VERBS)
            raise rights.explained(error, "keep records of releases", rule) from error

    def _body(self, record: Record, text: str, known: Revision | None) -> JSON:
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

    def _path(self, namespace: str, name: str = "", number: int = 0) -> str:
        path = f"/api/v1/namespaces/{namespace}/{_PLURAL[self._driver]}"
        return f"{path}/{_name(name, number)}" if name else path


def _name(name: str, number: int) -> str:
    return f"sh.helm.release.v1.{name}.v{number}"


def _is_record(object_name: str, name: str) -> bool:
    """Is this what a record of release `name` is called?"""
    number = object_name.rpartition(".v")[2]
    return number.isdecimal() and object_name == _name(name, int(number))


def _overtaken(record: Record) -> str:
    what = f"somebody else has written revision {record.revision} of it"
    return f"{what}; what there is will be looked at anew the next time"


async def _document(text: str) -> JSON:
    """What a text stores. A large one takes some tenths of a second, for which nothing else waits. Raises
    ReleaseFailed."""
    return unpacked(text) if len(text) <= _QUICK else await asyncio.to_thread(unpacked, text)


async def _text(record: Record) -> str:
    """What is stored of a record. A large one takes some tens of milliseconds, for which nobody waits."""
    if len(orjson.dumps(record.document)) <= _QUICK:
        return _fitting(record)
    return await asyncio.to_thread(_fitting, record)


def _fitting(record: Record) -> str:
    """The text of a record, without those files of its chart that are no templates if it would be too large.

    Raises ReleaseFailed if it is too large even so.
    """
    text = packed(record.document)
    if len(text) <= _LARGEST:
        return text
    _LOG.warn(
        "the record of a release is too large: it is kept without the chart's files that are no templates",
        release=record.name,
        revision=record.revision,
        bytes=len(text),
        allowed=_LARGEST,
    )
    text = packed(record.document | {"chart": record.document["chart"] | {"files": []}})
    if len(text) > _LARGEST:
        what = f"revision {record.revision} of release {record.name} takes {len(text):,} bytes, packed"
        raise ReleaseFailed(
            f"{what}, and a record may have {_LARGEST:,}: split the module, or make its manifest smaller"
        )
    return text
