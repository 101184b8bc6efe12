"""Writes checksums and signatures of packages and channels: `hookrunner addon seal DIR [--key FILE]`.

    async for sealed in seal(Path("channels"), key): ...     # Sealed("coredns 1.14.6", ("SHA256SUMS",), "sha256:…")

What is signed is what was read: the list is computed from the bytes of the files, and the signature made of that list,
without a second look at the disk. What cannot be installed is not signed: a package that is malformed, a channel with a
mistake. What is right already stays as it is, byte for byte, whichever program has written it; so a second run writes
nothing. Without a key, what is signed and has changed is an error: the signature would be of other bytes.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.channels import Channel, contradicted_entries, parse_channel
from hookrunner.packages.directory_source import PACKAGES, DirectorySource, list_channels
from hookrunner.packages.names import is_component
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    SIGNATURE_SUFFIX,
    compute_checksums,
    parse_checksums,
    render_checksums,
)
from hookrunner.packages.publishing.published_directory import PublishedDirectory
from hookrunner.packages.signatures.signing_keys import SigningKey
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was done to one package or channel: `written` are names of files, none if all was right; `digest` is that of
    a package; `unpinned` are the entries of a channel, as `coredns 1.14.6`, whose package it does not pin."""

    name: str
    written: tuple[str, ...] = ()
    digest: str = ""
    unpinned: tuple[str, ...] = ()


async def seal(directory: Path, key: SigningKey | None) -> AsyncIterator[Sealed]:
    """Seal the source or the one package in a directory, and yield what was done, packages first. Raises BadInput for
    another directory, or one that cannot be written; PackageError for the first package or channel that cannot be
    sealed, which is left as it is."""
    root, packages, channels = _contents(directory)
    digests = defaultdict[str, dict[str, str]](dict)
    with PublishedDirectory.opened(root) as published:
        source = DirectorySource(root)
        for component, version in packages:
            sealed = await _seal_package(published, source, (component, version), key)
            digests[component][version] = sealed.digest
            yield sealed
        for name in channels:
            yield await _seal_channel(published, source, name, key, digests)


def _contents(directory: Path) -> tuple[Path, list[tuple[str, str]], list[str]]:
    """The root of a source, the packages and the channels to seal. Raises BadInput."""
    path = directory.absolute()
    if (path / PACKAGES).is_dir():
        directories = [version for version in sorted((path / PACKAGES).glob("*/*")) if version.is_dir()]
        found = [(version.parent.name, version.name) for version in directories]
        packages = [(component, version) for component, version in found if is_component(component)]
        return path, packages, list_channels(path)
    if path.is_dir() and path.parents[1].name == PACKAGES:
        return path.parents[2], [(path.parent.name, path.name)], []
    text = f"is no source of packages, and no package of one; name the directory in which {PACKAGES}/ is"
    raise BadInput(f"{directory} {text}")


async def _seal_package(
    published: PublishedDirectory, source: DirectorySource, package: tuple[str, str], key: SigningKey | None
) -> Sealed:
    """Raises PackageError, OSError."""
    name, files = " ".join(package), await source.read_files(*package)
    before = {path: files.pop(path, b"") for path in (CHECKSUMS, CHECKSUMS_SIGNATURE)}
    digest = parse_package(*package, files).digest
    listed = _list_of(name, files, before[CHECKSUMS])
    if key is None and before[CHECKSUMS_SIGNATURE] and listed != before[CHECKSUMS]:
        raise BadInput(f"package {name} is signed, and its files are others now; give --key, or remove the signature")
    signature = _signature_of(listed, before[CHECKSUMS_SIGNATURE], key)
    return Sealed(name, _write(published, f"{PACKAGES}/{'/'.join(package)}/", before, (listed, signature)), digest)


async def _seal_channel(
    published: PublishedDirectory,
    source: DirectorySource,
    name: str,
    key: SigningKey | None,
    digests: Mapping[str, Mapping[str, str]],
) -> Sealed:
    """Raises PackageError, OSError."""
    text, before = await source.read_channel(name), await source.read_channel_signature(name)
    channel, signed = parse_channel(name, text), name + SIGNATURE_SUFFIX
    _require_digests(channel, digests)
    signature = _signature_of(text.encode(), before, key)
    unpinned = [f"{entry.name} {entry.version}".strip() for entry in channel.entries if not entry.digest]
    written = _write(published, "", {signed: before}, (signature,))
    return Sealed(f"channel {name}", written, unpinned=tuple(unpinned) if signature else ())


def _require_digests(channel: Channel, digests: Mapping[str, Mapping[str, str]]) -> None:
    """Raise PackageError for an entry with another digest than its package has, by component and version."""
    for component, known in digests.items():
        for index, entry in contradicted_entries(channel, component, known):
            problem = f"{component} {entry.version} has the digest {known[entry.version]}; correct the channel"
            raise PackageError("DigestMismatch", f"channel '{channel.name}': manifests[{index}].digest: {problem}")


def _list_of(name: str, files: dict[str, bytes], before: bytes) -> bytes:
    """The list of checksums: the present one if it is right, in whatever order."""
    checksums = compute_checksums(files)
    try:
        is_right = bool(before) and parse_checksums(name, before) == checksums
    except PackageError:
        is_right = False
    return before if is_right else render_checksums(checksums)


def _signature_of(text: bytes, before: bytes, key: SigningKey | None) -> bytes:
    """The signature of a text: the present one if the key has made it. Without a key none, or the present one, of
    which only its maker knows whether it is right."""
    if key is None:
        return before
    return before if key.has_signed(text, before) else key.sign(text)


def _write(
    published: PublishedDirectory, prefix: str, before: dict[str, bytes], contents: tuple[bytes, ...]
) -> tuple[str, ...]:
    """Write what has changed, and return the names."""
    changed = {name: data for (name, old), data in zip(before.items(), contents, strict=True) if data != old}
    for name, data in changed.items():
        published.write(prefix + name, data)
    return tuple(changed)
