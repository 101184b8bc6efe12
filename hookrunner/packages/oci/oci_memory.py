"""What is known of content in OCI repositories that cannot change, because its name is its digest.

    memory = OciMemory()                        # of one location; it outlives the sources that are opened for each run
    memory.keep_package("sha256:…", package)    # by the digest of its manifest

An unchanged package then costs the question for its manifest, and is one object in all runs that use it.
"""

from collections import OrderedDict
from dataclasses import field
from weakref import WeakValueDictionary

from hookrunner.packages.fetch_bounds import remember
from hookrunner.packages.oci.manifests import Index, Manifest
from hookrunner.packages.package import Package
from kubetypes.light_dataclasses import dataclass

_MOST_KEPT, _MOST_MANIFESTS = 256, 64
_LARGEST_KEPT = 256 << 10
"""Of each other kind and of manifests, which take several times their bytes; bytes of a blob or a manifest."""


@dataclass(frozen=True, slots=True)
class OciMemory:
    """What is known of content that cannot change."""

    packages: WeakValueDictionary[tuple[str, str, str], Package] = field(default_factory=WeakValueDictionary)
    """Those in use, by component, version and digest of the manifest."""
    digests: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Digests of packages by those of their manifests."""
    blobs: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    manifests: OrderedDict[str, Manifest | Index] = field(default_factory=OrderedDict)

    def keep_blob(self, digest: str, data: bytes) -> None:
        """Remember a small blob."""
        if len(data) <= _LARGEST_KEPT:
            remember(self.blobs, digest, data, _MOST_KEPT)

    def keep_package(self, manifest: str, package: Package) -> None:
        """Remember the package that a manifest leads to."""
        self.packages[package.component, package.version, manifest] = package
        remember(self.digests, manifest, package.digest, _MOST_KEPT)

    def keep_manifest(self, digest: str, data: bytes, manifest: Manifest | Index) -> None:
        """Remember the manifest that was parsed from these bytes, if these are few."""
        if len(data) <= _LARGEST_KEPT:
            remember(self.manifests, digest, manifest, _MOST_MANIFESTS)
