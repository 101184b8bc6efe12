"""`hookrunner addon mirror --to LOCATION ADDON[@VERSION]…`: copies packages for a place without internet."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

from hookrunner.cli.addons.addon_options import AddonFiles, read_files
from hookrunner.cli.addons.addon_sources import (
    ADDONS_DIR,
    AddonDirectories,
    ClusterFlags,
    Source,
    for_a_cluster,
    sourced,
)
from hookrunner.cli.output import echo
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cli.sources import gathered
from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.oci_locations import RegistryLocation
from hookrunner.packages.package_fetcher import SourceOpener
from hookrunner.packages.publishing.directory_target import DirectoryTarget
from hookrunner.packages.publishing.registry_target import RegistryTarget
from hookrunner.packages.publishing.source_mirror import Mirrored, MirrorRequest, MirrorTarget, mirror
from hookrunner.packages.source_assembly import open_sources
from hookrunner.packages.source_locations import DirectoryLocation, SourceLocation, locations_of, parse_location
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to copy to, and the file with the logins for that and for the source, as flags say it."""

    location: str
    credentials: str


_to_a_place = gathered(
    "place",
    (
        click.option(
            "--to", "location", metavar="LOCATION", required=True, help="Copy to a directory, or to oci://HOST/PATH."
        ),
        click.option("--addon-credentials", "credentials", metavar="FILE", default="", help="Logins of registries."),
    ),
    _Place,
)


@dataclass(frozen=True, slots=True)
class _Work:
    """What to copy, from the common source of these addons, and where to."""

    files: AddonFiles
    locations: dict[str, SourceLocation | str]
    addon: Addon
    requests: Sequence[MirrorRequest]
    target: DirectoryLocation | RegistryLocation
    kubernetes: str


@click.command("mirror")
@click.argument("names", metavar="ADDON[@VERSION]...", nargs=-1, required=True)
@_to_a_place
@click.option("--channel", "channels", multiple=True, metavar="NAME", help="Copy this channel. [default: the addon's]")
@sourced
@for_a_cluster
def addon_mirror(
    names: tuple[str, ...],
    place: _Place,
    channels: tuple[str, ...],
    source: Source,
    cluster: ClusterFlags,
) -> None:
    """Copy packages, channels and signatures of addons to a directory or a registry, for a place without internet.

    \b
    hookrunner addon mirror --to /srv/mirror/web web@1.1.0 --addons-dir addons
    hookrunner addon mirror --to /srv/mirror/web web --addons-dir addons --addon-keys release.pub    all versions
    hookrunner addon mirror --to oci://registry.internal/web web --addons-dir addons --addon-credentials login.json
    hookrunner start --addons-dir addons --addon-mirror https://example.com=file:/srv/mirror

    Without a VERSION all that the channels name are copied. Addons of one command have one source. Digests and
    signatures stay the same. The same command continues what was interrupted, and brings a mirror up to date. Images
    are not copied: `hookrunner addon images` lists them.
    """
    if not isinstance(source, AddonDirectories):
        raise click.UsageError(f"it copies what addons in files need: give {ADDONS_DIR} DIR")
    files = read_files(source, {"addon-credentials": place.credentials} if place.credentials else {})
    run_to_end(_mirror(_work(files, names, channels, place.location, cluster)))


def _work(
    files: AddonFiles, names: Sequence[str], channels: Sequence[str], target: str, cluster: ClusterFlags
) -> _Work:
    """Raises BadInput, BadSetting."""
    asked: dict[str, list[str]] = {}
    for name, _, version in (text.partition("@") for text in names):
        asked.setdefault(name, []).extend([version] if version else [])
    addons = [files.named(name) for name in asked]
    locations = locations_of(addons, files.settings.addons)
    if len(places := {str(location) for location in locations.values()}) > 1:
        raise BadInput(
            f"the addons have several sources ({', '.join(sorted(places))}); copy each to a directory of its own"
        )
    requests = [
        MirrorRequest(addon.component, tuple(asked[addon.name]), tuple(channels) or (addon.defaults.channel,))
        for addon in addons
    ]
    kubernetes = stock_capabilities(cluster.version, cluster.api_versions).kube_version
    location = _parse_target(target, plain_http=files.settings.addons.verify == "off")
    return _Work(files, locations, addons[0], requests, location, kubernetes)


def _parse_target(target: str, plain_http: bool) -> DirectoryLocation | RegistryLocation:
    """Raises click.BadParameter."""
    try:
        location = parse_location(target, Path.cwd(), plain_http)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from None
    if not isinstance(location, DirectoryLocation | RegistryLocation):
        text = f"{location} is no directory and no registry; copy to a directory, and publish that"
        raise click.BadParameter(text, param_hint="--to")
    return location


async def _mirror(work: _Work) -> None:
    settings = work.files.settings
    with quiet():
        async with open_sources(settings, work.locations, None) as opener:
            source = opener.open(work.addon.name, work.kubernetes)
            async for mirrored in mirror(source, work.requests, _open_target(work, opener)):
                _show(mirrored)


def _open_target(work: _Work, opener: SourceOpener) -> AbstractContextManager[MirrorTarget]:
    """Where to copy to. A registry is asked with the limits and logins of sources."""
    if isinstance(work.target, DirectoryLocation):
        return DirectoryTarget.opened(work.target.path)
    return nullcontext(RegistryTarget(opener.registries.open(work.target.at(work.kubernetes)), opener.timeout))


def _show(mirrored: Mirrored) -> None:
    done = "copied" if mirrored.was_written else "unchanged"
    echo(f"[{mirrored.number}/{mirrored.total}] " + ": ".join(filter(None, (mirrored.name, done, mirrored.digest))))
    if mirrored.missing:
        echo(f"note: {mirrored.name} leads to what the mirror lacks: {', '.join(mirrored.missing)}", err=True)
