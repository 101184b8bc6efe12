"""To which release an object belongs, and whether another may adopt it.

    await owners.check_owner_absent(owner, adopter, metadata)             # raises ReleaseFailed with what to do
    check_unowned(adopter)

An operator that has moved to another namespace, or a namespace that was deleted with its records, leaves objects whose
owner does not exist any more. Those may be adopted; the objects of a release that exists, or may exist, never are.
Source: the checks of `helm install` before it adopts an object.
"""

import asyncio
from collections import defaultdict
from dataclasses import field

from hookrunner.errors import Denied, KubeError, NotFound, ObjectOwned, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import ADDON_LABEL
from hookrunner.releases.manifest_objects import ADOPT, NAMESPACES, RELEASE_NAMESPACE, ReleaseId
from hookrunner.releases.records.record_storage import OTHER, RecordStorage
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_REMEDY = (
    "two instances may not have the same object. Names in the package must contain `.addon.name`, and those of other"
    " namespaces `.addon.namespace`; or delete one of the two instances"
)

FRESH = 2.0
"""Seconds for which an answer is cached: hundreds of objects may name the same owner."""


@dataclass(slots=True)
class _Answer:
    """A record of one release, empty if it has none, and when (loop time) the cluster was asked."""

    record: str = ""
    asked_at: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Adopter:
    """A release that needs an object which may belong to another client; `of_addon`, or of a module. `never`: its
    addon adopts nothing."""

    identity: ReleaseId
    allowed: bool
    of_addon: bool = False
    never: bool = False

    @property
    def command(self) -> str:
        """How to allow the adoption once more after a record was deleted."""
        again = "delete the object: the addon adopts nothing" if self.never else "set spec.adopt: true on the instance"
        return again if self.of_addon else f"hookrunner module adopt {self.identity.name}"

    @property
    def ways(self) -> str:
        """How to allow the adoption of an object, for a person."""
        if self.never:
            return "ask the author of the addon: addon.yaml has `adopt: never`, so no instance can adopt it"
        if self.of_addon:
            return (
                "adopt it by `spec.adopt: true` of the instance, by the annotation"
                f' {ADOPT}: "true" in the package, or by `adopt: true` in addon.yaml'
            )
        return (
            f"adopt it by `hookrunner module adopt {self.identity.name}`, by the annotation"
            f' {ADOPT}: "true" in the template, or by `adopt: true` in module.yaml'
        )


class ReleaseOwners:
    """The releases of one cluster, as owners of objects."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._records = [RecordStorage(client, driver) for driver in OTHER]
        self._answers: defaultdict[ReleaseId, _Answer] = defaultdict(_Answer)

    async def check_owner_absent(self, owner: ReleaseId, adopter: Adopter, metadata: JSON) -> None:
        """Raise ReleaseFailed, with the reason and what to do, unless release `owner` of an object with this metadata
        has no record any more and the adopter may adopt its objects. Raises KubeError if the server cannot be asked."""
        belongs = f"it belongs to release {owner}"
        if not owner.namespace:
            raise ObjectOwned(
                f"{belongs} of an unknown namespace: add its annotation {RELEASE_NAMESPACE}, or delete the object"
            )
        try:
            record = await self._record(owner)
        except Denied as error:
            raise ReleaseFailed(
                f"{belongs}, and it is unknown whether that still exists, so the object is not adopted: {error};"
                f" grant the right to list secrets and configmaps in namespace {owner.namespace}"
            ) from error
        if record and ADDON_LABEL in (metadata.get("labels") or {}):
            raise ObjectOwned(f"it belongs to {_instance_of(owner, metadata)}, which exists: {_REMEDY}")
        if record:
            raise ObjectOwned(
                f"{belongs}, and two releases may not have the same object. That release has a record, {record}; if "
                f"it is no longer maintained: kubectl delete secret,configmap -n {owner.namespace} "
                f"-l owner=helm,name={owner.name}, then {adopter.command}"
            )
        if not adopter.allowed:
            raise ObjectOwned(f"{belongs}, which has no record any more: {adopter.ways}")

    async def _record(self, owner: ReleaseId) -> str:
        """Find a record of a release, of either kind, as `Secret <namespace>/<name>`; empty without one. Raises Denied
        without the right to list records, or another KubeError."""
        now, answer = asyncio.get_running_loop().time, self._answers[owner]
        async with answer.asking:
            if now() - answer.asked_at >= FRESH:
                answer.record = await self._look_up(owner)
                answer.asked_at = now()
            return answer.record

    async def _look_up(self, owner: ReleaseId) -> str:
        try:
            for records in self._records:
                if record := await records.find(*owner):
                    return record
        except Denied:
            if not await self._is_absent(owner.namespace):
                raise
        return ""

    async def _is_absent(self, namespace: str) -> bool:
        """Is it certain that a namespace does not exist?"""
        try:
            with tolerated_refusals():
                await writes.read(self._client, ObjectRef(NAMESPACES, name=namespace))
        except NotFound:
            return True
        except KubeError:
            return False
        return False


def _instance_of(owner: ReleaseId, metadata: JSON) -> str:
    """The instance of an addon to which an object belongs: by its owner reference, which objects of other namespaces
    cannot have, else by its release."""
    namespace = metadata.get("namespace")
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller") and owner.name.endswith(f".{reference.get('name')}"):
            place = f"{namespace}/" if namespace and f".{namespace}." in owner.name else ""
            return f"{reference.get('kind')} {place}{reference['name']}"
    return f"the instance {owner.name} of an addon"


def check_unowned(adopter: Adopter) -> None:
    """Raise ReleaseFailed unless the release may adopt an object that belongs to none."""
    if not adopter.allowed:
        raise ObjectOwned(f"it exists already and belongs to no release: delete it, or {adopter.ways}")
