"""A source that is written, as a directory: whole files and packages or none, by one process at a time.

    with PublishedDirectory.opened(Path("channels")) as directory:
        directory.write("stable.sig", signature)
        directory.write_package("coredns", "1.14.6", files)

Everything is written to a directory of drafts and then renamed, so readers never see half of it: they may read while it
is written. Drafts are in no package and no channel's name begins with a dot, so that what a killed process has left is
read by no one; the next one deletes it. The lock ends with its process.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.packages.directory_source import PACKAGES

_DRAFTS = ".hookrunner-drafts"
_FILE, _DIRECTORY = 0o644, 0o755
"""A web server under another user reads them; the umask may take rights away."""


class PublishedDirectory:
    """The directory of a source, locked for this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = root / _DRAFTS

    @classmethod
    @contextmanager
    def opened(cls, root: Path) -> Iterator["PublishedDirectory"]:
        """The directory, made if it does not exist. Raises BadInput if it cannot be written, also later, or if another
        process writes to it."""
        try:
            root.mkdir(_DIRECTORY, parents=True, exist_ok=True)
            lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(root, error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise BadInput(f"another process writes to {root}; wait until it has ended") from None
        try:
            directory = cls(root)
            directory._clear()
            yield directory
        except OSError as error:
            raise _refusal(root, error) from None
        finally:
            shutil.rmtree(root / _DRAFTS, ignore_errors=True)
            os.close(lock)

    def write(self, path: str, data: bytes) -> None:
        """Write one file in place of what is there. Raises OSError, and then nothing has changed."""
        draft = self._draft(data)
        (self.root / path).parent.mkdir(_DIRECTORY, parents=True, exist_ok=True)
        draft.replace(self.root / path)

    def write_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        """Write a package that does not exist yet. Raises OSError, and then it does not exist."""
        draft = self._drafts / "package"
        shutil.rmtree(draft, ignore_errors=True)
        for path, data in files.items():
            (draft / path).parent.mkdir(_DIRECTORY, parents=True, exist_ok=True)
            self._draft(data).replace(draft / path)
        parent = self.root / PACKAGES / component
        parent.mkdir(_DIRECTORY, parents=True, exist_ok=True)
        draft.rename(parent / version)

    def _draft(self, data: bytes) -> Path:
        """A file with this content, in the directory of drafts."""
        self._drafts.mkdir(_DIRECTORY, exist_ok=True)
        draft = self._drafts / "file"
        draft.unlink(missing_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE), "wb") as file:
            file.write(data)
        return draft

    def _clear(self) -> None:
        if os.path.lexists(self._drafts):
            shutil.rmtree(self._drafts)


def _refusal(root: Path, error: OSError) -> BadInput:
    where = error.filename if error.filename and _DRAFTS not in str(error.filename) else root
    advice = "free space there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "correct that"
    return BadInput(f"{where} cannot be written: {error.strerror}; {advice}, and run the same command again")
