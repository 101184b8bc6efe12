"""A source of which only what is signed is read: `--addon-verify signature`.

    source = SignedSource(HttpsSource(…), read_keys(settings.keys))
    package = await source.read_package("coredns", "1.14.6")     # PackageError: Unverified; else package.is_signed

It stands in front of the source that reads, so everything that is shown or installed has passed it. A channel is signed
as it is. Of a package the list of checksums is signed, so the signature is looked at before any file is fetched, and
covers each of them. In a registry a signature of the manifest does as well. All are read again whenever the source is:
what a cache has was verified with the keys of then.

The list does not name component and version: a server could give one signed package in place of another. A `digest` in
the channel, which is signed too, prevents that.
"""

from dataclasses import replace

from hookrunner.packages.package import Package
from hookrunner.packages.package_files import Seal, Statement, refusal
from hookrunner.packages.signatures.signing_keys import TrustedKeys
from hookrunner.packages.source_locations import PackageSource, StatementSource

_UNSIGNED = "has no SHA256SUMS that could be signed: seal it, or in a registry sign it with cosign"


class SignedSource:
    """What another source has and one of the keys has signed."""

    def __init__(self, source: PackageSource, keys: TrustedKeys) -> None:
        self._source = source
        self._keys = keys

    @property
    def location(self) -> str:
        """Where the source is."""
        return self._source.location

    @property
    def is_remote(self) -> bool:
        """Whether the source is."""
        return self._source.is_remote

    @property
    def is_pinned(self) -> bool:
        """Whether the source is."""
        return self._source.is_pinned

    @property
    def commit(self) -> str:
        """That of the source."""
        return self._source.commit

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: Unverified, and what the source raises."""
        text = await self._source.read_channel(name)
        statements = [Statement(text.encode(), await self._source.read_channel_signature(name))]
        if not statements[0].signature and isinstance(self._source, StatementSource):
            statements += await self._source.read_channel_statements(name, text)
        self._keys.require_statement(f"channel '{name}' in {self.location}", statements)
        return text

    async def read_channel_signature(self, name: str) -> bytes:
        """As the source has it."""
        return await self._source.read_channel_signature(name)

    async def list_versions(self, component: str) -> list[str]:
        """As the source lists them; they are names alone."""
        return await self._source.list_versions(component)

    async def read_digest(self, component: str, version: str) -> str:
        """The digest that is signed. Raises PackageError."""
        return (await self.read_seal(component, version)).digest

    async def read_seal(self, component: str, version: str) -> Seal:
        """What is signed of a package. Raises PackageError: Unverified, NotFound, and what the source raises."""
        seal = await self._source.read_seal(component, version)
        if not seal.text and not seal.statements:
            await self._source.read_package(component, version)  # raises if there is no such package
            raise refusal(f"{component} {version}", "Unverified", _UNSIGNED)
        statements = [Statement(seal.text, seal.signature), *seal.statements]
        self._keys.require_statement(f"package {component} {version}", statements)
        return seal

    async def read_package(self, component: str, version: str) -> Package:
        """One package, with `is_signed`. Raises PackageError: Unverified, and what the source raises."""
        seal = await self.read_seal(component, version)
        package = await self._source.read_package(component, version)
        if package.digest != seal.digest:
            text = f"it has the digest {package.digest}, not {seal.digest}, which is signed; was it just published?"
            raise refusal(str(package), "DigestMismatch", text)
        return replace(package, is_signed=True)
