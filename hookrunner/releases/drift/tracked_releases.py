"""Which objects of which releases are tracked, and which of them exist. Live objects are kept by name only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified
from hookrunner.model import modules
from hookrunner.model.events import Report, Synced
from hookrunner.model.releases import ObjectDrift
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id
from kubetypes.json_values import JSON


class PresentObjects:
    """Which objects of one kind a metadata-only watch shows; their keys only. `synced`: others do not exist."""

    def __init__(self, kind: str) -> None:
        self.synced = False
        self._kind = kind
        self._keys: set[ObjectKey] = set()
        self._informer = Informer(self._keys)

    def has(self, namespace: str, name: str) -> bool:
        """Does the object exist? The namespace does not matter for kinds without namespaces."""
        return any(ObjectKey(any_namespace, self._kind, name) in self._keys for any_namespace in (namespace, ""))

    def facts(self, reports: Iterable[Report]) -> Iterator[Fact]:
        """Yield the facts of a batch of the watch, each after it was noted here."""
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
_DELETED_BY_CLUSTER = ("certificates.k8s.io", "CertificateSigningRequest")


@dataclass(slots=True)
class TrackedRelease:
    """Objects as they were applied. `found` is their known drift; while `paused`, none is detected. `seen` is the state
    in which each object was read last."""

    identity: ReleaseId
    objects: dict[ObjectId, JSON]
    mode: modules.Drift
    paused: bool = False
    found: dict[ObjectId, ObjectDrift] = field(default_factory=dict)
    seen: dict[ObjectId, bytes] = field(default_factory=dict)

    @property
    def changes_matter(self) -> bool:
        """Do changes count as drift, or only missing objects?"""
        return self.mode in ("warn", "repair")


class TrackedReleases:
    """All tracked releases, and their objects by kind and name."""

    def __init__(self) -> None:
        self._releases: dict[ReleaseId, TrackedRelease] = {}
        self._by_kind: dict[Kind, dict[str, dict[ObjectId, TrackedRelease]]] = {}

    def put(self, identity: ReleaseId, objects: Iterable[JSON], mode: modules.Drift) -> TrackedRelease:
        """Track these objects of a release, and none of its earlier ones."""
        self.drop(identity)
        release = TrackedRelease(
            identity, {object_id(obj, identity): obj for obj in objects if _is_permanent(obj)}, mode
        )
        self._releases[identity] = release
        for tracked_id in release.objects:
            names = self._by_kind.setdefault((tracked_id.api_version, tracked_id.kind), {})
            names.setdefault(tracked_id.name, {})[tracked_id] = release
        return release

    def drop(self, identity: ReleaseId) -> None:
        """Stop tracking a release."""
        release = self._releases.pop(identity, None)
        for tracked_id in release.objects if release else ():
            names = self._by_kind[tracked_id.api_version, tracked_id.kind]
            if names.get(tracked_id.name, {}).get(tracked_id) is release:
                del names[tracked_id.name][tracked_id]
                if not names[tracked_id.name]:
                    del names[tracked_id.name]
            if not names:
                del self._by_kind[tracked_id.api_version, tracked_id.kind]

    def release(self, identity: ReleaseId) -> TrackedRelease | None:
        """The tracked release, None if it is not tracked."""
        return self._releases.get(identity)

    def active(self, tracked_id: ObjectId) -> TrackedRelease | None:
        """The release of an object, None while it is paused."""
        release = (
            self._by_kind.get((tracked_id.api_version, tracked_id.kind), {}).get(tracked_id.name, {}).get(tracked_id)
        )
        return None if release is None or release.paused else release

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of all tracked objects."""
        return frozenset(self._by_kind)

    def of(self, kind: Kind) -> Iterator[ObjectId]:
        """All tracked objects of a kind."""
        return (tracked_id for ids in list(self._by_kind.get(kind, {}).values()) for tracked_id in list(ids))

    def named(self, kind: Kind, key: ObjectKey) -> list[ObjectId]:
        """The tracked objects with this key of a watch; keys of kinds without namespaces have no namespace."""
        ids = self._by_kind.get(kind, {}).get(key.name, {})
        return [tracked_id for tracked_id in ids if key.namespace in ("", tracked_id.namespace)]


def _is_permanent(obj: JSON) -> bool:
    """Does the object stay until a client deletes it?"""
    metadata = obj["metadata"]
    if not metadata.get("name") or _HOOK in (metadata.get("annotations") or {}):
        return False
    if obj["kind"] == "Job" and (obj.get("spec") or {}).get("ttlSecondsAfterFinished") is not None:
        return False
    return (obj["apiVersion"].rpartition("/")[0], obj["kind"]) != _DELETED_BY_CLUSTER
