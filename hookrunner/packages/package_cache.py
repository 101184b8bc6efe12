"""Packages on disk, by their digest: what was fetched is fetched once, and hooks get a package as a directory.

    cache = PackageCache(Path("/var/cache/packages"), most=512 << 20)
    cache.store(package)
    package = cache.read("coredns", "1.14.6", "sha256:…")       # None if it is not there
    directory = cache.hold(package)                             # stays until release(package.digest)

An entry is a directory named after its digest. It is written beside its place and then renamed, so that it is whole or
absent; it never changes, and what is read is checked against its name, so that damage is found.

Beyond the bound, or when the disk has no room for a new one, the least recently used entries are deleted, but none that
is in use. Several processes may share a cache: who uses or writes an entry holds a shared lock on its directory
(flock), and only the holder of an exclusive one deletes it. The kernel drops the locks of a process that is killed.

Offline commands have no cache: they write packages with `unpack_package` to a directory of their own.
Source: flock(2)
"""

import errno
import fcntl
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

from hookrunner import log, safe_files
from hookrunner.errors import PackageError
from hookrunner.packages.names import LARGEST_FILE
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import PackageFiles, is_digest
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_DRAFT, _DELETED = ".new-", ".old-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 3
"""At a damaged entry that another process uses."""
_PATIENCE = 5.0
"""Seconds in which other processes may write and delete an entry before this one can lock it."""
_PAUSE = 0.01
"""Seconds at most before it is tried again; at random, or two processes would keep meeting."""
_ABANDONED = 60.0
"""Seconds after which a draft without a lock belongs to a process that was killed."""
_BLOCK = 4096
"""Bytes that the smallest file takes on most disks."""


@dataclass(slots=True)
class _Held:
    """A lock on an entry and how many users of this process share it."""

    descriptor: int
    users: int = 0


class PackageCache:
    """A directory of entries, at most about `most` bytes; 0 is no limit. It may be called from any thread."""

    def __init__(self, directory: Path, most: int) -> None:
        self._directory = directory
        self._most = most
        self._held: dict[str, _Held] = {}
        self._known = WeakValueDictionary[tuple[str, str, str], Package]()
        """Those that were read and are in use: their entries are held, and never change."""
        self._sizes: dict[str, int] = {}
        self._disk = threading.Lock()
        """Held while files are read and written, which may take as long as a disk does."""
        self._mutex = threading.Lock()
        """Held for a moment: an event loop may wait for it."""

    @property
    def size(self) -> int:
        """Bytes of all entries, as far as this process has seen them."""
        return sum(self._sizes.copy().values())

    def read(self, component: str, version: str, digest: str) -> Package | None:
        """The package with this digest, None if it is not there, not whole or cannot be read."""
        if not is_digest(digest):
            return None
        if (known := self._known.get((component, version, digest))) and self.is_in_place(digest):
            _touch(self._entry(digest))
            return known
        with self._disk:
            try:
                whole = self._open(component, version, digest)
            except BlockingIOError:
                return None
            if whole is None:
                return None
            os.close(whole[1])
            _touch(self._entry(digest))
            self._known[component, version, digest] = whole[0]
            return whole[0]

    def store(self, package: Package) -> None:
        """Keep a package. That the disk is full or broken is logged: it costs later fetches, and nothing else."""
        try:
            self.hold(package)
        except PackageError as error:
            _log.warn("package cannot be cached", package=str(package), error=error)
        else:
            self.release(package.digest)

    def hold(self, package: Package) -> Path:
        """The directory with the package's files, which stays until `release` was called as often. One that was deleted
        nevertheless, as by a cleaner of old files, is written again. Raises PackageError with the reason Unreachable if
        it cannot be written."""
        with self._disk:
            try:
                if not self._share(package.digest):
                    self._renew(package)
            except OSError as error:
                text = f"cannot be written to {self._directory}: {error.strerror}; see --addon-cache-dir"
                raise PackageError("Unreachable", f"package {package} {text}") from error
            entry = self._entry(package.digest)
            _touch(entry)
            self._shrink()
            return entry

    def release(self, digest: str) -> None:
        """End one `hold`. It does not wait for others that read or write."""
        with self._mutex:
            held = self._held[digest]
            held.users -= 1
            if not held.users:
                os.close(self._held.pop(digest).descriptor)

    def is_in_place(self, digest: str) -> bool:
        """Is this entry held, and still the one under its name? A cleaner of old files may have deleted it, and another
        user made it then."""
        held = self._held.get(digest)
        with suppress(OSError):
            return held is not None and os.path.samestat(os.fstat(held.descriptor), os.stat(self._entry(digest)))
        return False

    def _share(self, digest: str) -> bool:
        """One more user of an entry that is in place; False if it is not."""
        with self._mutex:
            if is_shared := self.is_in_place(digest):
                self._held[digest].users += 1
            return is_shared

    def _renew(self, package: Package) -> None:
        """One more user of the entry of a package, which may be another directory than before."""
        descriptor = self._enter(package)
        with self._mutex:
            before = self._held.get(package.digest)
            self._held[package.digest] = _Held(descriptor, before.users + 1 if before else 1)
        if before:
            os.close(before.descriptor)

    def _entry(self, digest: str) -> Path:
        return self._directory / digest.removeprefix("sha256:")

    def _enter(self, package: Package) -> int:
        """The lock on a package's entry, which is written unless it is there. Another process may write the same entry
        or delete it at this moment."""
        safe_files.reuse_directory(self._directory)
        end, blocked = time.monotonic() + _PATIENCE, 0
        while time.monotonic() < end:
            try:
                if (descriptor := self._open_or_write(package)) is not None:
                    return descriptor
            except BlockingIOError:
                blocked += 1
                if blocked == _ATTEMPTS:
                    raise
            time.sleep(random.uniform(0, _PAUSE))  # noqa: S311
        text = f"for {_PATIENCE:g} s other processes have written and deleted it"
        raise OSError(errno.EAGAIN, text, str(self._entry(package.digest)))

    def _open_or_write(self, package: Package) -> int | None:
        """The lock on a package's entry; None if another process was faster. Raises OSError."""
        if whole := self._open(package.component, package.version, package.digest):
            return whole[1]
        try:
            return self._write(package)
        except OSError as error:
            if error.errno != errno.ENOSPC or not self._make_room(_needed(package)):
                raise
            return self._write(package)

    def _open(self, component: str, version: str, digest: str) -> tuple[Package, int] | None:
        """A whole entry and the lock on it; None without one. A damaged one is deleted. Raises BlockingIOError if
        that cannot be, because it is in use."""
        entry = self._entry(digest)
        descriptor = _lock(entry, fcntl.LOCK_SH)
        if descriptor is None:
            return None
        try:
            package = parse_package(component, version, _read_files(entry, f"{component} {version}"))
            if package.digest == digest:
                return package, descriptor
        except (OSError, PackageError):
            pass
        os.close(descriptor)
        _log.warn("cached package damaged, deleting it", package=f"{component} {version}", path=entry)
        if not _delete(entry):
            raise BlockingIOError(errno.EAGAIN, "it is damaged, and another process uses it", str(entry))
        return None

    def _write(self, package: Package) -> int | None:
        """Write an entry under another name, locked, and rename it; the lock, or None if another process was faster."""
        draft = self._directory / f"{_DRAFT}{os.urandom(8).hex()}"
        draft.mkdir(0o700)
        descriptor, is_entry = os.open(draft, _DIRECTORY), False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            _write_files(package, draft)
            is_entry = _rename(draft, self._entry(package.digest))
        finally:
            if not is_entry:
                shutil.rmtree(draft, ignore_errors=True)
                os.close(descriptor)
        return descriptor if is_entry else None

    def _make_room(self, needed: int) -> bool:
        """Delete least recently used entries until the disk has room for so many bytes; none if all would not do."""
        entries = [self._directory / name for _, name in sorted(self._scan())]
        unused = [entry for entry in entries if f"sha256:{entry.name}" not in self._held]
        if shutil.disk_usage(self._directory).free + sum(map(_size, unused)) < needed:
            return False
        for entry in unused:
            if shutil.disk_usage(self._directory).free >= needed:
                break
            if _delete(entry):
                _log.info("disk full, deleted a cached package that is not in use", path=entry)
        return True

    def _shrink(self) -> None:
        """Delete the least recently used entries beyond the bound, and what killed processes have left."""
        try:
            entries = sorted(self._scan())
        except OSError:
            return
        self._sizes = {name: self._sizes.get(name) or _size(self._directory / name) for _, name in entries}
        for _, name in entries:
            if not self._most or sum(self._sizes.values()) <= self._most:
                return
            if _delete(self._directory / name):
                del self._sizes[name]

    def _scan(self) -> Iterator[tuple[float, str]]:
        """When each entry was used, and its name."""
        with os.scandir(self._directory) as files:
            for file in files:
                with suppress(FileNotFoundError):
                    used = file.stat(follow_symlinks=False).st_mtime
                    if is_digest(f"sha256:{file.name}"):
                        yield used, file.name
                    elif file.name.startswith((_DRAFT, _DELETED)) and used < time.time() - _ABANDONED:
                        _delete(Path(file.path))


def _rename(draft: Path, entry: Path) -> bool:
    """Make a draft the entry; False if the entry exists."""
    try:
        os.rename(draft, entry)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _delete(entry: Path) -> bool:
    """Delete an entry unless it is in use; whether it is gone. It is renamed first: readers see it whole or not at
    all, and wait no longer than a rename takes."""
    descriptor = _lock(entry, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is None:
        return False
    deleted = entry.with_name(f"{_DELETED}{os.urandom(8).hex()}")
    try:
        os.rename(entry, deleted)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    shutil.rmtree(deleted, ignore_errors=True)
    return True


def _lock(entry: Path, kind: int) -> int | None:
    """The descriptor that holds a lock on an entry; None if it does not exist or another lock is in the way."""
    try:
        descriptor = os.open(entry, _DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, kind)
        if os.path.samestat(os.fstat(descriptor), os.lstat(entry)):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)  # deleted, and perhaps written anew, while we waited
    return None


def _read_files(entry: Path, package: str) -> dict[str, bytes]:
    files = PackageFiles(package)
    for directory, _, names in os.walk(entry):
        for name in names:
            file = Path(directory, name)
            with safe_files.open_regular(file) as opened:
                files.add(file.relative_to(entry).as_posix(), opened.read(LARGEST_FILE + 1))
    return files.by_path


def _touch(entry: Path) -> None:
    with suppress(OSError):
        os.utime(entry)


def _size(entry: Path) -> int:
    """Bytes on disk, about."""
    total = _BLOCK
    for directory, names, files in os.walk(entry):
        total += _BLOCK * len(names)
        for name in files:
            with suppress(OSError):
                total += -(-os.lstat(Path(directory, name)).st_size // _BLOCK) * _BLOCK
    return total


def _needed(package: Package) -> int:
    """Bytes on disk, about, that a package will take."""
    blocks = sum(-(-len(data) // _BLOCK) + path.count("/") for path, data in package.files.items())
    return (blocks + 1) * _BLOCK


def unpack_package(package: Package, parent: Path) -> Path:
    """The directory with the package's files below `parent`, written if it does not exist yet. Raises OSError. For one
    user of `parent`, who removes it."""
    directory = parent / package.digest.removeprefix("sha256:") / package.component
    if not directory.is_dir():
        directory.mkdir(0o700, parents=True)
        _write_files(package, directory)
    return directory


def _write_files(package: Package, directory: Path) -> None:
    for path, data in package.files.items():
        file = directory / path
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(safe_files.create_file(file, 0o400), "wb") as opened:
            opened.write(data)
