"""What an addon's source offers: its channels, and the versions that have a package, with whether each fits a cluster.

    offer = await read_offer(addon, source, "v1.34.1", channels=("next",))
    offer.as_json()

For people and tools; an instance's version is chosen by `version_resolver.py`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hookrunner.errors import PackageError
from hookrunner.model.addons import Addon
from hookrunner.packages.channels import PARSING, choose_entry, is_kubernetes_in, parse_channel, version_order
from hookrunner.packages.directory_source import list_channels
from hookrunner.packages.source_locations import PackageSource
from hookrunner.process.pure_calls import call_by_size
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_MOST = 100
"""Versions that are looked at: a channel may name thousands."""
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class OfferedVersion:
    """One version. `kubernetes` is the range of its package, empty for any; `problem` is why the package cannot
    be used, whatever the cluster."""

    version: str
    kubernetes: str = ""
    digest: str = ""
    fits: bool = False
    problem: str = ""

    def as_json(self) -> JSON:
        """As a document; `problem` only if there is one."""
        return {key: value for key, value in asdict(self).items() if value or key != "problem"}


@dataclass(frozen=True, slots=True)
class Offer:
    """`channels` has the version that each channel leads to on this cluster; `problems` why a channel leads to none."""

    addon: str
    component: str
    channels: dict[str, str]
    problems: dict[str, str]
    versions: tuple[OfferedVersion, ...]

    def as_json(self) -> JSON:
        """As a document."""
        return asdict(self) | {"versions": [version.as_json() for version in self.versions]}


async def read_offer(
    addon: Addon, source: PackageSource, kubernetes: str, channels: Sequence[str] = (), installed: Sequence[str] = ()
) -> Offer:
    """Read versions, the newest first, and channels: the addon's usual one, those in a directory, where they can
    be listed, and these. A web server lists no versions: then they are those that the channels name, and the installed
    ones. Raises PackageError if the source cannot list versions."""
    chosen, problems, named = dict[str, str](), dict[str, str](), set(installed)
    listed = await asyncio.to_thread(list_channels, Path(source.location))
    for name in dict.fromkeys((addon.defaults.channel, *channels, *listed)):
        try:
            text = await source.read_channel(name)
            server = source.location if source.is_remote else ""
            channel = await call_by_size(len(text), PARSING, parse_channel, name, text, server)
            named |= {entry.version for entry in channel.entries_of(addon.component)}
            chosen[name] = choose_entry(channel, addon.component, kubernetes).version
        except PackageError as error:
            problems[name] = str(error)
    names = await source.list_versions(addon.component) or sorted(sorted(named), key=version_order, reverse=True)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def read(version: str) -> OfferedVersion:
        async with slots:
            return await _read_version(addon, source, version, kubernetes)

    versions = await asyncio.gather(*map(read, names[:_MOST]))
    return Offer(addon.name, addon.component, chosen, problems, tuple(versions))


async def _read_version(addon: Addon, source: PackageSource, version: str, kubernetes: str) -> OfferedVersion:
    try:
        package = await source.read_package(addon.component, version)
    except PackageError as error:
        return OfferedVersion(version, problem=str(error))
    wanted = package.traits.kubernetes
    fits = is_kubernetes_in(kubernetes, wanted) and is_kubernetes_in(kubernetes, addon.requires.kubernetes)
    return OfferedVersion(version, wanted, package.digest, fits)
