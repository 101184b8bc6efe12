"""A directory as a source: `<root>/<channel>` and `<root>/packages/<component>/<version>/…`.

    source = DirectorySource(Path("/addons/coredns/channels"))
    await source.read_channel("stable")
    await source.read_package("coredns", "1.14.6")

Looked at anew each time, in a thread: the directory may be a mounted ConfigMap or a network drive. A package whose
files have not been touched since it was read is the same object, as long as it is in use: the instances of an addon
share it. Symbolic links may lead
anywhere inside the root, as those of mounted ConfigMaps do, and nowhere else. Entries that begin with two dots are left
out: that is where a kubelet keeps the files behind such links.
Source: https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically
"""

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISLNK
from typing import NamedTuple
from weakref import WeakValueDictionary

from hookrunner import safe_files
from hookrunner.errors import PackageError
from hookrunner.packages.channels import decode_channel, version_order
from hookrunner.packages.names import (
    LARGEST_CHANNEL,
    LARGEST_FILE,
    MOST_FILES,
    is_channel,
    is_version,
    require_channel,
    require_component,
    require_package,
)
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    SIGNATURE_SUFFIX,
    PackageFiles,
    Seal,
    digest_of,
    parse_checksums,
    seal_of,
)
from hookrunner.shapes import suggestion

PACKAGES = "packages"


class _FileOnDisk(NamedTuple):
    """A file by its path in the package. Equal as long as it is not touched."""

    path: str
    file: Path
    size: int
    inode: int
    modified: int
    changed: int


class DirectorySource:
    """Channels and packages below `root`. `location` is the root, for messages, unless another one is given: that of
    which the directory is a copy."""

    is_remote = False
    is_pinned = False
    commit = ""

    def __init__(self, root: Path, location: str = "") -> None:
        self.location = location or str(root)
        self._root = root
        self._packages = WeakValueDictionary[tuple[str, str, tuple[_FileOnDisk, ...]], Package]()

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: NoChannel, Unreachable, Malformed, TooLarge."""
        require_channel(name)
        return await asyncio.to_thread(self._read_channel, name)

    async def read_channel_signature(self, name: str) -> bytes:
        """A channel's signature, empty without one. Raises PackageError: NoChannel, Unreachable, Malformed."""
        require_channel(name)
        path = self._root / (name + SIGNATURE_SUFFIX)
        return await asyncio.to_thread(self._read_beside, path, f"signature of the channel '{name}'") or b""

    async def list_versions(self, component: str) -> list[str]:
        """The versions of a component that have a package, the newest first. Raises PackageError: Unreachable."""
        require_component(component)
        return await asyncio.to_thread(self._list_versions, component)

    async def read_digest(self, component: str, version: str) -> str:
        """The digest of a package by its list of checksums, empty without one."""
        require_package(component, version)
        return await asyncio.to_thread(self._read_digest, component, version)

    async def read_seal(self, component: str, version: str) -> Seal:
        """The list of checksums and its signature. Raises PackageError: Unreachable, Malformed, TooLarge."""
        require_package(component, version)
        directory, name = self._directory(component, version), f"{component} {version}"
        what = f"signature of the package {name}"
        listed = await asyncio.to_thread(self._read_beside, directory / CHECKSUMS, what)
        return seal_of(name, listed, await asyncio.to_thread(self._read_beside, directory / CHECKSUMS_SIGNATURE, what))

    async def read_package(self, component: str, version: str) -> Package:
        """One package. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        return await asyncio.to_thread(self._read_package, component, version)

    async def read_files(self, component: str, version: str) -> dict[str, bytes]:
        """The files of a package as they are, with its list and signature, whatever these say: for who writes them.
        Raises PackageError: NotFound, Unreachable, Malformed, TooLarge."""
        require_package(component, version)
        return await asyncio.to_thread(self._read_files, component, version)

    def _read_channel(self, name: str) -> str:
        what = f"channel '{name}' in {self.location}"
        try:
            text = _read_file(self._inside(self._root / name, what), LARGEST_CHANNEL)
        except FileNotFoundError:
            self._require_root()
            near = suggestion(name, list_channels(self._root))
            raise PackageError(
                "NoChannel", f"{what} does not exist; write the file, or name another one{near}"
            ) from None
        except OSError as error:
            raise _unusable(what, error) from None
        return decode_channel(name, text)

    def _read_digest(self, component: str, version: str) -> str:
        name = f"{component} {version}"
        listed = self._read_beside(self._directory(component, version) / CHECKSUMS, f"package {name}")
        return "" if listed is None else digest_of(parse_checksums(name, listed))

    def _read_beside(self, path: Path, what: str) -> bytes | None:
        """A file that may be missing. Raises PackageError."""
        try:
            return _read_file(self._inside(path, what), LARGEST_CHANNEL)
        except FileNotFoundError:
            self._require_root()
            return None
        except OSError as error:
            raise _unusable(what, error) from None

    def _list_versions(self, component: str) -> list[str]:
        directory = self._root / PACKAGES / component
        try:
            with os.scandir(self._inside(directory, f"component {component}")) as entries:
                names = [entry.name for entry in entries if entry.is_dir() and is_version(entry.name)]
        except FileNotFoundError:
            self._require_root()
            return []
        except OSError as error:
            raise _unusable(f"directory {directory}", error) from None
        return sorted(sorted(names), key=version_order, reverse=True)

    def _read_files(self, component: str, version: str) -> dict[str, bytes]:
        files = PackageFiles(f"{component} {version}")
        with self._refusals(component, version, files):
            for found in self._walk(self._directory(component, version), files):
                files.add(found.path, _read_file(found.file, LARGEST_FILE))
        return files.by_path

    def _read_package(self, component: str, version: str) -> Package:
        files = PackageFiles(f"{component} {version}")
        with self._refusals(component, version, files):
            key = component, version, tuple(self._walk(self._directory(component, version), files))
            if package := self._packages.get(key):
                return package
            for found in key[-1]:
                files.add(found.path, _read_file(found.file, LARGEST_FILE))
        package = self._packages[key] = parse_package(component, version, files.by_path)
        return package

    def _directory(self, component: str, version: str) -> Path:
        return self._root / PACKAGES / component / version

    @contextmanager
    def _refusals(self, component: str, version: str, files: PackageFiles) -> Iterator[None]:
        """Errors of reading a package as PackageError."""
        try:
            yield
        except FileNotFoundError as error:
            self._require_root()
            directory = self._directory(component, version)
            if os.path.isdir(directory):
                text = f"{error.filename} does not exist; correct the link or write the file"
                raise files.refusal("Malformed", text) from None
            text = f"does not exist; use another version or add it{self._suggestion(component, version)}"
            shown = f"{self.location}/{PACKAGES}/{component}/{version}"
            raise files.refusal("NotFound", f"{shown} {text}") from None
        except OSError as error:
            raise _unusable(f"package {component} {version}", error) from None

    def _suggestion(self, component: str, version: str) -> str:
        try:
            return suggestion(version, self._list_versions(component))
        except PackageError:
            return ""

    def _walk(self, directory: Path, files: PackageFiles) -> Iterator[_FileOnDisk]:
        """The files below a directory, each resolved, in the order of their names."""
        waiting, directories, found = [("", directory, frozenset[Path]())], 0, 0
        while waiting:
            prefix, directory, above = waiting.pop()
            resolved = self._inside(directory, f"{files.package}: {prefix or directory}")
            if (directories := directories + 1) > MOST_FILES:
                raise files.refusal("TooLarge", f"has more than {MOST_FILES:,} directories")
            if resolved in above:
                raise files.refusal("Malformed", f"{prefix} is a link to a directory that contains it; remove it")
            for name in sorted(os.listdir(resolved)):
                if name.startswith(".."):
                    continue
                files.require_path(prefix + name)
                entry, stat = self._resolve(resolved / name, f"{files.package}: {prefix}{name}")
                if S_ISDIR(stat.st_mode):
                    waiting.append((f"{prefix}{name}/", entry, above | {resolved}))
                elif (found := found + 1) > MOST_FILES:
                    raise files.refusal("TooLarge", f"has more than {MOST_FILES:,} files")
                else:
                    times = stat.st_mtime_ns, stat.st_ctime_ns
                    yield _FileOnDisk(prefix + name, entry, stat.st_size, stat.st_ino, *times)

    def _resolve(self, path: Path, what: str) -> tuple[Path, os.stat_result]:
        """Where a path in a resolved directory leads, and what is there. Raises as `_inside` does."""
        stat = path.lstat()
        if not S_ISLNK(stat.st_mode):
            return path, stat
        resolved = self._inside(path, what)
        return resolved, resolved.stat()

    def _inside(self, path: Path, what: str) -> Path:
        """Where a path leads. Raises PackageError with the reason Malformed if that is outside of the root, OSError if
        it leads nowhere."""
        resolved = Path(os.path.realpath(path, strict=True))
        if not resolved.is_relative_to(os.path.realpath(self._root)):
            text = f"leads out of {self.location} by a symbolic link; put the file inside"
            raise PackageError("Malformed", f"{what} {text}")
        return resolved

    def _require_root(self) -> None:
        if not os.path.isdir(self._root):
            text = "does not exist; make it, or name another one in `source` of addon.yaml or with --addon-source"
            raise PackageError("Unreachable", f"the source directory {self.location} {text}")


def list_channels(directory: Path) -> list[str]:
    """The names of the channels in a directory of packages; none where that is not what a source has."""
    try:
        return sorted(path.name for path in directory.iterdir() if is_channel(path.name) and path.is_file())
    except OSError:
        return []


def _read_file(path: Path, most: int) -> bytes:
    """One byte more than `most`, if the file has more."""
    with safe_files.open_regular(path) as file:
        return file.read(most + 1)


def _unusable(what: str, error: OSError) -> PackageError:
    """The error of what exists and cannot be read."""
    if error.errno in (errno.EINVAL, errno.ENOTDIR, errno.EISDIR, errno.ELOOP):
        return PackageError("Malformed", f"{what}: {error.filename}: {error.strerror}; write a regular file there")
    return PackageError("Unreachable", f"{what}: {error.filename} cannot be read: {error.strerror}")
