"""How the objects that a module wants differ from those that are in the cluster: each is applied as a dry run and
compared with what is there, so that defaults of the API server are no differences.

An apply does not take away what was not applied before, but created (`releases/writing`). For such an object the dry
run is a merge patch that names what goes; lists are then compared as a whole.
"""

import asyncio
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import yaml

from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.resources import JSON
from hookrunner.releases import ownership
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id

NO_DIFF = "No diff found"

_AT_ONCE = 16
_RESTLESS = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
_DRY_RUN = WriteOptions(ownership.MANAGER, dry_run=True)
_FORCED = replace(_DRY_RUN, force=True)
_HIDDEN = "*** {} bytes"


class Diffs:
    """Compares with one cluster. Nothing is changed there."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def of(self, identity: ReleaseId, wanted: Iterable[JSON], deployed: Iterable[JSON]) -> str:
        """A unified diff, object by object; those of the `deployed` revision that are not wanted any more are shown as
        going. What Secrets hold is not shown, only that it differs. Raises KubeError, ReleaseFailed."""
        new = {object_id(obj, identity): obj for obj in wanted}
        old = {object_id(obj, identity): obj for obj in deployed}
        going = [one for one, obj in old.items() if one not in new and not ownership.must_stay(obj["metadata"])]
        parts = await asyncio.gather(*(self._part(one, new.get(one), old.get(one), identity) for one in (*new, *going)))
        return "".join(parts) or f"{NO_DIFF}\n"

    async def _part(self, one: ObjectId, obj: JSON, last: JSON, identity: ReleaseId) -> str:
        async with self._turn:
            live = await self._live(one)
            created = live is not None and last is not None and _created(live)
            target = None if obj is None else await self._target(one, obj, last if created else None, identity)
        return _unified(str(one), _hidden(_calm(live), _calm(target)))

    async def _live(self, one: ObjectId) -> JSON:
        """None if it is not there."""
        try:
            resource = await self._discovery.resolve(one.api_version, one.kind)
            return await writes.read(self._client, ObjectRef(resource, one.namespace, one.name))
        except (NotFound, UnknownKind):
            return None

    async def _target(self, one: ObjectId, obj: JSON, last: JSON, identity: ReleaseId) -> JSON:
        """The object as it would be; as it is wanted if the server cannot say, for want of its namespace or its kind.
        `last` is what it was created from, None if it has been applied since. Raises KubeError if it is refused."""
        try:
            resource = await self._discovery.resolve(one.api_version, one.kind)
        except UnknownKind:
            return obj
        body = ownership.owned(obj, resource, identity)
        ref = ObjectRef(resource, one.namespace, one.name)
        try:
            if last is None:
                return (await writes.apply(self._client, ref, body, _FORCED)).json
            patch = _merging(ownership.owned(last, resource, identity), body)
            return (await writes.merge_patch(self._client, ref, patch, _DRY_RUN)).json
        except NotFound:
            return body
        except ApiError as error:
            raise KubeError(f"{one}: {error}") from error


def _created(live: JSON) -> bool:
    """Does what we have created there not count as applied yet?"""
    entries = live["metadata"].get("managedFields") or []
    return any(one.get("manager") == ownership.MANAGER and one.get("operation") == "Update" for one in entries)


def _merging(last: JSON, wanted: JSON) -> JSON:
    """The merge patch that makes `wanted` of what was made from `last` (RFC 7386)."""
    if not isinstance(last, dict) or not isinstance(wanted, dict):
        return wanted
    gone = {key: None for key in last if key not in wanted}
    return {key: _merging(last.get(key), value) for key, value in wanted.items()} | gone


def _calm(obj: JSON) -> JSON:
    """Without what says nothing about what is wanted."""
    if obj is None:
        return None
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _RESTLESS}
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}


def _hidden(live: JSON, target: JSON) -> tuple[JSON, JSON]:
    """What Secrets hold is replaced by words that are the same where it is the same."""
    if (live or target)["kind"] != "Secret":
        return live, target
    known = (live or {}).get("data") or {}
    return _masked(live, known, ""), _masked(target, known, " (changed)")


def _masked(obj: JSON, known: Mapping[str, str], changed: str) -> JSON:
    if obj is None or not obj.get("data"):
        return obj
    words = {name: _word(text) + changed * (known.get(name, text) != text) for name, text in obj["data"].items()}
    return obj | {"data": words}


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
