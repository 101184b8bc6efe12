"""Copies packages and channels of a source, with their lists and signatures, to a directory: `hookrunner addon mirror`.

    request = MirrorRequest("coredns", ("1.14.6",), ("stable",))
    async for mirrored in mirror(source, [request], Path("/srv/mirror")): ...    # Mirrored("coredns 1.14.6", True, …)

Lists, signatures and channels are copied byte for byte, and a package without a list gets the computed one: a mirror on
a web server has to list its files. So digests and signatures are the same there. Packages are copied before the
channels that lead to them; so however it ends, no channel of the mirror leads to what is only half there. What is there
already is compared and left alone: a mirror is continued by the same command.
"""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.channels import Channel, parse_channel
from hookrunner.packages.directory_source import PACKAGES, DirectorySource
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    SIGNATURE_SUFFIX,
    Seal,
    compute_checksums,
    refusal,
    render_checksums,
)
from hookrunner.packages.publishing.published_directory import PublishedDirectory
from hookrunner.packages.source_locations import PackageSource
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MirrorRequest:
    """What to copy of one component: its versions, without any all that the channels name, and the channels."""

    component: str
    versions: tuple[str, ...]
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What was done to one package or channel; `number` of `total`. `missing` are the packages, as `coredns 1.15.0`, to
    which a channel leads and which the mirror lacks."""

    name: str
    number: int
    total: int
    was_written: bool
    digest: str = ""
    missing: tuple[str, ...] = ()


async def mirror(source: PackageSource, requests: Sequence[MirrorRequest], target: Path) -> AsyncIterator[Mirrored]:
    """Copy, and yield what was done. Raises PackageError for what the source does not have or is not verified,
    BadInput for a directory that cannot be written, or that has another package under the same version."""
    channels = {name: await _read_channel(source, name) for request in requests for name in request.channels}
    packages = list(dict.fromkeys(package for request in requests for package in _packages(request, channels)))
    total, components = len(packages) + len(channels), {request.component for request in requests}
    with PublishedDirectory.opened(target) as published:
        for number, (component, version) in enumerate(packages, 1):
            was_written, digest = await _copy_package(published, source, component, version)
            yield Mirrored(f"{component} {version}", number, total, was_written, digest)
        for number, (name, text) in enumerate(channels.items(), len(packages) + 1):
            was_written = await _copy_channel(published, source, name, text)
            missing = _missing(target, parse_channel(name, text), components)
            yield Mirrored(f"channel {name}", number, total, was_written, missing=missing)


async def _read_channel(source: PackageSource, name: str) -> str:
    """A channel's text, which can be used. Raises PackageError."""
    text = await source.read_channel(name)
    parse_channel(name, text, source.location)
    return text


def _packages(request: MirrorRequest, channels: dict[str, str]) -> list[tuple[str, str]]:
    """Component and version of each package to copy. Raises BadInput without any."""
    read = [parse_channel(name, channels[name]) for name in request.channels]
    named = [entry.version for channel in read for entry in channel.entries_of(request.component)]
    if not (versions := request.versions or named):
        names = ", ".join(request.channels) or "none"
        raise BadInput(f"no version of {request.component} is in the channels ({names}); name one: ADDON@VERSION")
    return [(request.component, version) for version in versions]


async def _copy_package(
    published: PublishedDirectory, source: PackageSource, component: str, version: str
) -> tuple[bool, str]:
    """Whether anything was written, and the digest. Raises PackageError, BadInput, OSError."""
    seal, package = await source.read_seal(component, version), await source.read_package(component, version)
    if seal.digest not in ("", package.digest):
        raise refusal(str(package), "DigestMismatch", "it has changed while it was read; run the same command again")
    lists = _lists_of(package, seal)
    if not (published.root / PACKAGES / component / version).exists():
        published.write_package(component, version, {**package.files, **lists})
        return True, package.digest
    return await _complete_package(published, package, lists), package.digest


def _lists_of(package: Package, seal: Seal) -> dict[str, bytes]:
    """The list of checksums and its signature, as far as there is one."""
    if not seal.text:
        return {CHECKSUMS: render_checksums(compute_checksums(package.files))}
    return {CHECKSUMS: seal.text} | ({CHECKSUMS_SIGNATURE: seal.signature} if seal.signature else {})


async def _complete_package(published: PublishedDirectory, package: Package, lists: dict[str, bytes]) -> bool:
    """Whether the list or the signature of a package that the mirror has was written. Raises BadInput for another
    package, or for one that is damaged."""
    place = f"{PACKAGES}/{package.component}/{package.version}"
    try:
        present = await DirectorySource(published.root).read_files(package.component, package.version)
        same = {path: data for path, data in present.items() if path not in (CHECKSUMS, CHECKSUMS_SIGNATURE)}
    except PackageError as error:
        raise BadInput(f"{published.root / place} cannot be used; remove it: {error}") from None
    if same != package.files:
        text = f"is another package than {package} of the source; a version keeps its package: remove one of them"
        raise BadInput(f"{published.root / place} {text}")
    changed = {path: data for path, data in lists.items() if present.get(path) != data}
    for path, data in changed.items():
        published.write(f"{place}/{path}", data)
    return bool(changed)


async def _copy_channel(published: PublishedDirectory, source: PackageSource, name: str, text: str) -> bool:
    """Whether anything was written. The signature comes first: between the two a channel is refused, not followed."""
    signature, was_written = await source.read_channel_signature(name), False
    for path, data in ((name + SIGNATURE_SUFFIX, signature), (name, text.encode())):
        file = published.root / path
        if data and not (file.is_file() and file.read_bytes() == data):
            published.write(path, data)
            was_written = True
    return was_written


def _missing(target: Path, channel: Channel, components: set[str]) -> tuple[str, ...]:
    """The packages of these components to which a channel leads and that are not in the mirror."""
    named = {(component, entry.version) for component in components for entry in channel.entries_of(component)}
    absent = [package for package in sorted(named) if not target.joinpath(PACKAGES, *package).is_dir()]
    return tuple(" ".join(package) for package in absent)
