"""Which package an instance gets: the version, by its spec and its channel, and the package's files as a directory.

    choice = PackageChoice(addon, fetcher, open_source, metrics)
    chosen = await choice.choose(instance, status, kubernetes, head)   # an AddonObstacle if it gets nothing
    choice.close()                                              # when the instance is gone

A remote source is asked when the spec has changed, when the cluster has another version, or when `expire` says that it
is time (--addon-refresh). Other runs take what was chosen before; after a restart that is what the status says, if its
package is still in the cache. So a restart with nothing to do asks no source.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hookrunner.addons.instance_build import ChosenPackage
from hookrunner.addons.version_resolver import (
    ResolvedVersion,
    VersionRequest,
    package_obstacle,
    resolve_version,
    version_request,
)
from hookrunner.errors import PackageError
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle, AddonPhase
from hookrunner.model.addons import ACCEPT_DIGEST, RECONCILE, Addon, Instance
from hookrunner.model.releases import Head
from hookrunner.packages.channels import Channel
from hookrunner.packages.package import Package
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest
from hookrunner.packages.source_locations import PackageSource
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_HELD = 2
"""Packages whose directories stay: the present one, and the one before, which a hook may still read."""
_SETTLED = frozenset((AddonPhase.CURRENT.value, AddonPhase.IN_PROGRESS.value))
"""Phases in which the status says what the spec led to."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What the answer of a source depends on, besides the source."""

    uid: str
    generation: int
    kubernetes: str
    accepted: str
    reconcile: str


class PackageChoice:
    """Chooses for one instance. `open_source` gives the source of the addon of a name for a cluster of a
    version."""

    def __init__(
        self,
        addon: Addon,
        fetcher: PackageFetcher,
        open_source: Callable[[str, str], PackageSource],
        metrics: Metrics,
    ) -> None:
        self._metrics = metrics
        self._addon = addon
        self._fetcher = fetcher
        self._open_source = open_source
        self._last: tuple[_Question, ChosenPackage] | None = None
        self._expired = False
        self._held = deque[str]()

    def expire(self) -> None:
        """The next run asks the source again."""
        self._expired = True

    def close(self) -> None:
        """Let go of the directories: no hook reads them any more."""
        while self._held:
            self._fetcher.cache.release(self._held.popleft())

    async def choose(
        self, instance: Instance, status: JSON, kubernetes: str, head: Head | None
    ) -> ChosenPackage | AddonObstacle:
        """The package for an instance with this status and this head of its release, on a cluster of this version, or
        why it gets none."""
        request = version_request(self._addon, instance, kubernetes, head.version if head else "")
        question, followed = _question_of(instance, request), _followed(status, head)
        request = replace(request, followed=followed, serial=_serial(status, instance.fields.channel))
        try:
            source = self._open_source(self._addon.name, request.kubernetes)
            known = await self._recall(question, status, head) if source.is_remote else None
            chosen = known or await self._ask(source, instance, status, request)
        except PackageError as error:
            return package_obstacle(error)
        if isinstance(chosen, ChosenPackage):
            self._last = question, chosen
        return chosen

    async def _recall(self, question: _Question, status: JSON, head: Head | None) -> ChosenPackage | None:
        """What was chosen before for the same question, None if the source has to be asked."""
        if self._expired:
            return None
        if self._last:
            return await self._put_in_place(self._last[1]) if self._last[0] == question else None
        if head is None or head.note or not _is_settled(status, question.generation, head):
            return None  # a revision that was restored is not what the spec has led to
        request = PackageRequest(self._addon.component, head.version)
        package = await self._fetcher.read_from_cache(request, str(status.get("digest") or ""))
        if package is None:
            return None
        channel, available = str(status.get("channel") or ""), str(status.get("availableVersion") or "")
        version = ResolvedVersion(head.version, channel, package.digest, available, serial=_serial(status, channel))
        return await self._held_one(version, package, _commit_of(status, package))

    async def _put_in_place(self, chosen: ChosenPackage) -> ChosenPackage:
        """What was chosen before, in its directory; written again if that was deleted. Raises PackageError."""
        if self._fetcher.cache.is_in_place(chosen.package.digest):
            return chosen
        return await self._held_one(chosen.version, chosen.package, chosen.commit)

    async def _ask(
        self, source: PackageSource, instance: Instance, status: JSON, request: VersionRequest
    ) -> ChosenPackage | AddonObstacle:
        """Raises PackageError."""
        with self._metrics.time_addon_step(instance.labels, "resolve"):
            version = resolve_version(request, await self._read_channel(source, instance.fields.channel))
        if isinstance(version, AddonObstacle):
            return version
        if self._last:
            with suppress(PackageError):  # if the source is down, the fetcher takes it from the cache
                await self._put_in_place(self._last[1])
        with self._metrics.time_addon_step(instance.labels, "fetch"):
            package = await self._fetcher.fetch(source, _package_request(self._addon, instance, status, version))
        self._expired = bool(version.unread)
        return await self._held_one(version, package, source.commit or _commit_of(status, package))

    async def _read_channel(self, source: PackageSource, name: str) -> Channel | PackageError:
        """The channel, or why it cannot be read: whether that matters depends on the version that is wanted."""
        try:
            return await self._fetcher.read_channel(source, name)
        except PackageError as error:
            return error

    async def _held_one(self, version: ResolvedVersion, package: Package, commit: str) -> ChosenPackage:
        """The package in a directory that stays. Raises PackageError."""
        directory = await self._fetcher.hold(package)
        if package.digest in self._held:
            self._held.remove(package.digest)
            self._fetcher.cache.release(package.digest)
        self._held.append(package.digest)
        if len(self._held) > _HELD:
            self._fetcher.cache.release(self._held.popleft())
        return ChosenPackage(version, package, directory, commit)


def _question_of(instance: Instance, request: VersionRequest) -> _Question:
    annotations = instance.annotations
    accepted, reconcile = annotations.get(ACCEPT_DIGEST, ""), annotations.get(RECONCILE, "")
    return _Question(instance.uid, instance.generation, request.kubernetes, accepted, reconcile)


def _commit_of(status: JSON, package: Package) -> str:
    """The commit that the status has for this package."""
    return str(status.get("commit") or "") if status.get("digest") == package.digest else ""


def _followed(status: JSON, head: Head | None) -> str:
    """The channel that the installed version is from; "" if none is known, or if the revision was restored in place of
    what its channel wants."""
    is_from_it = head is not None and not head.note and status.get("version") == head.version
    return str(status.get("channel") or "") if is_from_it else ""


def _serial(status: JSON, channel: str) -> int:
    """The serial that a channel had when the installed version was chosen from it, 0 if it is from another one."""
    return int(status.get("serial") or 0) if status.get("channel") == channel else 0


def _is_settled(status: JSON, generation: int, head: Head) -> bool:
    """Does the status say what the present spec led to, and is just that installed?"""
    said = status.get("observedGeneration"), status.get("version"), status.get("revision")
    return status.get("phase") in _SETTLED and said == (generation, head.version, head.revision)


def _package_request(addon: Addon, instance: Instance, status: JSON, version: ResolvedVersion) -> PackageRequest:
    installed = str(status.get("digest") or "") if status.get("version") == version.version else ""
    accepted = instance.annotations.get(ACCEPT_DIGEST, "")
    return PackageRequest(addon.component, version.version, version.digest, installed, accepted)
