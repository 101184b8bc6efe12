"""How the desired objects of a module differ from the live ones: each is applied as a dry run, and the answer compared
with the live object, so that defaults of the API server are no differences.

An apply does not remove fields that were created and never applied (`releases/object_writer.py`). For such an object
the dry run is a merge patch that names what goes; lists are then compared as a whole."""

import asyncio
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import yaml

from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.impersonation import acting_as
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.releases import ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.releases.manifest_objects import MANAGER, ObjectId, ReleaseId, must_stay, object_id, owned
from hookrunner.releases.objects import apply_refusals, tolerant_writes
from hookrunner.releases.objects.object_marks import is_ignored, is_lent, with_marks
from hookrunner.releases.objects.object_writer import ObjectWrite
from hookrunner.releases.objects.tolerant_writes import accept_unpatched
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

NO_DIFF = "No diff found"

_AT_ONCE = 16
_VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
_DRY_RUN = WriteOptions(MANAGER, dry_run=True)
_FORCED = replace(_DRY_RUN, force=True)
_USUAL = ReleaseOptions()
_HIDDEN = "*** {} bytes"
_COPY = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class _DiffedRelease:
    """A release, how it is rolled out, and the client of its account."""

    identity: ReleaseId
    options: ReleaseOptions
    client: Client

    def sent(self, obj: JSON, resource: Resource) -> JSON:
        """An object of its manifest as it is sent."""
        return with_marks(owned(obj, resource, self.identity), self.options.marks)

    def prunes(self, target: ObjectId, obj: JSON) -> bool:
        """Is this object deleted when it leaves the manifest?"""
        return not must_stay(obj["metadata"]) and (target.group, target.kind) not in self.options.kept_kinds


class Diffs:
    """Compares with one cluster, without a change there."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def of(
        self, identity: ReleaseId, wanted: Iterable[JSON], deployed: Iterable[JSON], options: ReleaseOptions = _USUAL
    ) -> str:
        """A unified diff, object by object; objects of the `deployed` revision that are no longer wanted are shown as
        deleted. Values of Secrets are not shown, only that they differ. `options` say how the release is
        rolled out: what is never written or deleted is no difference. Raises KubeError, ReleaseFailed."""
        release = _DiffedRelease(identity, options, acting_as(self._client, options.account))
        new = {object_id(obj, identity): obj for obj in wanted}
        old = {object_id(obj, identity): obj for obj in deployed}
        going = [id for id, obj in old.items() if id not in new and release.prunes(id, obj)]
        parts = await asyncio.gather(*(self._compare(id, new.get(id), old.get(id), release) for id in (*new, *going)))
        return "".join(parts) or f"{NO_DIFF}\n"

    async def _compare(self, id: ObjectId, obj: JSON, last: JSON, release: _DiffedRelease) -> str:
        async with self._turn:
            live = await self._read_live(id, release.client)
            metadata, options = live["metadata"] if live else {}, release.options
            if is_ignored(metadata, options) or is_lent(metadata, release.identity, options):
                return ""
            created = live is not None and last is not None and _was_created(live)
            target = None if obj is None else await self._dry_run(id, obj, last if created else None, release)
        return _unified(str(id), _hide_secrets(_without_volatile(live), _without_volatile(target)))

    async def _read_live(self, id: ObjectId, client: Client) -> JSON:
        """The live object, None if it does not exist."""
        try:
            resource = await self._discovery.resolve(id.api_version, id.kind)
            return await writes.read(client, ObjectRef(resource, id.namespace, id.name))
        except (NotFound, UnknownKind):
            return None

    async def _dry_run(self, id: ObjectId, obj: JSON, last: JSON, release: _DiffedRelease) -> JSON:
        """The object as it would be; the desired one if its namespace or kind does not exist yet, or if it would be
        recreated. `last` is what it was created from, None if it was applied since. Raises KubeError if it is refused.
        """
        try:
            resource = await self._discovery.resolve(id.api_version, id.kind)
        except UnknownKind:
            return obj
        body = release.sent(obj, resource)
        ref = ObjectRef(resource, id.namespace, id.name)
        try:
            if last is None:
                accept = accept_unpatched(
                    release.client, body, release.options.without_patches(resource, body["metadata"])
                )
                return (await tolerant_writes.apply(release.client, ref, body, _FORCED, accept)).answer
            patch = _merge_patch(release.sent(last, resource), body)
            return (await writes.merge_patch(release.client, ref, patch, _DRY_RUN)).json
        except NotFound:
            return body
        except ApiError as error:
            order = ObjectWrite(resource, body, release.identity, None, release.options)
            if order.may_recreate and apply_refusals.immutable(error.raw):
                return body
            raise KubeError(f"{id}: {error}") from error


def _was_created(live: JSON) -> bool:
    """Did we create it, so that its fields do not count as applied yet?"""
    entries = live["metadata"].get("managedFields") or []
    return any(entry.get("manager") == MANAGER and entry.get("operation") == "Update" for entry in entries)


def _merge_patch(last: JSON, wanted: JSON) -> JSON:
    """The merge patch (RFC 7386) that turns what was made from `last` into `wanted`."""
    if not isinstance(last, dict) or not isinstance(wanted, dict):
        return wanted
    gone = {key: None for key in last if key not in wanted}
    return {key: _merge_patch(last.get(key), value) for key, value in wanted.items()} | gone


def _without_volatile(obj: JSON) -> JSON:
    """The object without the fields that no manifest sets."""
    if obj is None:
        return None
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}


def _hide_secrets(live: JSON, target: JSON) -> tuple[JSON, JSON]:
    """Values of Secrets are replaced by words, which are equal where the values are; also those in the copy of the
    Secret that `kubectl apply` keeps in an annotation."""
    if (live or target)["kind"] != "Secret":
        return live, target
    known = (live or {}).get("data") or {}
    return _masked(live, known, ""), _masked(target, known, " (changed)")


def _masked(obj: JSON, known: Mapping[str, str], changed: str) -> JSON:
    if obj is None:
        return None
    obj = _without_copy(obj)
    if not obj.get("data"):
        return obj
    words = {name: _word(text) + changed * (known.get(name, text) != text) for name, text in obj["data"].items()}
    return obj | {"data": words}


def _without_copy(obj: JSON) -> JSON:
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    if _COPY not in annotations:
        return obj
    return obj | {"metadata": metadata | {"annotations": annotations | {_COPY: _word(annotations[_COPY])}}}


def _word(text: JSON) -> str:
    return _HIDDEN.format(len(str(text)))


def _unified(name: str, sides: Sequence[JSON]) -> str:
    live, target = (_lines(side) for side in sides)
    return "".join(difflib.unified_diff(live, target, f"live/{name}", f"wanted/{name}"))


def _lines(obj: JSON) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.dump(obj, Dumper=yaml.CSafeDumper, allow_unicode=True, width=2**31 - 1)
    return text.splitlines(keepends=True)
