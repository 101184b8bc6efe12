"""The one way to a package: from the cache, or from its source and verified. Channels are read here too, and counted.

    async with HttpsReader() as reader:
        registries = RegistryClient(reader, open_credentials(settings.credentials, client))
        opener = SourceOpener(reader, client, 60.0, locations_of(addons, settings), registries)
        source = opener.open("coredns", kubernetes="v1.34.2")
    fetcher = PackageFetcher(cache, "digest", metrics)
    package = await fetcher.fetch(source, PackageRequest("coredns", "1.14.6", pin="sha256:…"))

A package whose digest is known beforehand, from the channel, from the release that is installed or from the list of
checksums at the source, is taken from the cache if it is there. So a source that is down, slow or gone does not affect
what runs. Packages of remote sources are kept in the cache; others are read where they are, each time.

Directories and objects of the cluster are trusted: who may write there may do more than change a package. What comes
over a network must be pinned, by the package's own `SHA256SUMS`, by the digest in the channel or by the digests of a
registry. All but the second protect against damage and mixed versions, not against the server; the digest in a channel
from another place does. So a remote package whose digest differs from the one that is installed under the same version
is refused. With `--addon-verify signature` a trusted key must have signed what is read, wherever it lies
(`signatures/signed_source.py`).

One reader serves all web servers, so that unchanged channels stay known from one run to the next. Without a client, as
offline commands have none, objects of the cluster are a source that is down, and the message says why.
Source: docs/packaging-addons.md
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from hookrunner import log
from hookrunner.errors import PackageError
from hookrunner.kube.client import Client
from hookrunner.metrics.names import Metrics
from hookrunner.packages.channels import PARSING, Channel, parse_channel
from hookrunner.packages.cluster_source import ClusterSource
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.git.git_checkouts import GitCheckouts
from hookrunner.packages.git.git_source import GitSource
from hookrunner.packages.git_locations import GitLocation
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.https_source import HttpsSource
from hookrunner.packages.oci.image_layout import LayoutStore
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.oci_locations import LayoutLocation, RegistryLocation
from hookrunner.packages.package import Package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.shared_reads import SharedReads
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import KeyFiles, TrustedKeys
from hookrunner.packages.source_locations import (
    ClusterLocation,
    DirectoryLocation,
    PackageSource,
    SourceLocation,
    WebLocation,
)
from hookrunner.process.pure_calls import call_by_size
from hookrunner.settings.addons import Verification
from kubetypes.light_dataclasses import dataclass

_T = TypeVar("_T")

_log = log.get(__name__)
_GONE = frozenset({"Unreachable", "NotFound"})
"""Reasons for which the installed package is used from the cache, so that its settings can still change."""


@dataclass(frozen=True, slots=True)
class SourceOpener:
    """Opens the sources of addons. `timeout` are seconds for one channel or package of a server; 0 is no limit.
    `locations` has where each addon has its packages, by its name, or why that cannot be read; `checkouts` are of those
    in git. One of the `keys` must have signed what comes from elsewhere than directories of addons, whose programs
    are run anyway; with None no signature is required."""

    reader: HttpsReader
    client: Client | None
    timeout: float
    locations: Mapping[str, SourceLocation | str]
    registries: RegistryClient
    checkouts: GitCheckouts
    keys: KeyFiles | None = None
    _directories: dict[Path, DirectorySource] = field(default_factory=dict)
    _layouts: dict[Path, OciSource] = field(default_factory=dict)
    _memories: dict[str, OciMemory] = field(default_factory=dict)
    """Of registries, by location."""

    def open(self, addon: str, kubernetes: str) -> PackageSource:
        """The source of an addon's packages, for a cluster of this version. Raises PackageError with the reason
        Malformed for a location that cannot be read, Unreachable for objects of a cluster without one."""
        location = self.locations[addon]
        if isinstance(location, str):
            raise PackageError("Malformed", location)
        keys = self.keys.read_again() if self.keys else None
        return require_signed(self._open(location, kubernetes), location, keys)

    def _open(self, location: SourceLocation, kubernetes: str) -> PackageSource:
        match location:
            case DirectoryLocation(path):
                if path not in self._directories:
                    self._directories[path] = DirectorySource(path)
                return self._directories[path]
            case WebLocation(url):
                return HttpsSource(url, self.reader, kubernetes, self.timeout)
            case GitLocation():
                return GitSource(location.at(kubernetes), self.checkouts)
            case RegistryLocation():
                return self._open_registry(location.at(kubernetes))
            case LayoutLocation(path):
                if path not in self._layouts:
                    self._layouts[path] = OciSource(LayoutStore(location), OciMemory(), 0.0)
                return self._layouts[path]
            case ClusterLocation():
                return self._open_objects(location)

    def _open_objects(self, location: ClusterLocation) -> ClusterSource:
        if self.client is None:
            text = "needs a cluster; name a directory or a web server with --addon-source"
            raise PackageError("Unreachable", f"the source {location} {text}")
        return ClusterSource(location, self.client)

    def _open_registry(self, location: RegistryLocation) -> OciSource:
        memory = self._memories.setdefault(str(location), OciMemory())
        return OciSource(self.registries.open(location), memory, self.timeout)


def require_signed(source: PackageSource, location: SourceLocation, keys: TrustedKeys | None) -> PackageSource:
    """The source at a location, of which only what one of the keys has signed is read; itself without keys, and if it
    is in the directory of an addon."""
    is_own = isinstance(location, DirectoryLocation) and location.is_of_addon
    return source if keys is None or is_own else SignedSource(source, keys)


@dataclass(frozen=True, slots=True)
class PackageRequest:
    """Which package is wanted. `pin` is the digest in the channel, `installed` that of the package that is installed
    under the same version, `accepted` the one that the instance accepts in its place; each may be empty."""

    component: str
    version: str
    pin: str = ""
    installed: str = ""
    accepted: str = ""


class PackageFetcher:
    """Fetches for all addons, each package once at a time, into `cache`."""

    def __init__(self, cache: PackageCache, verification: Verification, metrics: Metrics) -> None:
        self.cache = cache
        self._verification = verification
        self._metrics = metrics
        metrics.addon_package_cache_bytes.from_function(lambda: [((), cache.size)])
        self._locks = WeakValueDictionary[tuple[str, str, str], asyncio.Lock]()
        self._reads = SharedReads()

    async def read_channel(self, source: PackageSource, name: str) -> Channel:
        """A channel, read anew. Raises PackageError, which a metric and the log also tell: with an exact version in the
        spec no status does."""
        try:
            text = await self._read(source, source.read_channel, name)
            server = source.location if source.is_remote else ""
            channel = await call_by_size(len(text), PARSING, parse_channel, name, text, server)
        except PackageError as error:
            self._metrics.addon_channel_reads.inc(source.location, error.reason)
            _log.warn("channel not usable", location=source.location, reason=error.reason, error=error)
            raise
        self._metrics.addon_channel_reads.inc(source.location, "read")
        return channel

    async def fetch(self, source: PackageSource, request: PackageRequest) -> Package:
        """A package that may be used. Raises PackageError with every reason but NoChannel."""
        try:
            return await self._fetch(source, request)
        except PackageError as error:
            self._metrics.addon_package_fetches.inc(source.location, error.reason)
            _log.warn("package not usable", location=source.location, reason=error.reason, error=error)
            if error.reason in _GONE and (package := await self.read_from_cache(request, request.installed)):
                return package
            raise

    async def read_from_cache(self, request: PackageRequest, digest: str) -> Package | None:
        """The package with a digest that was verified before, without any source; None if it is not cached."""
        return await asyncio.to_thread(self.cache.read, request.component, request.version, digest)

    async def hold(self, package: Package) -> Path:
        """The directory with the package's files, which stays until `cache.release` was called as often. Raises
        PackageError if it cannot be written."""
        return await asyncio.to_thread(self.cache.hold, package)

    async def _fetch(self, source: PackageSource, request: PackageRequest) -> Package:
        if not source.is_remote:
            package = await self._read(source, source.read_package, request.component, request.version)
            require_trusted(package, request.pin, False, self._verification)
            return self._count(source, "read", package)
        key = (source.location, request.component, request.version)
        async with self._locks.setdefault(key, asyncio.Lock()):
            package = await self._find_in_cache(source, request) or await self._fetch_remote(source, request)
        require_unchanged(package, request.installed, request.accepted)
        return package

    async def _read(self, source: PackageSource, read: Callable[..., Awaitable[_T]], *what: str) -> _T:
        """What a source says now, for all who ask it at once. Remote ones may share a location and answer others with
        other credentials."""
        if source.is_remote:
            return await read(*what)
        return await self._reads.read((type(source), source.location, *what), partial(read, *what))

    async def _fetch_remote(self, source: PackageSource, request: PackageRequest) -> Package:
        package = await source.read_package(request.component, request.version)
        pin = request.pin or (package.digest if source.is_pinned else "")
        require_trusted(package, pin, True, self._verification)
        await asyncio.to_thread(self.cache.store, package)
        return self._count(source, "fetched", package)

    async def _find_in_cache(self, source: PackageSource, request: PackageRequest) -> Package | None:
        """The package with the digest that it must have, or has at its source. With signatures the source is asked for
        the digest that is signed: what is cached was perhaps not."""
        pin = "" if self._verification == "signature" else request.pin
        digest = pin or await source.read_digest(request.component, request.version)
        if request.pin not in ("", digest):
            return None
        package = await self.read_from_cache(request, digest) if digest else None
        return self._count(source, "cached", package) if package else None

    def _count(self, source: PackageSource, result: str, package: Package) -> Package:
        self._metrics.addon_package_fetches.inc(source.location, result)
        return package


def require_trusted(package: Package, pin: str, is_remote: bool, verification: Verification) -> None:
    """Raises PackageError: DigestMismatch if the package is not the pinned one, whatever is required and wherever it
    comes from; Unverified if it is remote and less is known of it than is required."""
    if pin and pin != package.digest:
        text = f"it has the digest {package.digest}, not {pin} as its channel says; correct the package or the channel"
        raise PackageError("DigestMismatch", f"package {package}: {text}")
    if not is_remote or verification == "off":
        return
    if verification == "signature" and not package.is_signed:
        raise PackageError("Unverified", f"package {package}: no signature of it was checked; see --addon-keys")
    if not (pin or package.has_checksums):
        text = "it has no SHA256SUMS and its channel no digest; add one of them, or set --addon-verify off"
        raise PackageError("Unverified", f"package {package}: {text}")


def require_unchanged(package: Package, installed: str, accepted: str) -> None:
    """Raises PackageError with the reason DigestChanged if a remote package has another digest than the one that is
    installed under its version, unless the instance accepts that digest. `installed` is empty for another version."""
    if installed and package.digest not in (installed, accepted):
        mend = f"publish a new version, or set the annotation hookrunner.io/accept-digest: {package.digest}"
        text = f"it has the digest {package.digest}, and {installed} is installed under this version; {mend}"
        raise PackageError("DigestChanged", f"package {package}: {text}")
