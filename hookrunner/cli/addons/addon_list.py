"""`hookrunner addon list`, `versions` and `crd`: what addons in files offer."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.offered_versions import Offer, read_offer
from hookrunner.cli.addons.addon_options import AddonFiles, directory_paths, for_a_cluster, of_files, read_files
from hookrunner.cli.output import echo, echo_json, echo_styled, show, style
from hookrunner.cli.shared import run_to_end
from hookrunner.model.addons import Addon
from hookrunner.model.releases import Capabilities
from hookrunner.packages.names import is_channel
from hookrunner.testing.addons.addon_cases import objects_as_yaml
from hookrunner.testing.display import as_yaml
from kubetypes.json_values import JSON

_LIST_TITLES = ("ADDON", "KIND", "GROUP", "CHANNEL", "INSTANCES", "DESCRIPTION")
_VERSION_TITLES = ("VERSION", "KUBERNETES", "FITS", "CHANNELS", "DIGEST")
_SHORT_DIGEST = 19


def _names(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """For completion: the addons in the directories of --addons-dir."""
    with suppress(Exception):  # an error message would break the completion
        files = read_files(directory_paths(ctx.params.get("directories") or ()))
        return [addon.name for addon in files.catalog.addons if addon.name.startswith(typed)]
    return []


@click.command("list")
@of_files
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True, help="Its form."
)
def addon_list(files: AddonFiles, output: str) -> None:
    """Show the addons in directories, and those that cannot be offered, with the reason.

    \b
    hookrunner addon list --addons-dir addons
    hookrunner addon list --addons-dir addons -o json | jq -r '.addons[].name'
    """
    document = {
        "addons": [_addon_row(addon) for addon in files.catalog.addons],
        "rejected": [{"name": addon.name, "problem": addon.problem} for addon in files.catalog.rejected],
    }
    if output == "json":
        echo_json(document)
    elif output == "yaml":
        show(as_yaml(document))
    else:
        rows = [tuple(map(str, row.values())) for row in document["addons"]]
        echo_styled(to_table(_LIST_TITLES, rows))
        for addon in files.catalog.rejected:
            echo(f"rejected: {addon.name}: {addon.problem}", err=True)


def _addon_row(addon: Addon) -> dict[str, str]:
    return {
        "name": addon.name,
        "kind": addon.object.kind,
        "group": addon.object.group,
        "channel": addon.defaults.channel,
        "instances": addon.instances,
        "description": addon.description,
    }


@click.command("versions")
@click.argument("name", metavar="ADDON", shell_complete=_names)
@of_files
@for_a_cluster
@click.option(
    "--channel", "channels", multiple=True, metavar="NAME", help="Look at this channel, too, where none can be listed."
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def addon_versions(
    name: str, files: AddonFiles, capabilities: Capabilities, channels: tuple[str, ...], output: str
) -> None:
    """Show the versions that an addon has packages of, and the channels that lead to them.

    \b
    hookrunner addon versions coredns --addons-dir addons
    hookrunner addon versions kube-proxy --addons-dir addons --kube-version 1.33   which fit this cluster
    hookrunner addon versions coredns --addons-dir addons -o json | jq -r .channels.stable
    """
    addon = files.named(name)
    names = dict.fromkeys((addon.defaults.channel, *channels, *_channels_of(files, addon)))
    work = read_offer(addon, files.source_of(addon), list(names), capabilities.kube_version)
    offer = run_to_end(work)
    if output == "json":
        echo_json(offer.as_json())
        return
    echo_styled(to_table(_VERSION_TITLES, list(_version_rows(offer))))
    for problem in (*offer.problems.values(), *(version.problem for version in offer.versions if version.problem)):
        echo(problem, err=True)


def _channels_of(files: AddonFiles, addon: Addon) -> list[str]:
    """The channels in a directory of packages."""
    directory = Path(files.source_of(addon).location)
    paths = sorted(directory.iterdir()) if directory.is_dir() else []
    return [path.name for path in paths if is_channel(path.name) and path.is_file()]


def _version_rows(offer: Offer) -> Iterator[tuple[str, ...]]:
    for version in offer.versions:
        channels = [name for name, chosen in offer.channels.items() if chosen == version.version]
        fits = "invalid" if version.problem else "yes" if version.fits else "no"
        yield version.version, version.kubernetes, fits, ",".join(channels), version.digest[:_SHORT_DIGEST]


@click.command("crd")
@click.argument("names", metavar="[ADDON]...", nargs=-1, shell_complete=_names)
@of_files
def addon_crd(names: tuple[str, ...], files: AddonFiles) -> None:
    """Print the definitions of the addons' kinds, for clusters in which hookrunner may not apply them.

    \b
    hookrunner addon crd --addons-dir addons | kubectl apply --server-side -f -
    hookrunner addon crd coredns --addons-dir addons
    """
    addons = [files.named(name) for name in names] or list(files.catalog.addons)
    definitions: list[JSON] = [definition for addon in addons for definition in read_definitions(addon)]
    show(objects_as_yaml(definitions))


def to_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, for `echo_styled`."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    head, *body = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (titles, *rows)
    )
    return "\n".join((style(head, bold=True), *map(style, body)))
