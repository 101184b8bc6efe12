"""Which objects of which releases are tracked, and which of them exist. Live objects are kept by name only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified
from hookrunner.model import modules
from hookrunner.model.releases import DriftFinding
from hookrunner.model.resources import JSON, ObjectKey
from hookrunner.model.watching import Report, Synced
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id


class PresentObjects:
    """Which objects of one kind a metadata-only watch shows; their keys only. `synced`: others do not exist."""

    def __init__(self, kind: str) -> None:
        self.synced = False
        self._kind = kind
        self._keys: set[ObjectKey] = set()
        self._informer = Informer(self._keys)

    def has(self, namespace: str, name: str) -> bool:
        """Is there such an object? Of a kind without namespaces, whatever namespace is asked for."""
        return any(ObjectKey(place, self._kind, name) in self._keys for place in (namespace, ""))

    def facts(self, reports: Iterable[Report]) -> Iterator[Fact]:
        """What a batch of the watch means, each fact once it is known here."""
        for fact in self._informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen):
                    self._keys.add(seen.key)
                case Deleted(key):
                    self._keys.discard(key)
                case Synced():
                    self.synced = True
            yield fact


Kind: TypeAlias = tuple[str, str]
"""apiVersion and kind, as manifests have them."""

_HOOK = "helm.sh/hook"
_TIDIED_AWAY = ("certificates.k8s.io", "CertificateSigningRequest")


@dataclass(slots=True)
class TrackedRelease:
    """Objects as they were applied. `found` is what is known to be wrong; nothing is found out while it is `paused`.
    `seen` says in which state each object was read last."""

    identity: ReleaseId
    objects: dict[ObjectId, JSON]
    mode: modules.Drift
    paused: bool = False
    found: dict[ObjectId, DriftFinding] = field(default_factory=dict)
    seen: dict[ObjectId, bytes] = field(default_factory=dict)

    @property
    def changes_matter(self) -> bool:
        """Or only that objects are there?"""
        return self.mode in ("warn", "repair")


class TrackedReleases:
    """All releases that are followed."""

    def __init__(self) -> None:
        self._releases: dict[ReleaseId, TrackedRelease] = {}
        self._owners: dict[Kind, dict[str, dict[ObjectId, TrackedRelease]]] = {}

    def put(self, identity: ReleaseId, objects: Iterable[JSON], mode: modules.Drift) -> TrackedRelease:
        """Follow these objects of a release, and no others of it."""
        self.drop(identity)
        release = TrackedRelease(identity, {object_id(obj, identity): obj for obj in objects if _lasts(obj)}, mode)
        self._releases[identity] = release
        for one in release.objects:
            names = self._owners.setdefault((one.api_version, one.kind), {})
            names.setdefault(one.name, {})[one] = release
        return release

    def drop(self, identity: ReleaseId) -> None:
        """Follow a release no more."""
        release = self._releases.pop(identity, None)
        for one in release.objects if release else ():
            names = self._owners[one.api_version, one.kind]
            if names.get(one.name, {}).get(one) is release:
                del names[one.name][one]
                if not names[one.name]:
                    del names[one.name]
            if not names:
                del self._owners[one.api_version, one.kind]

    def release(self, identity: ReleaseId) -> TrackedRelease | None:
        """What is followed of a release."""
        return self._releases.get(identity)

    def active(self, one: ObjectId) -> TrackedRelease | None:
        """Whose object it is, unless that is paused."""
        release = self._owners.get((one.api_version, one.kind), {}).get(one.name, {}).get(one)
        return None if release is None or release.paused else release

    @property
    def kinds(self) -> frozenset[Kind]:
        """Of all objects."""
        return frozenset(self._owners)

    def of(self, kind: Kind) -> Iterator[ObjectId]:
        """All objects of a kind."""
        return (one for ids in list(self._owners.get(kind, {}).values()) for one in list(ids))

    def named(self, kind: Kind, key: ObjectKey) -> list[ObjectId]:
        """What a watch means by a key; a kind without namespaces has none in its keys."""
        ids = self._owners.get(kind, {}).get(key.name, {})
        return [one for one in ids if key.namespace in ("", one.namespace)]


def _lasts(obj: JSON) -> bool:
    """Is the object to stay there until somebody deletes it?"""
    metadata = obj["metadata"]
    if not metadata.get("name") or _HOOK in (metadata.get("annotations") or {}):
        return False
    if obj["kind"] == "Job" and (obj.get("spec") or {}).get("ttlSecondsAfterFinished") is not None:
        return False
    return (obj["apiVersion"].rpartition("/")[0], obj["kind"]) != _TIDIED_AWAY
