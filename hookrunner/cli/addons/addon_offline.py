"""What `hookrunner addon list`, `versions` and `crd` say of addons in files, in the form of the debug endpoint."""

from collections.abc import Sequence

import click

from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.offered_versions import read_offer
from hookrunner.cli.addons.addon_options import given_cluster, read_files
from hookrunner.cli.addons.addon_sources import AddonDirectories, ClusterFlags, Source, sourced
from hookrunner.cli.addons.instance_targets import complete_addons
from hookrunner.cli.output import show, to_json
from hookrunner.cli.shared import run_to_end
from hookrunner.testing.addons.addon_cases import objects_as_yaml
from hookrunner.testing.display import as_yaml
from kubetypes.json_values import JSON


def listed(source: AddonDirectories, form: str) -> str:
    """The addons in directories, and those that cannot be offered with the reason, as `json` or `yaml`."""
    catalog = read_files(source).catalog
    document = {
        "addons": [addon.summary for addon in catalog.addons],
        "rejected": [addon.summary for addon in catalog.rejected],
    }
    return as_yaml(document) if form == "yaml" else to_json(document)


def versions(source: AddonDirectories, name: str, cluster: ClusterFlags, channels: Sequence[str]) -> JSON:
    """The versions of an addon and where its channels lead. Raises BadInput, PackageError."""
    files, kubernetes = read_files(source), given_cluster(cluster).capabilities.kube_version
    addon = files.named(name)
    return run_to_end(read_offer(addon, files.source_of(addon), kubernetes, channels)).as_json()


@click.command("crd")
@click.argument("names", metavar="[ADDON]...", nargs=-1, shell_complete=complete_addons)
@sourced
def addon_crd(names: tuple[str, ...], source: Source) -> None:
    """Print the definitions of the addons' kinds, for clusters in which hookrunner may not apply them.

    \b
    hookrunner addon crd --addons-dir addons | kubectl apply --server-side -f -
    hookrunner addon crd coredns --addons-dir addons
    """
    if not isinstance(source, AddonDirectories):
        raise click.UsageError("definitions are made of files: give --addons-dir DIR")
    files = read_files(source)
    addons = [files.named(name) for name in names] or list(files.catalog.addons)
    show(objects_as_yaml([definition for addon in addons for definition in read_definitions(addon)]))
