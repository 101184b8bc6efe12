"""Whether the release still exists that an object in the cluster names as its owner, and whose objects were taken over.

An operator that has moved to another namespace, or a namespace that was deleted with its records, leaves objects whose
owner does not exist any more. Those may be taken over; the objects of a release that exists, or may exist, never are.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from hookrunner import log
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.model.releases import Adoption
from hookrunner.releases.ordering import Identity
from hookrunner.releases.ownership import NAMESPACE, ways_to_adopt
from hookrunner.releases.records import OTHER, Records

_FRESH = 2.0
"""Seconds for which an answer is used again: hundreds of objects may name the same owner."""

_LOG = log.get("releases.owners")


@dataclass(slots=True)
class _Answer:
    """A record of one release, empty if there is none, and when (loop time) the cluster was asked."""

    record: str = ""
    asked_at: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Owners:
    """The releases of one cluster, as owners of objects."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._records = [Records(client, driver) for driver in OTHER]
        self._answers: defaultdict[Identity, _Answer] = defaultdict(_Answer)
        self._adoptions: defaultdict[Identity, list[Adoption]] = defaultdict(list)

    async def check_orphaned(self, owner: Identity, identity: Identity, allowed: bool) -> None:
        """Raise ReleaseFailed, which says why and what to do, unless release `owner` of an object has no record any
        more and `identity` is allowed to take its objects over. Raises KubeError if the server cannot be asked."""
        belongs = f"it belongs to release {owner}"
        if not owner.namespace:
            raise ReleaseFailed(
                f"{belongs} of an unknown namespace: add its annotation {NAMESPACE}, or delete the object"
            )
        try:
            record = await self._record(owner)
        except Denied as error:
            raise ReleaseFailed(
                f"{belongs}, and it cannot be seen whether that still exists, so the object is not taken over: {error};"
                f" give the right to list secrets and configmaps in namespace {owner.namespace}"
            ) from error
        if record:
            raise ReleaseFailed(
                f"{belongs}, and two releases may not have the same object. That release has a record, {record}; if "
                f"nothing looks after it any more: kubectl delete secret,configmap -n {owner.namespace} "
                f"-l owner=helm,name={owner.name}, then hookrunner module adopt {identity.name}"
            )
        if not allowed:
            raise ReleaseFailed(f"{belongs}, which has no record any more: {ways_to_adopt(identity)}")

    def note(self, identity: Identity, adoption: Adoption) -> None:
        """`identity` has taken an object over."""
        level = "warn" if adoption.owner else "info"
        owner = adoption.owner or "none"
        _LOG.log(level, "object taken over", release=str(identity), object=adoption.object, owner=owner)
        self._adoptions[identity].append(adoption)

    def adopted(self, identity: Identity) -> tuple[Adoption, ...]:
        """What this release has taken over since the last call, in the order of names."""
        return tuple(sorted(self._adoptions.pop(identity, ()), key=lambda one: one.object))

    async def _record(self, owner: Identity) -> str:
        """A record of a release, of either kind, as `Secret <namespace>/<name>`; empty if there is none. Raises Denied
        if that cannot be seen, or another KubeError."""
        now, answer = asyncio.get_running_loop().time, self._answers[owner]
        async with answer.asking:
            if now() - answer.asked_at >= _FRESH:
                answer.record = await self._look_up(owner)
                answer.asked_at = now()
            return answer.record

    async def _look_up(self, owner: Identity) -> str:
        try:
            for records in self._records:
                if found := await records.find(*owner):
                    return found
        except Denied:
            if not await self._is_gone(owner.namespace):
                raise
        return ""

    async def _is_gone(self, namespace: str) -> bool:
        """Is it certain that a namespace does not exist?"""
        try:
            await self._client.get(f"/api/v1/namespaces/{namespace}")
        except NotFound:
            return True
        except KubeError:
            return False
        return False
