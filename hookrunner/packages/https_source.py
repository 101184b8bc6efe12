"""A web server as a source: `<base>/<channel>` and `<base>/packages/<component>/<version>/…`.

    async with HttpsReader() as reader:
        source = HttpsSource("https://example.com/addons/{kubernetes}", reader, kubernetes="v1.34.2", timeout=60)
        package = await source.read_package("coredns", "1.14.6")

HTTP has no list of a directory, so `SHA256SUMS` says which files a package has; without it the package is the one file
`manifest.yaml`, as for the predecessors' operators. `{kubernetes}` in the base is the cluster's version without `v` and
suffix: `1.34.2`. A deadline bounds each channel and each package as a whole.
"""

from contextlib import AbstractAsyncContextManager
from urllib.parse import quote

from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.channels import decode_channel, release_of
from hookrunner.packages.fetch_bounds import fetch_deadline, side_by_side
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.names import (
    LARGEST_CHANNEL,
    LARGEST_FILE,
    LONGEST_SIGNATURE,
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
from hookrunner.packages.web_addresses import without_credentials

MANIFEST = "manifest.yaml"


class HttpsSource:
    """Channels and packages below a URL. `timeout` are seconds for one channel or package; 0 is no limit."""

    is_remote = True
    is_pinned = False
    commit = ""

    def __init__(self, base: str, reader: HttpsReader, kubernetes: str, timeout: float) -> None:
        self.location = without_credentials(base)
        self._base = base.replace("{kubernetes}", release_of(kubernetes).removeprefix("v")).rstrip("/")
        self._reader = reader
        self._timeout = timeout

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: NoChannel, Unreachable, Malformed, TooLarge."""
        require_channel(name)
        async with self._deadline(f"channel '{name}'"):
            text = await self._reader.read(self._url(name), LARGEST_CHANNEL, keep=True)
        if text is None:
            raise PackageError("NoChannel", f"channel '{name}' does not exist at {self.location}; name another one")
        return decode_channel(name, text, self.location)

    async def read_channel_signature(self, name: str) -> bytes:
        """A channel's signature, empty without one. Raises PackageError: NoChannel, Unreachable, Malformed."""
        require_channel(name)
        async with self._deadline(f"signature of the channel '{name}'"):
            url = self._url(name + SIGNATURE_SUFFIX)
            return await self._reader.read(url, LONGEST_SIGNATURE, keep=True) or b""

    async def list_versions(self, component: str) -> list[str]:
        """None: web servers do not list them. Channels do, which `addons/offered_versions.py` looks at."""
        require_component(component)
        return []

    async def read_digest(self, component: str, version: str) -> str:
        """The digest of a package by its list of checksums, empty without one."""
        require_package(component, version)
        async with self._deadline(f"package {component} {version}"):
            listed = await self._reader.read(self._file(component, version, CHECKSUMS), LARGEST_CHANNEL, keep=True)
        return "" if listed is None else digest_of(parse_checksums(f"{component} {version}", listed))

    async def read_seal(self, component: str, version: str) -> Seal:
        """The list of checksums and its signature. Raises PackageError: Unreachable, Malformed, TooLarge."""
        require_package(component, version)
        async with self._deadline(f"signature of the package {component} {version}"):
            listed = await self._reader.read(self._file(component, version, CHECKSUMS), LARGEST_CHANNEL, keep=True)
            url = self._file(component, version, CHECKSUMS_SIGNATURE)
            signature = None if listed is None else await self._reader.read(url, LONGEST_SIGNATURE, keep=True)
        return seal_of(f"{component} {version}", listed, signature)

    async def read_package(self, component: str, version: str) -> Package:
        """One package. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge, DigestMismatch."""
        require_package(component, version)
        files = PackageFiles(f"{component} {version}")
        async with self._deadline(f"package {component} {version}"):
            listed = await self._reader.read(self._file(component, version, CHECKSUMS), LARGEST_CHANNEL, keep=True)
            paths = [MANIFEST] if listed is None else sorted(parse_checksums(files.package, listed))
            await self._read_files(component, version, paths, files)
        if listed is not None:
            files.add(CHECKSUMS, listed)
        elif not files.by_path:
            advice = "use another version (`hookrunner addon versions`), or add it"
            raise files.refusal("NotFound", f"neither {CHECKSUMS} nor {MANIFEST} exists at {self.location}; {advice}")
        return parse_package(component, version, files.by_path)

    async def _read_files(self, component: str, version: str, paths: list[str], files: PackageFiles) -> None:
        """Add those that exist, several at a time; the first error ends the others."""

        async def read_file(path: str) -> None:
            data = await self._reader.read(self._file(component, version, path), LARGEST_FILE)
            if data is not None:
                files.add(path, data)

        await side_by_side(paths, read_file)

    def _file(self, component: str, version: str, path: str) -> URL:
        return self._url("/".join(("packages", component, version, *path.split("/"))))

    def _url(self, path: str) -> URL:
        return URL(f"{URL(self._base)}/{quote(path)}", encoded=True)

    def _deadline(self, what: str) -> AbstractAsyncContextManager[None]:
        return fetch_deadline(what, self.location, self._timeout)
