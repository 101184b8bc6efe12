"""One object of a release is brought to what is wanted.

What is new is created by POST: it fails if somebody was there first, so that the check of who owns the object cannot be
overtaken. Such a creation counts as an update by `helm`, for the API server has no way to apply only what is not there;
the first change turns it into an apply, exactly as for what Helm 3 has left. What is there is read (metadata alone),
and applied under its `uid`: an object that was replaced in between is looked at again.
"""

import asyncio
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote

import orjson

from hookrunner import log
from hookrunner.errors import AlreadyExists, ApiError, Conflict, NotFound, ReleaseFailed
from hookrunner.kube.client import Call, Client
from hookrunner.model.releases import Adoption, Terms
from hookrunner.model.resources import JSON, Resource
from hookrunner.releases import ownership, server_side_apply
from hookrunner.releases.manifest_objects import Identity
from hookrunner.releases.ownership import Owners

Outcome = Literal["created", "changed", "unchanged"]

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_APPLY = "application/apply-patch+yaml"
_MANAGER = {"fieldManager": ownership.MANAGER}
_ATTEMPTS = 5
_GONE_WITHIN = 30.0
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 1.0

_LOG = log.get("releases.writing")


@dataclass(frozen=True, slots=True)
class Order:
    """`obj` is as it is to be sent (`ownership.owned`), `last` the same object in our last manifest."""

    resource: Resource
    obj: JSON
    identity: Identity
    last: JSON | None
    terms: Terms

    @property
    def path(self) -> str:
        """Of the object."""
        return path(self.resource, self.obj["metadata"].get("namespace", ""), self.obj["metadata"]["name"])

    @property
    def may_adopt(self) -> bool:
        """May an object that belongs to no release be taken over?"""
        return self.terms.adopt or ownership.marked(self.obj["metadata"], ownership.ADOPT)

    def adopts(self, metadata: JSON) -> bool:
        """Does a write take over the object that is there? One that has only lost its marks is still ours."""
        owner = ownership.owner(metadata)
        if owner is None:
            return self.last is None or not ownership.written(metadata)
        return owner != self.identity

    def adoption(self, metadata: JSON) -> Adoption:
        """What is on record of that."""
        owner = ownership.owner(metadata)
        namespace = self.obj["metadata"].get("namespace") or self.identity.namespace
        name = f"{namespace}/{self.resource.kind}/{self.obj['metadata']['name']}"
        return Adoption(name, str(owner) if owner else "")


class Writing:
    """Writes to one cluster. Every method raises KubeError, or ReleaseFailed with what to do."""

    def __init__(self, client: Client, owners: Owners) -> None:
        self._client = client
        self._owners = owners

    async def carry_out(self, order: Order) -> Outcome:
        """Create or apply it, whatever is there now, and again if that changes meanwhile."""
        expected = order.last is not None
        for _ in range(_ATTEMPTS):
            outcome = await (self._update(order) if expected else self._create(order))
            if outcome:
                return outcome
            expected = not expected
        raise ReleaseFailed("somebody else deletes and creates it all the time", brief=True)

    async def _create(self, order: Order) -> Outcome | None:
        where = path(order.resource, order.obj["metadata"].get("namespace", ""))
        try:
            await self._client.send(Call("POST", where, _MANAGER, order.obj, accept=METADATA))
        except AlreadyExists:
            return None
        return "created"

    async def _update(self, order: Order) -> Outcome | None:
        """None if there is nothing to update."""
        try:
            found = await self._found(order)
            found = await self._moved(order, found)
            answer = await self._applied(order, found)
            same = answer["metadata"]["resourceVersion"] == found["resourceVersion"]
            outcome: Outcome | None = "unchanged" if same else "changed"
        except NotFound:
            return None
        except ApiError as error:
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise
            outcome = await self._replaced(order, found, error)
        if outcome and order.adopts(found):
            self._owners.note(order.identity, order.adoption(found))
        return outcome

    async def _found(self, order: Order) -> JSON:
        """The metadata of what is there, if it is ours to write."""
        metadata = (await self._client.get(order.path, accept=METADATA))["metadata"]
        if order.adopts(metadata):
            await self._check_free(order, metadata)
        if metadata.get("deletionTimestamp"):
            blockers = ", ".join(metadata.get("finalizers") or ()) or "its processes have to end"
            problem = f"it is being deleted, and created again when it is gone; it is held by: {blockers}"
            raise ReleaseFailed(problem, brief=True)
        return metadata

    async def _check_free(self, order: Order, metadata: JSON) -> None:
        """Raise ReleaseFailed unless the object that is there may be taken over."""
        owner = ownership.owner(metadata)
        if owner is None:
            ownership.check_unowned(order.identity, order.may_adopt)
        else:
            await self._owners.check_orphaned(owner, order.identity, order.may_adopt or order.terms.adopt_orphans)

    async def _moved(self, order: Order, metadata: JSON) -> JSON:
        """The metadata, once all that `helm` has written counts as applied."""
        last = None if order.adopts(metadata) else order.last
        entries = server_side_apply.moved(metadata.get("managedFields") or [], last)
        if entries is None:
            return metadata
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        ]
        call = Call("PATCH", order.path, _MANAGER, patch, "application/json-patch+json", METADATA)
        try:
            moved: JSON = orjson.loads(await self._client.send(call))["metadata"]
        except Conflict:
            return await self._moved(order, await self._found(order))
        return moved

    async def _applied(self, order: Order, metadata: JSON) -> JSON:
        """The answer to an apply. Force is for fields that were ours before, and for what we take over as a whole."""
        try:
            return await self._apply(order, metadata["uid"])
        except Conflict as error:
            disputes = server_side_apply.disputes(error.raw)
            if not disputes:
                raise NotFound(error.status, error.reason, str(error)) from error
            adopted = order.adopts(metadata)
            foreign = [one for one in disputes if not adopted and not server_side_apply.sets(order.last, one.field)]
            if foreign:
                raise ReleaseFailed(_disputed(foreign)) from error
        return await self._apply(order, metadata["uid"], {"force": "true"})

    async def _apply(self, order: Order, uid: str, how: dict[str, str] | None = None) -> JSON:
        body = order.obj | {"metadata": order.obj["metadata"] | {"uid": uid}}
        call = Call("PATCH", order.path, _MANAGER | (how or {}), body, _APPLY, METADATA)
        return orjson.loads(await self._tolerated(call))

    async def _tolerated(self, call: Call) -> bytes:
        """The answer, once what does not matter is left out; the server names such faults in several steps."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._client.send(call)
            except ApiError as error:
                if not (faults := server_side_apply.faults(error.raw)):
                    raise
            _LOG.warn("faults in a template are passed over", object=call.path, faults=", ".join(map(str, faults)))
            call = replace(call, body=server_side_apply.tolerated(call.body, faults))
        return await self._client.send(call)

    async def _replaced(self, order: Order, found: JSON, error: ApiError) -> Outcome | None:
        """What to do about a refusal: none if another object was refused than the one that was looked at."""
        frozen = server_side_apply.immutable(error.raw)
        if "metadata.uid" in frozen:
            return None
        if not frozen:
            raise error
        if not ownership.marked(order.obj["metadata"], ownership.RECREATE):
            raise ReleaseFailed(
                f"{', '.join(frozen)} cannot change after creation: delete the object, or allow to create it anew by"
                f' the annotation {ownership.RECREATE}: "true" in the template. The API server said: {error}'
            ) from error
        await self.delete(order.path, found["uid"])
        await self._gone(order.path, found["uid"])
        return await self._create(order)

    async def delete(self, where: str, uid: str) -> None:
        """Delete this very object; what hangs on it goes in the background. No matter if it is gone, or another."""
        conditions = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            await self._client.send(
                Call("DELETE", where, body={"kind": "DeleteOptions", "apiVersion": "v1"} | conditions)
            )
        except (NotFound, Conflict):
            return

    async def _gone(self, where: str, uid: str) -> None:
        """Look until it is not there, or another object has its name."""
        look = _FIRST_LOOK
        try:
            async with asyncio.timeout(_GONE_WITHIN):
                while (await self._client.get(where, accept=METADATA))["metadata"]["uid"] == uid:
                    await asyncio.sleep(look)
                    look = min(look * 1.5, _LONGEST_LOOK)
        except NotFound:
            return
        except TimeoutError:
            raise ReleaseFailed(f"deleted to be created anew, but still there after {_GONE_WITHIN:g} s") from None


def path(resource: Resource, namespace: str, name: str = "") -> str:
    """The URL path of an object, or of all of its kind in a namespace, whatever characters a chart puts in names."""
    return resource.path(*(quote(part, safe=":") for part in (namespace, name)))


def _disputed(foreign: list[server_side_apply.Dispute]) -> str:
    return (
        f"others have set fields that are new in the template to other values: {', '.join(map(str, foreign))}."
        " Leave the field out, or remove it from the object"
    )
