"""OCI registries and image layouts as a source: `REPO/<component>:<version>` and `REPO/channels:<channel>`.

    source = OciSource(RegistryClient(reader, credentials).open(location), OciMemory(), timeout=60)
    package = await source.read_package("coredns", "1.14.6")

What is read is checked against its digest, down from the manifest that a tag names; so a registry cannot mix up or
damage a package, but it can name another one, as a web server can with another `SHA256SUMS`. The digest of the package
itself is that of its files, as for every source. A tag has no `+`: it is written `_`, as Helm writes it. Of an index of
architectures the manifest of this machine counts, or the only one.
"""

import asyncio
import hashlib
import io
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from hookrunner.errors import PackageError, PackageReason
from hookrunner.packages.channels import decode_channel, version_order
from hookrunner.packages.fetch_bounds import fetch_deadline, side_by_side
from hookrunner.packages.names import (
    LARGEST_CHANNEL,
    LONGEST_SIGNATURE,
    is_version,
    require_channel,
    require_component,
    require_package,
)
from hookrunner.packages.oci.cosign_signatures import (
    LARGEST_PAYLOAD,
    SIGNATURE,
    is_about,
    signature_tag,
    signed_layers,
)
from hookrunner.packages.oci.manifests import (
    Descriptor,
    Index,
    Manifest,
    architecture,
    choose_manifest,
    digest_of_bytes,
    parse_manifest,
    require_content,
)
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.package_artifacts import (
    Blobs,
    channel_layer,
    channel_signature_layer,
    has_archives,
    needed_blobs,
    titled_layer,
    unpack_artifact,
)
from hookrunner.packages.oci.sigstore_bundles import LARGEST_BUNDLE, bundle_layer, bundle_manifests, read_bundle
from hookrunner.packages.oci_locations import LayoutLocation, RegistryLocation, is_repository_part
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    Seal,
    Statement,
    compute_checksums,
    digest_of,
    parse_checksums,
    refusal,
    seal_of,
)
from hookrunner.process.pure_calls import CallLimits, CallLost, call_within
from hookrunner.shapes import suggestion
from kubetypes.bounds import in_units

_T = TypeVar("_T")

CHANNELS = "channels"
_UNPACKING = CallLimits(seconds=30.0, memory=512 << 20)
"""For archives. A few bytes of one can make Python's reader keep gigabytes, or search one header for hours without
giving the interpreter's lock away (CVE-2024-6232); a process of its own ends then, and nothing else waits."""
_PIECE = 1 << 20


class OciStore(Protocol):
    """Repositories of manifests and blobs: in a registry or on this machine. Everything raises PackageError."""

    @property
    def location(self) -> RegistryLocation | LayoutLocation: ...

    async def read_manifest(self, name: str, reference: str) -> bytes | None:
        """The manifest of a tag or digest, None without one. One that is named by a digest has it."""
        ...

    async def read_referrers(self, name: str, digest: str) -> bytes | None:
        """An index of what may refer to a manifest, None without one."""
        ...

    async def save_blob(self, name: str, descriptor: Descriptor, file: BinaryIO) -> None:
        """Write a blob to a file; at most one byte more than its descriptor says."""
        ...

    async def list_tags(self, name: str) -> list[str]:
        """The tags of a repository."""
        ...


class _Found(NamedTuple):
    """A manifest and its digest; `root` is that of what the tag names, which may be an index."""

    digest: str
    manifest: Manifest
    root: str


class OciSource:
    """Channels and packages of a store. `timeout` are seconds for one channel or package; 0 is no limit."""

    is_pinned = True
    commit = ""

    def __init__(self, store: OciStore, memory: OciMemory, timeout: float) -> None:
        self.location = str(store.location)
        self.is_remote = isinstance(store.location, RegistryLocation)
        self._store = store
        self._memory = memory
        self._timeout = timeout

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: NoChannel, Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_channel(name)
        what = f"channel '{name}' at {self.location}"
        async with self._deadline(f"channel '{name}'"):
            found = await self._find_manifest(what, CHANNELS, name)
            if found is None:
                near = suggestion(name, await self._store.list_tags(CHANNELS))
                raise PackageError("NoChannel", f"{what} does not exist; push it, or name another one{near}")
            text = await self._read_blob(what, CHANNELS, channel_layer(what, found[1]))
        return decode_channel(name, text, self.location)

    async def read_channel_signature(self, name: str) -> bytes:
        """A channel's signature, empty without one. Raises as `read_channel` does."""
        require_channel(name)
        what = f"signature of the channel '{name}'"
        async with self._deadline(what):
            found = await self._find_manifest(what, CHANNELS, name)
            layer = channel_signature_layer(found[1]) if found else None
            return await self._read_blob(what, CHANNELS, layer, LONGEST_SIGNATURE) if layer else b""

    async def read_channel_statements(self, name: str, text: str) -> tuple[Statement, ...]:
        """What is signed about the manifest of the channel with this text. Raises as `read_channel` does."""
        require_channel(name)
        what = f"signature of the channel '{name}'"
        async with self._deadline(what):
            found = await self._find_manifest(what, CHANNELS, name)
            if found is None or channel_layer(what, found.manifest).digest != digest_of_bytes(text.encode()):
                return ()
            return await self._read_statements(what, CHANNELS, found)

    async def list_versions(self, component: str) -> list[str]:
        """The versions of a component that have a package, the newest first. Raises PackageError: Unreachable,
        Malformed."""
        require_component(component)
        if not is_repository_part(component):
            return []
        async with self._deadline(f"component {component}"):
            tags = await self._store.list_tags(component)
        versions = filter(is_version, (tag.replace("_", "+") for tag in tags))
        return sorted(sorted(versions), key=version_order, reverse=True)

    async def read_digest(self, component: str, version: str) -> str:
        """The digest of a package, if its manifest was read before or has a list of checksums beside it; else empty.
        Raises PackageError: Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        package = f"{component} {version}"
        async with self._deadline(f"package {package}"):
            found = await self._find_manifest(f"package {package}", component, tag_of(version))
            if found is None:
                return ""
            digest, manifest, _ = found
            if digest in self._memory.digests:
                return self._memory.digests[digest]
            layer = titled_layer(manifest, CHECKSUMS)
            if layer is None:
                return ""
            listed = await self._read_blob(f"package {package}", component, layer)
        return digest_of(parse_checksums(package, listed))

    async def read_seal(self, component: str, version: str) -> Seal:
        """The list of checksums and its signature: files beside the others, or in the archive; without one what is
        signed about the manifest. Raises PackageError: Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        package = f"{component} {version}"
        async with self._deadline(f"signature of the package {package}"):
            found = await self._find_manifest(f"package {package}", component, tag_of(version))
            if found is None:
                return Seal()
            seal = await self._read_own_seal(component, package, found.manifest)
            if seal.signature:
                return seal
            statements = await self._read_statements(f"package {package}", component, found)
        return replace(seal, statements=statements) if seal.text or statements else Seal()

    async def _read_own_seal(self, component: str, package: str, manifest: Manifest) -> Seal:
        """The seal that is in the package itself, and the digest without one too."""
        listed, signature = (titled_layer(manifest, title) for title in (CHECKSUMS, CHECKSUMS_SIGNATURE))
        if listed is None:
            files = dict(await self._read_files(component, package, manifest))
            lists = files.pop(CHECKSUMS, None), files.pop(CHECKSUMS_SIGNATURE, None)
            return seal_of(package, *lists) if lists[0] else Seal(digest=digest_of(compute_checksums(files)))
        text, signed = await self._read_blob(f"package {package}", component, listed), b""
        if signature is not None:
            signed = await self._read_blob(f"package {package}", component, signature, LONGEST_SIGNATURE)
        return seal_of(package, text, signed)

    async def _read_statements(self, what: str, name: str, found: _Found) -> tuple[Statement, ...]:
        """What signatures of cosign 2 and 3 state about a manifest, or about the index that leads to it."""
        statements = list[Statement]()
        for digest in dict.fromkeys((found.digest, found.root)):
            signatures = await self._find_manifest(f"{what}: its signatures", name, signature_tag(digest))
            for layer in signed_layers(signatures.manifest) if signatures else ():
                payload = await self._read_blob(what, name, layer, LARGEST_PAYLOAD)
                if is_about(payload, digest):
                    statements.append(Statement(payload, layer.annotations[SIGNATURE].encode()))
            statements += await self._read_bundles(f"{what}: its signatures", name, digest)
        return tuple(statements)

    async def _read_bundles(self, what: str, name: str, digest: str) -> list[Statement]:
        """What the bundles that refer to a manifest state about it."""
        data = await self._store.read_referrers(name, digest)
        index = self._parse(what, data)[1] if data else None
        statements = list[Statement]()
        for entry in bundle_manifests(index) if isinstance(index, Index) else ():
            found = await self._find_manifest(what, name, entry.digest)
            if found and (layer := bundle_layer(found.manifest)):
                statements += read_bundle(await self._read_blob(what, name, layer, LARGEST_BUNDLE), digest)
        return statements

    async def read_package(self, component: str, version: str) -> Package:
        """One package. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        package = f"{component} {version}"
        async with self._deadline(f"package {package}"):
            found = await self._find_manifest(f"package {package}", component, tag_of(version))
            if found is None:
                raise await self._explain_missing(component, version)
            digest, manifest, _ = found
            if known := self._memory.packages.get((component, version, digest)):
                return known
            files = await self._read_files(component, package, manifest)
        parsed = parse_package(component, version, files)
        self._memory.keep_package(digest, parsed)
        return parsed

    async def _find_manifest(self, what: str, name: str, tag: str) -> _Found | None:
        """The manifest of a tag, that of this machine if there are several; None without one."""
        if not is_repository_part(name):
            return None
        data = await self._store.read_manifest(name, tag)
        if data is None:
            return None
        root, manifest = self._parse(what, data)
        digest = root
        if isinstance(manifest, Index):
            chosen = choose_manifest(what, manifest, architecture())
            data = await self._store.read_manifest(name, chosen.digest)
            if data is None:
                text = f"its index names the manifest {chosen.digest}, which does not exist; push it again"
                raise PackageError("Malformed", f"{what}: {text}")
            digest, manifest = self._parse(what, data)
        if isinstance(manifest, Index):
            raise PackageError("Malformed", f"{what}: an index in it leads to another index; push one of manifests")
        return _Found(digest, manifest, root)

    def _parse(self, what: str, data: bytes) -> tuple[str, Manifest | Index]:
        """A manifest's digest, and what it says."""
        digest = digest_of_bytes(data)
        if (manifest := self._memory.manifests.get(digest)) is None:
            manifest = parse_manifest(what, data)
            self._memory.keep_manifest(digest, data, manifest)
        return digest, manifest

    async def _read_blob(self, what: str, name: str, descriptor: Descriptor, most: int = LARGEST_CHANNEL) -> bytes:
        """A small blob, checked."""
        if descriptor.digest in self._memory.blobs:
            return self._memory.blobs[descriptor.digest]
        if descriptor.size > most:
            raise PackageError("TooLarge", f"{what}: it has more than {in_units(most)}")
        file = io.BytesIO()
        await self._store.save_blob(name, descriptor, file)
        data = file.getvalue()
        require_content(what, descriptor, digest_of_bytes(data), len(data))
        self._memory.keep_blob(descriptor.digest, data)
        return data

    async def _read_files(self, component: str, package: str, manifest: Manifest) -> Mapping[str, bytes]:
        """The files of a package, whose blobs are written to a directory for that time."""
        needed = {blob.digest: blob for blob in needed_blobs(package, manifest)}
        try:
            with TemporaryDirectory(prefix="hookrunner-oci-") as scratch:
                blobs = {digest: Path(scratch, digest.partition(":")[2]) for digest in needed}
                save = partial(self._save, component, package, blobs)
                await side_by_side(list(needed.values()), save)
                return await _unpack(package, manifest, blobs)
        except CallLost as lost:
            reason: PackageReason = "TooLarge" if lost.is_expensive else "Unreachable"
            raise refusal(package, reason, f"cannot be unpacked: {lost}") from None
        except OSError as error:
            text = f"cannot be unpacked: {error.strerror or error}; see TMPDIR, by default /tmp"
            raise refusal(package, "Unreachable", text) from None

    async def _save(self, component: str, package: str, blobs: Blobs, blob: Descriptor) -> None:
        """Write a blob to its file, checked. Raises OSError."""
        # Here, not in a thread: one that opens when this is cancelled would leave the file open.
        with open(blobs[blob.digest], "w+b") as file:  # noqa: ASYNC230
            await self._store.save_blob(component, blob, file)
            digest, size = await asyncio.to_thread(_digest_of_file, file)
        require_content(f"package {package}", blob, digest, size)

    async def _explain_missing(self, component: str, version: str) -> PackageError:
        if not is_repository_part(component):
            text = f"{component} can be no repository; components in registries end with a letter or a digit"
            return refusal(f"{component} {version}", "NotFound", text)
        near = suggestion(tag_of(version), await self._store.list_tags(component))
        text = f"{self.location}/{component}:{tag_of(version)} does not exist; use another version or push it{near}"
        return refusal(f"{component} {version}", "NotFound", text)

    def _deadline(self, what: str) -> AbstractAsyncContextManager[None]:
        return fetch_deadline(what, self.location, self._timeout)


def tag_of(version: str) -> str:
    """The tag of a version's package."""
    return version.replace("+", "_")


async def _unpack(package: str, manifest: Manifest, blobs: Blobs) -> Mapping[str, bytes]:
    """The files of a package whose blobs are on disk. Raises PackageError, OSError, CallLost."""
    if has_archives(manifest):
        return await call_within(_UNPACKING, unpack_artifact, package, manifest, blobs)
    return await asyncio.to_thread(unpack_artifact, package, manifest, blobs)


def _digest_of_file(file: BinaryIO) -> tuple[str, int]:
    """The digest of a file that was written, and its size."""
    file.flush()
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return f"sha256:{digest.hexdigest()}", file.tell()
