"""Installs CustomResourceDefinitions that a module brings outside of its templates, and waits until they are served.

    kinds = await Crds(client, kinds).ensure(definitions, labels)

They are created and updated before anything else and never deleted: that would delete all objects of their kinds.

Objects may still be stored as a version that will be removed. Then that version is first kept beside the new ones, all
objects are written once, by which the API server stores them again, and only then it is removed
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/).
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from hookrunner import log
from hookrunner.errors import AlreadyExists, Conflict, Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import read_entries
from hookrunner.kube.lacked_rights import alternatives
from hookrunner.kube.writes import FIELD_MANAGER, ListOptions, ObjectRef, WriteOptions
from hookrunner.model.resources import Resource
from hookrunner.releases.definition_comparison import merged
from hookrunner.releases.manifest_objects import KindResolver, resources
from hookrunner.waits import Pauses
from kubetypes.json_values import JSON

DEFINITION = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)
_LOOKS = Pauses(0.01, 1.0, 1.5)


async def wait_for_serving(client: Client, crd: JSON, deadline: float) -> None:
    """Wait until the API server serves a definition, so that its objects can be written. Raises ReleaseFailed after
    `deadline` seconds with the reason that the server gives, such as a name that is taken."""
    name = crd["metadata"]["name"]
    reason = "the server has not reported a status"
    try:
        async with asyncio.timeout(deadline):
            for pause in _LOOKS:
                reason = pending_reason(await writes.read(client, _ref(crd))) or await _discovery_lag(client, crd)
                if not reason:
                    return
                await asyncio.sleep(pause)
    except TimeoutError:
        message = f"{DEFINITION.kind} {name}: the API server does not serve it after {deadline:g} s: {reason}"
        raise ReleaseFailed(message) from None


def pending_reason(crd: JSON) -> str:
    """Why a definition is not established; empty if it is."""
    conditions = {entry["type"]: entry for entry in (crd.get("status") or {}).get("conditions") or ()}
    for kind in ("NamesAccepted", "Established"):
        condition = conditions.get(kind, {})
        if condition.get("status") != "True":
            return condition.get("message") or f"it is not {kind} yet"
    return ""


async def _discovery_lag(client: Client, crd: JSON) -> str:
    """Ask discovery which kind it does not list yet, or lists with another storage version; empty if all are served.
    The server applies a definition a moment after it has accepted it."""
    stored = _storage_hash(crd)
    for resource in resources(crd):
        entries = await read_entries(client, resource.api_version)
        hashes = {entry["name"]: entry.get("storageVersionHash", stored) for entry in entries}
        if hashes.get(resource.plural) != stored:
            return f"{resource.api_version} is not in its list of kinds yet"
    return ""


def _storage_hash(crd: JSON) -> str:
    """The hash of the storage version in discovery (`storageVersionHash` of an APIResource)."""
    spec = crd["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    digest = hashlib.sha256(f"{spec['group']}/{storage}/{spec['names']['kind']}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


_AT_ONCE = 16
_PAGE = 500
_OPTIONS = WriteOptions(FIELD_MANAGER)
_VERBS = ["get", "create", "update"]

_log = log.get(__name__)


class Crds:
    """The definitions of one cluster. `deadline` in seconds bounds how long the API server may take to serve one."""

    def __init__(self, client: Client, kinds: KindResolver, deadline: float = 60.0) -> None:
        self._client = client
        self._kinds = kinds
        self._deadline = deadline

    async def ensure(self, crds: Sequence[JSON], labels: Mapping[str, str]) -> list[str]:
        """Install the definitions with these labels and wait until they are served; the kinds as `group/version/Kind`,
        sorted.

        Nothing is written if nothing differs. Raises ReleaseFailed, which names every definition that failed.
        """
        self._kinds.learn(crds)
        wanted = [_labelled(crd, labels) for crd in crds]
        results = await asyncio.gather(*map(self._attempt, wanted))
        if failed := {crd["metadata"]["name"]: error for crd, error in zip(wanted, results, strict=True) if error}:
            lines = [f"{len(failed)} of {len(wanted)} CRDs could not be installed:"]
            lines += [f"{name}: {error}" for name, error in failed.items()]
            raise ReleaseFailed("\n".join(lines), any(error.brief for error in failed.values()))
        return sorted({f"{resource.api_version}/{resource.kind}" for crd in wanted for resource in resources(crd)})

    async def _attempt(self, crd: JSON) -> KubeError | ReleaseFailed | None:
        try:
            await self._ensure(crd)
        except Denied as error:
            rule, status = refusals.rbac_rule(DEFINITION, _VERBS), refusals.rbac_rule(DEFINITION, ["update"], "status")
            return refusals.explain_rights(error, "install definitions", rule, status)
        except (KubeError, ReleaseFailed) as error:
            return error
        return None

    async def _ensure(self, crd: JSON) -> None:
        """Create or update a definition, again if another client writes it at the same time."""
        try:
            await writes.retry_on_conflict(partial(self._create_or_update, crd))
        except (Conflict, AlreadyExists):
            raise ReleaseFailed("another client keeps writing it") from None

    async def _create_or_update(self, crd: JSON) -> None:
        """Raises Conflict or AlreadyExists if another client was quicker."""
        try:
            existing = await writes.read(self._client, _ref(crd))
        except NotFound:
            await writes.create(self._client, ObjectRef(DEFINITION), crd, _OPTIONS)
            _log.info("definition created", crd=crd["metadata"]["name"])
            await self._serve(crd)
        else:
            await self._update(existing, crd)

    async def _update(self, existing: JSON, crd: JSON) -> None:
        if existing["metadata"].get("deletionTimestamp"):
            raise ReleaseFailed(
                "it is being deleted with all its objects: it will be created again afterwards", brief=True
            )
        if (update := merged(existing, crd)) is not None:
            if removed := _removed_versions(existing, crd):
                update = await self._migrate_objects(existing, update, removed)
            await self._put(update)
            _log.info("definition updated", crd=crd["metadata"]["name"])
        if update is not None or pending_reason(existing):
            await self._serve(crd)

    async def _serve(self, crd: JSON) -> None:
        """Wait until it is served. Watches of its kind, which ask discovery, then begin at once."""
        await wait_for_serving(self._client, crd, self._deadline)
        self._kinds.renew(crd)

    async def _migrate_objects(self, existing: JSON, update: JSON, removed: set[str]) -> JSON:
        """Migrate all objects from versions that are removed; the update to send afterwards."""
        old = [version | {"storage": False} for version in existing["spec"]["versions"] if version["name"] in removed]
        both = update | {"spec": update["spec"] | {"versions": [*update["spec"]["versions"], *old]}}
        both = await self._put(both)
        await wait_for_serving(self._client, both, self._deadline)
        written = await self._rewrite_objects(both)
        _log.info("objects are stored in another version", crd=existing["metadata"]["name"], objects=written)
        stored = [version for version in both["status"]["storedVersions"] if version not in removed]
        return await self._set_stored_versions(both, stored) | {"spec": update["spec"]}

    async def _set_stored_versions(self, crd: JSON, stored: Sequence[str]) -> dict[str, JSON]:
        """Set the stored versions in the status; the definition afterwards."""
        live = await writes.read(self._client, _ref(crd))
        ref, status = replace(_ref(crd), subresource="status"), {"storedVersions": stored}
        with alternatives():
            try:
                body = live | {"status": live["status"] | status}
                answer = await writes.replace(self._client, ref, body, _OPTIONS)
            except Denied as error:
                if not refusals.is_forbidden(error):
                    raise
                body = {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}, "status": status}
                answer = await writes.merge_patch(self._client, ref, body, _OPTIONS)
        cleaned: dict[str, JSON] = answer.json
        return cleaned

    async def _rewrite_objects(self, crd: JSON) -> int:
        """Write every object unchanged; how many there were. A write of another client in between does the same."""
        storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
        resource = next(candidate for candidate in resources(crd) if candidate.api_version.endswith(f"/{storage}"))
        turn, count = asyncio.Semaphore(_AT_ONCE), 0

        async def rewrite(obj: JSON) -> None:
            metadata = obj["metadata"]
            ref = ObjectRef(resource, metadata.get("namespace", ""), metadata["name"])
            async with turn:
                try:
                    await writes.replace(self._client, ref, obj, _OPTIONS)
                except (NotFound, Conflict):
                    return

        async with aclosing(writes.read_pages(self._client, ObjectRef(resource), ListOptions(limit=_PAGE))) as pages:
            async for page in pages:
                await asyncio.gather(*map(rewrite, page))
                count += len(page)
        return count

    async def _put(self, crd: JSON) -> JSON:
        return (await writes.replace(self._client, _ref(crd), crd, _OPTIONS)).json


def _ref(crd: JSON) -> ObjectRef:
    return ObjectRef(DEFINITION, name=crd["metadata"]["name"])


def _labelled(crd: JSON, labels: Mapping[str, str]) -> JSON:
    metadata = crd["metadata"]
    return crd | {"metadata": metadata | {"labels": (metadata.get("labels") or {}) | dict(labels)}}


def _removed_versions(existing: JSON, crd: JSON) -> set[str]:
    """Versions that objects may be stored as and that the new definition does not have."""
    stored = (existing.get("status") or {}).get("storedVersions") or ()
    return set(stored) - {version["name"] for version in crd["spec"]["versions"]}
