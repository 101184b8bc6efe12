"""Asks a repository, on a server or on this machine: which commit is meant, and its files.

    access = await access_of(location, reader, credentials)
    named = await find_commit(access, location)
    checked_out = await check_out(access, location, named, draft)       # checked_out.tree

Messages begin with the location, without user and password. Importing this imports dulwich, which takes a tenth of a
second: `git_checkouts.py` does it in a thread, when the first location in git is looked at.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.git import git_client, git_refs, git_trees
from hookrunner.packages.git.git_refs import CheckedOut, NamedCommit
from hookrunner.packages.git.git_transport import call_with_transport
from hookrunner.packages.git_locations import GitLocation
from hookrunner.packages.host_credentials import CredentialsSource
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.process.pure_calls import CallLimits, CallLost, call_within
from kubetypes.light_dataclasses import dataclass

_UNPACKING = CallLimits(seconds=30.0, memory=512 << 20)
_DIGITS = re.compile("[0-9a-f]{4,39}")


@dataclass(frozen=True, slots=True)
class Access:
    """How a repository is reached: `url` has the user and the password, if there are any."""

    reader: HttpsReader
    url: URL


async def access_of(location: GitLocation, reader: HttpsReader, credentials: CredentialsSource) -> Access:
    """The way to a repository. User and password of the location itself win."""
    url = URL(location.url) if location.is_web else URL()
    if location.is_web and not url.user:
        login = (await credentials.read()).login_for(url.host_port_subcomponent or "", url.path.strip("/"))
        url = url.with_user(login.user).with_password(login.password) if login else url
    return Access(reader, url)


async def find_commit(access: Access, location: GitLocation) -> NamedCommit:
    """The commit that a location means. Raises PackageError."""
    if location.commit:
        return NamedCommit(location.commit, location.commit)
    with _named(location):
        if location.is_web:
            read = partial(git_client.read_refs, url=location.repository, ref=location.ref)
            named = git_refs.find_commit(await call_with_transport(access.reader, access.url, read), location.ref)
        else:
            named = await asyncio.to_thread(git_trees.find_local_commit, Path(location.url), location.ref)
    if named is None:
        raise PackageError("NotFound", f"{location}: {_missing(location.ref)}")
    return named


async def check_out(access: Access, location: GitLocation, named: NamedCommit, draft: Path) -> CheckedOut:
    """Write the files of a commit below the location's directory to one in `draft`, which is the caller's to remove.
    Raises PackageError."""
    with _named(location):
        source = Path(location.url)
        if location.is_web:
            source = draft / "fetch.pack"
            fetch = partial(git_client.fetch_objects, url=location.repository, want=named.want, path=source)
            await call_with_transport(access.reader, access.url, fetch)
        arguments = source, named.want, location.directory, draft / "tree"
        try:
            checked_out = await call_within(_UNPACKING, git_trees.check_out, *arguments)
        except CallLost as lost:
            text = f"the commit {named.commit} cannot be unpacked: {lost}"
            raise PackageError("TooLarge" if lost.is_expensive else "Unreachable", text) from None
        if checked_out.commit != named.commit:
            raise PackageError("Malformed", f"sends the commit {checked_out.commit} in place of {named.commit}")
    return checked_out


@contextmanager
def _named(location: GitLocation) -> Iterator[None]:
    try:
        yield
    except PackageError as error:
        raise PackageError(error.reason, f"{location}: {error}") from error


def _missing(ref: str) -> str:
    if not ref:
        return "the repository has no commit yet, or no default branch; add ?ref=BRANCH"
    advice = "; a commit is written with all its 40 digits" if _DIGITS.fullmatch(ref) else ""
    return f"no branch or tag has the name '{ref}'{advice}; correct the part behind '?ref='"
