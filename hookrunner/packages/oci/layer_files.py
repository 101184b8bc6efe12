"""The files in the layers of an artifact or image: tar archives, packed or not, each of which changes the ones before.

    files = unpack_layers("coredns 1.14.6", [path], below="manifests")   # {"service.yaml": b"…"}

A file named `.wh.NAME` in a layer deletes NAME of earlier layers, `.wh..wh..opq` all that they have in its directory.
What is below `below` must be regular files and directories; what an image has elsewhere is not looked at, but a path
that leads out of the archive is refused anywhere. Everything is bounded, for all layers together: a kilobyte may stand
for gigabytes, or for a million empty files. A damaged archive can make Python's reader go round in circles
(CVE-2025-8194), so the number of its reads is bounded as well.
Source: https://github.com/opencontainers/image-spec/blob/main/layer.md
"""

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from hookrunner import safe_files
from hookrunner.packages.names import LARGEST_FILE, LARGEST_UNPACKED, MOST_ENTRIES, shown
from hookrunner.packages.package_files import PackageFiles
from kubetypes.bounds import TooLarge, in_units
from kubetypes.light_dataclasses import dataclass

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_LARGEST_READ = LARGEST_FILE + (1 << 20)
_READS_PER_ENTRY = 100


class BoundedFile(io.RawIOBase):
    """An archive on disk whose reader can take a bounded amount for one entry, and so many times in all. Python's
    reader takes a header at once, or in newer versions in pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MOST_ENTRIES * _READS_PER_ENTRY
        self._room = _LARGEST_READ

    def begin_entry(self) -> None:
        """What is read from now on is about the next entry."""
        self._room = _LARGEST_READ

    def read(self, size: int = -1) -> bytes:
        self._left -= 1
        self._room -= size
        if size < 0 or self._room < 0 or self._left < 0:
            raise TooLarge("it has a header that is too large, or it leads back to its beginning")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


@dataclass(slots=True)
class _Layer:
    """What one layer brings and deletes: files, and paths that are deleted, emptied or made directories."""

    files: PackageFiles
    deleted: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)

    def is_gone(self, path: str) -> bool:
        """Does it delete or replace what an earlier layer has at this path?"""
        above = _above(path)
        return (
            path in self.directories
            or not self.deleted.isdisjoint([*above, path])
            or not self.files.by_path.keys().isdisjoint([*above, path])
            or not self.emptied.isdisjoint(above)
        )


def unpack_layers(package: str, layers: Iterable[Path], below: str = "") -> dict[str, bytes]:
    """The files below a directory, by their paths in it, after the last layer. Blocks. Raises PackageError: Malformed,
    TooLarge; OSError if there is no room to unpack."""
    unpacker, files = _Unpacker(package, f"{below}/" if below else ""), dict[str, bytes]()
    for path in layers:
        with open(path, "rb") as archive:
            layer = unpacker.read(archive)
        kept = {name: data for name, data in files.items() if not layer.is_gone(name)}
        files = kept | layer.files.by_path
    return {path.removeprefix(unpacker.below): data for path, data in files.items()}


class _Unpacker:
    """Reads the layers of one package, which share their bounds."""

    def __init__(self, package: str, below: str) -> None:
        self.package = package
        self.below = below
        self._room = LARGEST_UNPACKED
        self._entries = 0

    def read(self, file: BinaryIO) -> _Layer:
        """One layer, the one after those that were read. Raises as `unpack_layers` does."""
        layer = _Layer(PackageFiles(self.package))
        try:
            with (
                self._unpack(file) as plain,
                tarfile.open(fileobj=(bounded := BoundedFile(plain)), mode="r:") as archive,
            ):
                while entry := archive.next():
                    self._entries += 1
                    if self._entries > MOST_ENTRIES:
                        raise TooLarge(f"it has more than {MOST_ENTRIES:,} files and directories")
                    self._take(layer, archive, entry)
                    bounded.begin_entry()
        except TooLarge as error:
            raise layer.files.refusal("TooLarge", f"an archive of it cannot be used: {error}") from None
        except (tarfile.TarError, ValueError, EOFError, OverflowError, RecursionError) as error:
            raise layer.files.refusal("Malformed", f"an archive of it cannot be read: {error}; push it again") from None
        return layer

    def _take(self, layer: _Layer, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        path = entry.name.removeprefix("./").rstrip("/")
        if path.startswith("/") or ".." in path.split("/"):
            raise layer.files.refusal("Malformed", f"an archive has the path {shown(path)}, which leads out of it")
        directory, slash, name = path.rpartition("/")
        is_below, is_above = path.startswith(self.below), self.below.startswith(f"{path}/")
        if path in ("", "."):
            return
        if name == _OPAQUE:
            layer.emptied.add(directory)
        elif name.startswith(_WHITEOUT):
            layer.deleted.add(f"{directory}{slash}{name.removeprefix(_WHITEOUT)}")
        elif entry.isdir():
            layer.directories.add(path)
        elif is_above:
            raise layer.files.refusal("Malformed", f"{shown(path)} is no directory; write the directory itself there")
        elif is_below:
            layer.files.add(path, self._read_file(layer, archive, entry))
            layer.directories.update(_above(path))

    def _read_file(self, layer: _Layer, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
        opened = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
        if opened is None:
            text = f"{shown(entry.name)} is a link or a device; write a regular file or a directory there"
            raise layer.files.refusal("Malformed", text)
        data = opened.read(LARGEST_FILE + 1)
        if len(data) != min(entry.size, LARGEST_FILE + 1):
            raise layer.files.refusal("Malformed", f"an archive ends in the middle of the file {shown(entry.name)}")
        return data

    @contextmanager
    def _unpack(self, file: BinaryIO) -> Iterator[BinaryIO]:
        """The archive without its packing."""
        begin = file.read(4)
        file.seek(0)
        if begin == _ZSTD:
            raise ValueError("it is packed with zstd, which is not supported; pack it with gzip")
        if not begin.startswith(_GZIP):
            yield file
            return
        with tempfile.TemporaryFile(dir=Path(file.name).parent) as plain:  # a process of its own knows no TMPDIR
            try:
                safe_files.unpack_file(file, plain, self._room)
            except TooLarge:
                raise TooLarge(f"it has more than {in_units(LARGEST_UNPACKED)} when it is unpacked") from None
            self._room -= plain.tell()
            plain.seek(0)
            yield plain


def _above(path: str) -> list[str]:
    """The directories above a path; the last one is the archive itself, as ""."""
    return ["" if parent == PurePosixPath() else str(parent) for parent in PurePosixPath(path).parents]
