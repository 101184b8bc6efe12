"""Directories with the files of commits: each is fetched once, and stays as long as it is read.

    checkouts = GitCheckouts(directory, reader, credentials, timeout=60)
    checkout = await checkouts.look(location)       # a commit that is the same costs the question alone
    await checkout.source.read_channel("stable")

`directory` is claimed by this process (`claimed_directories.py`): what a killed process has left is removed by the next
one. A checkout is written beside its place and renamed, so that it is whole or absent. The last one of each location is
kept; an older one is deleted when no one holds it any more. All who look at a location at once share one question.

The deadline is for all of it: the question, the transfer, and the process that unpacks it, which is killed then.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from weakref import WeakValueDictionary

from hookrunner import claimed_directories
from hookrunner.errors import PackageError
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.fetch_bounds import fetch_deadline
from hookrunner.packages.git.git_refs import CheckedOut
from hookrunner.packages.git_locations import GitLocation
from hookrunner.packages.host_credentials import CredentialsSource
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.shared_reads import SharedReads
from kubetypes.light_dataclasses import dataclass

_DRAFT = ".new-"
_REPOSITORY = "hookrunner.packages.git.git_repository"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class GitCheckout:
    """The files of a commit below the location's directory. `problems` are those that are not there, by their paths."""

    commit: str
    directory: Path
    source: DirectorySource
    problems: Mapping[str, str]


class GitCheckouts:
    """Fetches below `directory`. `timeout` are seconds for one look; 0 is no limit."""

    def __init__(self, directory: Path, reader: HttpsReader, credentials: CredentialsSource, timeout: float) -> None:
        self._directory = directory
        self._reader = reader
        self._credentials = credentials
        self._timeout = timeout
        self._reads = SharedReads()
        self._last: dict[GitLocation, GitCheckout] = {}
        self._written: set[str] = set()
        self._in_use = WeakValueDictionary[str, GitCheckout]()

    async def look(self, location: GitLocation) -> GitCheckout:
        """The commit that the location means now. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge."""
        return await self._reads.read(location, partial(self._look, location))

    async def _look(self, location: GitLocation) -> GitCheckout:
        last = self._last.get(location)
        if last and not last.directory.is_dir():  # deleted by a cleaner of old files
            last = None
        if last and last.commit == location.commit:
            return last
        await asyncio.to_thread(import_module, _REPOSITORY)
        from hookrunner.packages.git import git_repository as repository

        async with fetch_deadline(f"commit of {location.ref or 'HEAD'}", str(location), self._timeout):
            access = await repository.access_of(location, self._reader, self._credentials)
            named = await repository.find_commit(access, location)
            if last is None or last.commit != named.commit:
                check_out = partial(repository.check_out, access, location, named)
                last = self._last[location] = await self._fetch(location, check_out)
        return last

    async def _fetch(self, location: GitLocation, check_out: Callable[[Path], Awaitable[CheckedOut]]) -> GitCheckout:
        draft = self._make_draft(location)
        try:
            checked_out = await check_out(draft)
            name = f"{checked_out.commit}-{os.urandom(8).hex()}"
            directory = self._directory / name
            os.rename(checked_out.tree, directory)
            self._written.add(name)
            source = DirectorySource(directory, str(location))
            checkout = self._in_use[name] = GitCheckout(checked_out.commit, directory, source, checked_out.problems)
        finally:
            await asyncio.to_thread(_remove, draft, *self._take_unused())
        return checkout

    def _take_unused(self) -> list[Path]:
        """The checkouts that no one holds, for the caller to remove."""
        unused = self._written - {*self._in_use}
        self._written -= unused
        return [self._directory / name for name in unused]

    def _make_draft(self, location: GitLocation) -> Path:
        draft = self._directory / f"{_DRAFT}{os.urandom(8).hex()}"
        try:
            claimed_directories.reuse(self._directory)
            draft.mkdir(0o700)
        except OSError as error:
            directory = claimed_directories.lasting_name(self._directory)
            text = f"cannot be written to {directory}: {error.strerror}; see --tmp-dir"
            raise PackageError("Unreachable", f"{location}: {text}") from error
        return draft


def _remove(*directories: Path) -> None:
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
