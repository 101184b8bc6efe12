"""A directory to which a mirror copies: `<root>/<channel>` and `<root>/packages/<component>/<version>/…`.

    with DirectoryTarget.opened(Path("/srv/mirror")) as target:
        await target.put_package(package, lists)            # False: it has been there

A package becomes visible as a whole (`published_directory.py`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.directory_source import PACKAGES, DirectorySource
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import CHECKSUMS, CHECKSUMS_SIGNATURE, SIGNATURE_SUFFIX
from hookrunner.packages.publishing.published_directory import PublishedDirectory
from hookrunner.packages.publishing.source_mirror import refuse_other


class DirectoryTarget:
    """A `MirrorTarget` on this machine. What cannot be written raises BadInput when the directory is left."""

    def __init__(self, published: PublishedDirectory) -> None:
        self._published = published

    @classmethod
    @contextmanager
    def opened(cls, root: Path) -> Iterator["DirectoryTarget"]:
        """The directory, made if it does not exist. Raises BadInput as `PublishedDirectory.opened` does."""
        with PublishedDirectory.opened(root) as published:
            yield cls(published)

    async def put_package(self, package: Package, lists: Mapping[str, bytes]) -> bool:
        """As `MirrorTarget` says."""
        if not (self._published.root / PACKAGES / package.component / package.version).exists():
            self._published.write_package(package.component, package.version, {**package.files, **lists})
            return True
        return await self._complete_package(package, lists)

    async def put_channel(self, name: str, text: bytes, signature: bytes) -> bool:
        """As `MirrorTarget` says. The signature comes first: between the two a channel is refused, not followed."""
        was_written = False
        for path, data in ((name + SIGNATURE_SUFFIX, signature), (name, text)):
            file = self._published.root / path
            if data and not (file.is_file() and file.read_bytes() == data):
                self._published.write(path, data)
                was_written = True
        return was_written

    async def has_package(self, component: str, version: str) -> bool:
        """As `MirrorTarget` says."""
        return (self._published.root / PACKAGES / component / version).is_dir()

    async def _complete_package(self, package: Package, lists: Mapping[str, bytes]) -> bool:
        """Whether the list or the signature of a package that is there was written. Raises BadInput for another
        package, or for one that is damaged."""
        place = f"{PACKAGES}/{package.component}/{package.version}"
        path = self._published.root / place
        try:
            present = await DirectorySource(self._published.root).read_files(package.component, package.version)
        except PackageError as error:
            raise BadInput(f"{path} cannot be used; remove it: {error}") from None
        if {
            name: data for name, data in present.items() if name not in (CHECKSUMS, CHECKSUMS_SIGNATURE)
        } != package.files:
            raise refuse_other(path, package)
        changed = {name: data for name, data in lists.items() if present.get(name) != data}
        for name, data in changed.items():
            self._published.write(f"{place}/{name}", data)
        return bool(changed)
