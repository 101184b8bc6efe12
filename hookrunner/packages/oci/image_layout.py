"""Image layouts: what a registry holds, as files on this machine: a directory, or a tar archive of one.

    store = LayoutStore(LayoutLocation(Path("/srv/addons.tar")))
    manifest = await store.read_manifest("coredns", "1.14.6")           # None without one

`index.json` names the manifests, `blobs/sha256` has all content. One layout holds several repositories: the name of a
manifest is `coredns:1.14.6`, or ends with `/coredns:1.14.6`. In place of one layout, a directory may have a layout for
each repository, `coredns` and `channels`, in which the names are tags, as `oras copy --to-oci-layout` writes them.
An archive is not unpacked: its entries are found once, and read where they are.
Source: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
"""

import asyncio
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from hookrunner import safe_files
from hookrunner.errors import PackageError
from hookrunner.packages.names import MOST_ENTRIES
from hookrunner.packages.oci.layer_files import BoundedFile
from hookrunner.packages.oci.manifests import (
    LARGEST_MANIFEST,
    REF_NAME,
    Descriptor,
    Index,
    digest_of_bytes,
    parse_manifest,
)
from hookrunner.packages.oci_locations import LayoutLocation
from hookrunner.packages.package_files import is_digest
from kubetypes.light_dataclasses import dataclass

INDEX = "index.json"
_CONTAINERD_NAME = "io.containerd.image.name"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class _Archive:
    """The regular files of an archive: where each begins and ends. Equal as long as the archive is not touched."""

    stamp: tuple[int, int, int]
    places: Mapping[str, tuple[int, int]]


class LayoutStore:
    """The repositories of a layout. `location` names it."""

    def __init__(self, location: LayoutLocation) -> None:
        self.location = location
        self._archive = _Archive((0, 0, 0), {})
        self._tags: dict[str, tuple[bytes, dict[str, str]]] = {}
        """By repository: the index that was read last, and what it says."""

    async def read_manifest(self, name: str, reference: str) -> bytes | None:
        """The manifest of a tag or digest in a repository; None without one. Raises PackageError: Unreachable,
        Malformed, TooLarge, DigestMismatch."""
        return await asyncio.to_thread(self._read_manifest, name, reference)

    async def read_referrers(self, name: str, digest: str) -> bytes | None:
        """The layout's own index, in which what refers to one of its manifests is. Raises as `read_manifest` does."""
        return await asyncio.to_thread(self._read, name, INDEX, LARGEST_MANIFEST)

    async def save_blob(self, name: str, descriptor: Descriptor, file: BinaryIO) -> None:
        """Write a blob to a file, at most one byte more than its size. Raises PackageError: Unreachable, NotFound."""
        await asyncio.to_thread(self._save_blob, name, descriptor, file)

    async def list_tags(self, name: str) -> list[str]:
        """The tags of a repository; none if it does not exist. Raises as `read_manifest` does."""
        return await asyncio.to_thread(lambda: sorted(self._manifests(name)))

    def _read_manifest(self, name: str, reference: str) -> bytes | None:
        digest = reference if is_digest(reference) else self._manifests(name).get(reference, "")
        manifest = self._read(name, _blob_path(digest), LARGEST_MANIFEST) if digest else None
        if manifest is not None and digest_of_bytes(manifest) != digest:
            text = f"the manifest {digest} has another digest; it is damaged, copy it again"
            raise PackageError("DigestMismatch", f"{self.location}: {text}")
        return manifest

    def _manifests(self, name: str) -> dict[str, str]:
        """The digests of a repository's manifests by tag."""
        data = self._read(name, INDEX, LARGEST_MANIFEST)
        if data is None:
            if self.location.path.exists():
                return {}
            text = "does not exist; write it, or name another one in `source` of addon.yaml or with --addon-source"
            raise PackageError("Unreachable", f"{self.location} {text}")
        prefix = "" if self._is_divided(name) else f"{name}:"
        known, tags = self._tags.get(name, (None, dict[str, str]()))
        if data != known:
            index = parse_manifest(f"{self.location}: {INDEX}", data)
            if not isinstance(index, Index):
                raise PackageError("Malformed", f"{self.location}: {INDEX} is no index of manifests; write it again")
            tags = {tag: entry.digest for entry in index.manifests for tag in _tags(entry, prefix)}
            self._tags[name] = data, tags
        return tags

    def _is_divided(self, name: str) -> bool:
        """Has each repository a layout of its own?"""
        path = self.location.path
        return not (path / INDEX).exists() and (path / name / INDEX).exists()

    def _read(self, name: str, path: str, most: int) -> bytes | None:
        """At most one byte more than `most`."""
        try:
            with self._open(name, path) as (file, size):
                return file.read(min(size, most + 1))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise PackageError("Unreachable", f"{self.location}: {path} cannot be read: {error.strerror}") from None

    def _save_blob(self, name: str, descriptor: Descriptor, file: BinaryIO) -> None:
        path = _blob_path(descriptor.digest)
        try:
            with self._open(name, path) as (source, size):
                left = min(size, descriptor.size + 1)
                while left and (data := source.read(min(left, _PIECE))):
                    file.write(data)
                    left -= len(data)
        except FileNotFoundError:
            raise PackageError("Malformed", f"{self.location} has no {path}, which a manifest names") from None
        except OSError as error:
            raise PackageError("Unreachable", f"{self.location}: {path} cannot be read: {error.strerror}") from None

    @contextmanager
    def _open(self, name: str, path: str) -> Iterator[tuple[BinaryIO, int]]:
        """A file of the layout, and how many bytes of it from here on. Raises OSError."""
        root = self.location.path
        if root.is_dir():
            place = (root / name if self._is_divided(name) else root) / path
            with safe_files.open_regular(place) as file:
                yield file, os.fstat(file.fileno()).st_size
            return
        with safe_files.open_regular(root) as file:
            offset, size = self._find(file).places.get(path, (-1, 0))
            if offset < 0:
                raise FileNotFoundError(path)
            file.seek(offset)
            yield file, size

    def _find(self, file: BinaryIO) -> _Archive:
        """The entries of the archive as it is now."""
        status = os.fstat(file.fileno())
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        if self._archive.stamp != stamp:
            self._archive = _Archive(stamp, dict(self._scan(file)))
        return self._archive

    def _scan(self, file: BinaryIO) -> Iterator[tuple[str, tuple[int, int]]]:
        try:
            bounded = BoundedFile(file)
            with tarfile.open(fileobj=bounded, mode="r:") as archive:
                for number, entry in enumerate(iter(archive.next, None)):
                    bounded.begin_entry()
                    if number >= MOST_ENTRIES:
                        raise PackageError("TooLarge", f"{self.location}: it has more than {MOST_ENTRIES:,} files")
                    if entry.isreg() and not entry.issparse():
                        yield entry.name.removeprefix("./"), (entry.offset_data, entry.size)
        except (tarfile.TarError, ValueError, EOFError, OverflowError, RecursionError) as error:
            text = f"it is no tar archive that can be read: {error}; write it again, without packing it"
            raise PackageError("Malformed", f"{self.location}: {text}") from None


def _blob_path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _tags(entry: Descriptor, prefix: str) -> Iterator[str]:
    """The tags that a manifest's names give it in a repository; without a prefix a name is a tag."""
    for key in (REF_NAME, _CONTAINERD_NAME):
        name, colon, tag = entry.annotations.get(key, "").rpartition(":")
        if not prefix or f"/{name}{colon}".endswith(f"/{prefix}"):
            yield tag
