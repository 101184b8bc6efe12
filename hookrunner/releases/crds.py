"""Installs CustomResourceDefinitions that a module brings outside of its templates, and waits until they are served.

    kinds = await Crds(client, kinds).ensure(definitions, labels)

They are created and updated before anything else and never deleted: that would delete all objects of their kinds.

Objects may still be stored as a version that is to be removed. Then that version is first kept beside the new ones, all
objects are written once, by which the API server stores them anew, and only then it is removed
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/).
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping, Sequence

import orjson

from hookrunner import log
from hookrunner.errors import AlreadyExists, Conflict, Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube import rights
from hookrunner.kube.client import Call, Client
from hookrunner.kube.writes import FIELD_MANAGER
from hookrunner.model.resources import JSON, Resource
from hookrunner.releases.crd_comparison import merged
from hookrunner.releases.manifest_objects import Kinds, resources

DEFINITION = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)
_FIRST_LOOK, _LONGEST_LOOK = 0.01, 1.0


async def established(client: Client, crd: JSON, deadline: float) -> None:
    """Return when objects of it can be written. Raises ReleaseFailed after `deadline` seconds with the reason that the
    server gives, such as a name that is taken."""
    name, look = crd["metadata"]["name"], _FIRST_LOOK
    reason = "the server has not said anything about it"
    try:
        async with asyncio.timeout(deadline):
            while reason := trouble(await client.get(DEFINITION.path(name=name))) or await _unserved(client, crd):
                await asyncio.sleep(look)
                look = min(look * 1.5, _LONGEST_LOOK)
    except TimeoutError:
        message = f"{DEFINITION.kind} {name}: the API server does not serve it after {deadline:g} s: {reason}"
        raise ReleaseFailed(message) from None


def trouble(crd: JSON) -> str:
    """Why it is not established; empty if it is."""
    conditions = {one["type"]: one for one in (crd.get("status") or {}).get("conditions") or ()}
    for kind in ("NamesAccepted", "Established"):
        condition = conditions.get(kind, {})
        if condition.get("status") != "True":
            return condition.get("message") or f"it is not {kind} yet"
    return ""


async def _unserved(client: Client, crd: JSON) -> str:
    """A kind that the server does not list yet, or lists as stored in another version than wanted: it takes in a
    definition a moment after it has accepted it."""
    stored = _storage_hash(crd)
    for resource in resources(crd):
        try:
            listed = (await client.get(f"/apis/{resource.api_version}"))["resources"]
        except NotFound:
            listed = []
        hashes = {one["name"]: one.get("storageVersionHash", stored) for one in listed}
        if hashes.get(resource.plural) != stored:
            return f"{resource.api_version} is not in its list of kinds yet"
    return ""


def _storage_hash(crd: JSON) -> str:
    """By which discovery tells the version that objects are stored as (`storageVersionHash` of an APIResource)."""
    spec = crd["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    digest = hashlib.sha256(f"{spec['group']}/{storage}/{spec['names']['kind']}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


_ATTEMPTS = 5
_AT_ONCE = 16
_PAGE = 500
_WHO = {"fieldManager": FIELD_MANAGER}
_VERBS = ["get", "create", "update"]

_LOG = log.get("releases.crds")


class Crds:
    """The definitions of one cluster. `deadline` in seconds bounds how long the API server may take to serve one."""

    def __init__(self, client: Client, kinds: Kinds, deadline: float = 60.0) -> None:
        self._client = client
        self._kinds = kinds
        self._deadline = deadline

    async def ensure(self, crds: Sequence[JSON], labels: Mapping[str, str]) -> list[str]:
        """Each is in the cluster as it says, with these labels, and served; the kinds as `group/version/Kind`, sorted.

        Nothing is written if nothing differs. Raises ReleaseFailed, which names every definition that failed.
        """
        self._kinds.learn(crds)
        wanted = [_labelled(crd, labels) for crd in crds]
        results = await asyncio.gather(*map(self._attempt, wanted))
        if failed := {crd["metadata"]["name"]: error for crd, error in zip(wanted, results, strict=True) if error}:
            lines = [f"{len(failed)} of {len(wanted)} CRDs could not be installed:"]
            lines += [f"{name}: {error}" for name, error in failed.items()]
            raise ReleaseFailed("\n".join(lines), any(error.brief for error in failed.values()))
        return sorted({f"{one.api_version}/{one.kind}" for crd in wanted for one in resources(crd)})

    async def _attempt(self, crd: JSON) -> KubeError | ReleaseFailed | None:
        try:
            await self._ensure(crd)
        except Denied as error:
            rule, status = rights.rule(DEFINITION, _VERBS), rights.rule(DEFINITION, ["update"], "status")
            return rights.explained(error, "install definitions", rule, status)
        except (KubeError, ReleaseFailed) as error:
            return error
        return None

    async def _ensure(self, crd: JSON) -> None:
        """Create it or bring it up to date, again if somebody writes it at the same time."""
        for _ in range(_ATTEMPTS):
            try:
                existing = await self._client.get(_path(crd))
            except NotFound:
                if await self._created(crd):
                    return
                continue
            try:
                await self._update(existing, crd)
            except Conflict:
                continue
            return
        raise ReleaseFailed("somebody else writes it all the time")

    async def _created(self, crd: JSON) -> bool:
        try:
            await self._client.send(Call("POST", DEFINITION.path(), _WHO, crd))
        except AlreadyExists:
            return False
        await established(self._client, crd, self._deadline)
        return True

    async def _update(self, existing: JSON, crd: JSON) -> None:
        if existing["metadata"].get("deletionTimestamp"):
            raise ReleaseFailed(
                "it is being deleted with all its objects: it is created again when it is gone", brief=True
            )
        if (update := merged(existing, crd)) is not None:
            if leaving := _leaving(existing, crd):
                update = await self._left(existing, update, leaving)
            await self._put(update)
        if update is not None or trouble(existing):
            await established(self._client, crd, self._deadline)

    async def _left(self, existing: JSON, update: JSON, leaving: set[str]) -> JSON:
        """The update, once no object is stored as a version that is to go."""
        old = [version | {"storage": False} for version in existing["spec"]["versions"] if version["name"] in leaving]
        both = update | {"spec": update["spec"] | {"versions": [*update["spec"]["versions"], *old]}}
        both = await self._put(both)
        await established(self._client, both, self._deadline)
        written = await self._stored_anew(both)
        _LOG.info("objects are stored in another version", crd=existing["metadata"]["name"], objects=written)
        stored = [version for version in both["status"]["storedVersions"] if version not in leaving]
        return await self._cleaned(both, stored) | {"spec": update["spec"]}

    async def _cleaned(self, crd: JSON, stored: Sequence[str]) -> dict[str, JSON]:
        """The definition once its status says that objects are stored as these versions only."""
        found = await self._client.get(_path(crd))
        where, status = f"{_path(crd)}/status", {"storedVersions": stored}
        put = Call("PUT", where, _WHO, found | {"status": found["status"] | status})
        try:
            answer = await self._client.send(put)
        except Denied as error:
            if not rights.is_forbidden(error):
                raise
            body = {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "status": status}
            answer = await self._client.send(Call("PATCH", where, _WHO, body, "application/merge-patch+json"))
        cleaned: dict[str, JSON] = orjson.loads(answer)
        return cleaned

    async def _stored_anew(self, crd: JSON) -> int:
        """Write every object as it is; how many there were. Whoever writes one in between does the same for us."""
        storage = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
        resource = next(one for one in resources(crd) if one.api_version.endswith(f"/{storage}"))
        turn, following, count = asyncio.Semaphore(_AT_ONCE), "", 0

        async def again(obj: JSON) -> None:
            metadata = obj["metadata"]
            where = resource.path(metadata.get("namespace", ""), metadata["name"])
            async with turn:
                try:
                    await self._client.send(Call("PUT", where, _WHO, obj))
                except (NotFound, Conflict):
                    return

        while True:
            page = await self._client.get(resource.path(), {"limit": str(_PAGE), "continue": following})
            await asyncio.gather(*map(again, page["items"]))
            count += len(page["items"])
            if not (following := page["metadata"].get("continue", "")):
                return count

    async def _put(self, crd: JSON) -> JSON:
        return orjson.loads(await self._client.send(Call("PUT", _path(crd), _WHO, crd)))


def _path(crd: JSON) -> str:
    return DEFINITION.path(name=crd["metadata"]["name"])


def _labelled(crd: JSON, labels: Mapping[str, str]) -> JSON:
    metadata = crd["metadata"]
    return crd | {"metadata": metadata | {"labels": (metadata.get("labels") or {}) | dict(labels)}}


def _leaving(existing: JSON, crd: JSON) -> set[str]:
    """The versions that objects may be stored as and that are not wanted any more."""
    stored = (existing.get("status") or {}).get("storedVersions") or ()
    return set(stored) - {version["name"] for version in crd["spec"]["versions"]}
