"""A directory of a git repository as a source: `<SUB>/<channel>` and `<SUB>/packages/<component>/<version>/…`.

    source = GitSource(parse_git_location("git::https://example.com/addons.git?ref=main", base), checkouts)
    await source.read_channel("stable")
    await source.read_package("coredns", "1.14.6")      # of the commit that the channel is from
    source.commit                                       # that commit

One object is for one run: each channel is read at the commit that the reference means then, and packages are read at
the commit of the last channel, so that both fit each other. The files are read as those of any directory.
"""

from hookrunner.errors import PackageError
from hookrunner.packages.directory_source import PACKAGES
from hookrunner.packages.git.git_checkouts import GitCheckout, GitCheckouts
from hookrunner.packages.git_locations import GitLocation
from hookrunner.packages.names import require_channel, require_component, require_package, shown
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import Seal, refusal


class GitSource:
    """Channels and packages at a location, whose `{kubernetes}` is replaced."""

    is_remote = True
    is_pinned = False

    def __init__(self, location: GitLocation, checkouts: GitCheckouts) -> None:
        self.location = str(location)
        self._location = location
        self._checkouts = checkouts
        self._checkout: GitCheckout | None = None

    @property
    def commit(self) -> str:
        """The commit that was read, empty before the first read."""
        return self._checkout.commit if self._checkout else ""

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: NoChannel, Unreachable, Malformed, TooLarge; NotFound if the
        repository has no such branch, tag, commit or directory."""
        require_channel(name)
        self._checkout = await self._checkouts.look(self._location)
        if problem := self._checkout.problems.get(name):
            raise PackageError("Malformed", f"channel '{name}' in {self.location} {problem}")
        return await self._checkout.source.read_channel(name)

    async def read_channel_signature(self, name: str) -> bytes:
        """A channel's signature, empty without one; of the commit of the last channel. Raises as `read_channel`."""
        require_channel(name)
        return await (await self._checked_out()).source.read_channel_signature(name)

    async def list_versions(self, component: str) -> list[str]:
        """The versions of a component that have a package, the newest first. Raises PackageError as `read_channel`."""
        require_component(component)
        return await (await self._checked_out()).source.list_versions(component)

    async def read_digest(self, component: str, version: str) -> str:
        """The digest of a package by its list of checksums, empty without one."""
        require_package(component, version)
        return await (await self._checked_out()).source.read_digest(component, version)

    async def read_seal(self, component: str, version: str) -> Seal:
        """The list of checksums and its signature. Raises PackageError: Unreachable, Malformed, TooLarge."""
        require_package(component, version)
        return await (await self._checked_out()).source.read_seal(component, version)

    async def read_package(self, component: str, version: str) -> Package:
        """One package. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        checkout = await self._checked_out()
        for path, problem in checkout.problems.items():
            if _is_needed(path, f"{PACKAGES}/{component}/{version}"):
                raise refusal(f"{component} {version}", "Malformed", f"{shown(path)} in {self.location} {problem}")
        return await checkout.source.read_package(component, version)

    async def _checked_out(self) -> GitCheckout:
        if self._checkout is None:
            self._checkout = await self._checkouts.look(self._location)
        return self._checkout


def _is_needed(path: str, directory: str) -> bool:
    """Is a path this directory, in it, or above it?"""
    return f"{path}/".startswith(f"{directory}/") or f"{directory}/".startswith(f"{path}/")
