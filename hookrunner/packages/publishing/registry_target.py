"""Repositories of an OCI registry to which a mirror copies, as artifacts of our types (`oci/rendered_artifacts.py`).

    target = RegistryTarget(client.open(location), timeout=60)
    await target.put_package(package, lists)                # False: it has been there

A tag is written last, when all that it leads to is there: a package becomes visible as a whole, and so does a channel
with its signature. Blobs that an interrupted copy has left are not sent again. What another program has pushed is left
alone if it has the same files; a chart or an image that would have to be replaced is refused, so that none is lost.
"""

from collections.abc import Mapping

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.fetch_bounds import fetch_deadline, side_by_side
from hookrunner.packages.oci.manifests import Manifest, parse_manifest
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import CHANNELS, OciSource, tag_of
from hookrunner.packages.oci.package_artifacts import PACKAGE_TYPE
from hookrunner.packages.oci.registry_client import RegistryStore
from hookrunner.packages.oci.rendered_artifacts import RenderedArtifact, render_channel, render_package
from hookrunner.packages.oci_locations import is_repository_part
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import CHECKSUMS, CHECKSUMS_SIGNATURE
from hookrunner.packages.publishing.source_mirror import refuse_other


class RegistryTarget:
    """A `MirrorTarget` in a registry. `timeout` are seconds for one channel or package; 0 is no limit."""

    def __init__(self, store: RegistryStore, timeout: float) -> None:
        self._store = store
        self._source = OciSource(store, OciMemory(), timeout)
        self._timeout = timeout

    async def put_package(self, package: Package, lists: Mapping[str, bytes]) -> bool:
        """As `MirrorTarget` says."""
        if package.component == CHANNELS or not is_repository_part(package.component):
            text = "ends with no letter or digit, or is the one of channels"
            raise BadInput(f"{package.component} can be no repository in {self._store.location}: its name {text}")
        artifact, tag = render_package({**package.files, **lists}), tag_of(package.version)
        async with fetch_deadline(f"package {package}", self._source.location, self._timeout):
            present = await self._store.read_manifest(package.component, tag)
            if present == artifact.manifest or (present and await self._has_all(package, lists, present)):
                return False
            await self._push(package.component, tag, artifact)
        return True

    async def put_channel(self, name: str, text: bytes, signature: bytes) -> bool:
        """As `MirrorTarget` says. Raises PackageError for what is there and is no channel."""
        artifact = render_channel(name, text, signature)
        async with fetch_deadline(f"channel '{name}'", self._source.location, self._timeout):
            present = await self._store.read_manifest(CHANNELS, name)
            if present == artifact.manifest or (present and await self._has_channel(name, text, signature)):
                return False
            await self._push(CHANNELS, name, artifact)
        return True

    async def has_package(self, component: str, version: str) -> bool:
        """As `MirrorTarget` says."""
        if not is_repository_part(component):
            return False
        async with fetch_deadline(f"package {component} {version}", self._source.location, self._timeout):
            return await self._store.read_manifest(component, tag_of(version)) is not None

    async def _has_all(self, package: Package, lists: Mapping[str, bytes], manifest: bytes) -> bool:
        """Whether the package that is there has all files, its lists too. Raises BadInput for another package, for one
        that is damaged, and for an artifact of another type that would have to be replaced."""
        place = f"{self._store.location}/{package.component}:{tag_of(package.version)}"
        try:
            present = await self._source.read_package(package.component, package.version)
            seal = await self._source.read_seal(package.component, package.version)
            parsed = parse_manifest(f"package {package}", manifest)
        except PackageError as error:
            if error.reason == "Unreachable":
                raise
            raise BadInput(f"{place} cannot be used; remove it: {error}") from None
        if present.files != package.files:
            raise refuse_other(place, package)
        present_lists = {CHECKSUMS: seal.text, CHECKSUMS_SIGNATURE: seal.signature}
        if lists.items() <= present_lists.items():
            return True
        if not isinstance(parsed, Manifest) or parsed.artifact_type != PACKAGE_TYPE:
            text = f"is no {PACKAGE_TYPE}, and lacks the list of the source or its signature; remove it"
            raise BadInput(f"{place} has the same files, but {text}")
        return False

    async def _has_channel(self, name: str, text: bytes, signature: bytes) -> bool:
        """Whether the channel that is there has this text, and this signature if it is not empty."""
        if (await self._source.read_channel(name)).encode() != text:
            return False
        return signature in (b"", await self._source.read_channel_signature(name))

    async def _push(self, name: str, tag: str, artifact: RenderedArtifact) -> None:
        async def push(blob: bytes) -> None:
            await self._store.push_blob(name, blob)

        await side_by_side(artifact.blobs, push)
        await self._store.push_manifest(name, tag, artifact.manifest)
