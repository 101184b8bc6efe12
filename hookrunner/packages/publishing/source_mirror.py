"""Copies packages and channels of a source, with their lists and signatures: `hookrunner addon mirror`.

    request = MirrorRequest("coredns", ("1.14.6",), ("stable",))
    target = DirectoryTarget.opened(Path("/srv/mirror"))                # or nullcontext(RegistryTarget(…))
    async for mirrored in mirror(source, [request], target): ...        # Mirrored("coredns 1.14.6", True, …)

Lists, signatures and channels are copied byte for byte, and a package without a list gets the computed one: a mirror on
a web server has to list its files. So digests and signatures are the same there. Packages are copied before the
channels that lead to them; so however it ends, no channel of the mirror leads to what is only half there. What is there
already is compared and left alone: a mirror is continued by the same command.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from hookrunner.errors import BadInput
from hookrunner.packages.channels import Channel, parse_channel
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    Seal,
    compute_checksums,
    refusal,
    render_checksums,
)
from hookrunner.packages.source_locations import PackageSource
from kubetypes.light_dataclasses import dataclass


class MirrorTarget(Protocol):
    """Where to copy to. What is there already is left alone. Everything raises PackageError, BadInput, OSError."""

    async def put_package(self, package: Package, lists: Mapping[str, bytes]) -> bool:
        """Whether anything of a package, its list of checksums and the signature of that had to be written. Raises
        BadInput for another package under the same version."""
        ...

    async def put_channel(self, name: str, text: bytes, signature: bytes) -> bool:
        """Whether anything of a channel and its signature, which may be empty, had to be written."""
        ...

    async def has_package(self, component: str, version: str) -> bool:
        """Whether a package is there."""
        ...


def refuse_other(place: Path | str, package: Package) -> BadInput:
    """The error for another package that is there under the same version."""
    text = f"is another package than {package} of the source; a version keeps its package: remove one of them"
    return BadInput(f"{place} {text}")


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


async def mirror(
    source: PackageSource, requests: Sequence[MirrorRequest], target: AbstractContextManager[MirrorTarget]
) -> AsyncIterator[Mirrored]:
    """Copy, and yield what was done; the target is opened when the channels are read. Raises PackageError for what the
    source does not have or is not verified and for a registry that cannot be written, BadInput for a directory that
    cannot be written, and for another package under the same version."""
    channels = await _read_channels(source, [name for request in requests for name in request.channels])
    packages = list(dict.fromkeys(package for request in requests for package in _packages(request, channels)))
    total, components = len(packages) + len(channels), {request.component for request in requests}
    with target as opened:
        for number, (component, version) in enumerate(packages, 1):
            was_written, digest = await _copy_package(opened, source, component, version)
            yield Mirrored(f"{component} {version}", number, total, was_written, digest)
        for number, (name, read) in enumerate(channels.items(), len(packages) + 1):
            was_written = await opened.put_channel(name, read.text.encode(), read.signature)
            missing = await _missing(opened, read.channel, components)
            yield Mirrored(f"channel {name}", number, total, was_written, missing=missing)


class _ReadChannel(NamedTuple):
    """A channel as it was read at one time, its text, and its signature, empty without one."""

    channel: Channel
    text: str
    signature: bytes


async def _read_channels(source: PackageSource, names: Sequence[str]) -> dict[str, _ReadChannel]:
    """The channels, of one commit if they are in git: after a push in between all are read again. Raises
    PackageError."""
    while True:
        channels, commits = dict[str, _ReadChannel](), set[str]()
        for name in names:
            channels[name] = await _read_channel(source, name)
            commits.add(source.commit)
        if len(commits) <= 1:
            return channels


async def _read_channel(source: PackageSource, name: str) -> _ReadChannel:
    """Raises PackageError. The signature is read at once: minutes later, when packages are copied, it may be that of
    another text."""
    text = await source.read_channel(name)
    channel = parse_channel(name, text, source.location)
    return _ReadChannel(channel, text, await source.read_channel_signature(name))


def _packages(request: MirrorRequest, channels: dict[str, _ReadChannel]) -> list[tuple[str, str]]:
    """Component and version of each package to copy. Raises BadInput without any."""
    read = [channels[name].channel for name in request.channels]
    named = [entry.version for channel in read for entry in channel.entries_of(request.component)]
    if not (versions := request.versions or named):
        names = ", ".join(request.channels) or "none"
        raise BadInput(f"no version of {request.component} is in the channels ({names}); name one: ADDON@VERSION")
    return [(request.component, version) for version in versions]


async def _copy_package(target: MirrorTarget, source: PackageSource, component: str, version: str) -> tuple[bool, str]:
    """Whether anything was written, and the digest. Raises PackageError, BadInput, OSError."""
    seal, package = await source.read_seal(component, version), await source.read_package(component, version)
    if seal.digest not in ("", package.digest):
        raise refusal(str(package), "DigestMismatch", "it has changed while it was read; run the same command again")
    return await target.put_package(package, _lists_of(package, seal)), package.digest


def _lists_of(package: Package, seal: Seal) -> dict[str, bytes]:
    """The list of checksums and its signature, as far as there is one."""
    if not seal.text:
        return {CHECKSUMS: render_checksums(compute_checksums(package.files))}
    return {CHECKSUMS: seal.text} | ({CHECKSUMS_SIGNATURE: seal.signature} if seal.signature else {})


async def _missing(target: MirrorTarget, channel: Channel, components: set[str]) -> tuple[str, ...]:
    """The packages of these components to which a channel leads and that are not in the mirror."""
    named = {(component, entry.version) for component in components for entry in channel.entries_of(component)}
    return tuple([" ".join(package) for package in sorted(named) if not await target.has_package(*package)])
