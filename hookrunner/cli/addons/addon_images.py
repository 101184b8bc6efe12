"""`hookrunner addon images FILE…`: which images instances need, for a tool that copies them to another registry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import click

from hookrunner.cli.addons.addon_options import given_cluster, read_files
from hookrunner.cli.addons.addon_rendering import build_instances
from hookrunner.cli.addons.addon_sources import ADDONS_DIR, AddonDirectories, ClusterFlags, Source, sourced, with_given
from hookrunner.cli.output import echo, echo_json
from hookrunner.errors import BadInput
from hookrunner.manifests.images import images_of, redirected
from hookrunner.testing.addons.addon_bench import BuiltInstance

_Needed: TypeAlias = Mapping[str, list[str]]
"""The instances that need an image, by image."""


@click.command("images")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@sourced
@with_given
@click.option(
    "--private-registry",
    "registry",
    metavar="HOST[/PATH]",
    default="",
    help="Show the copy of each image in this registry, as `hookrunner start` makes objects name it.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def addon_images(names: tuple[str, ...], source: Source, cluster: ClusterFlags, registry: str, output: str) -> None:
    """List the images that the instances in FILE need, without a cluster and without a network.

    \b
    hookrunner addon images coredns.yaml --addons-dir addons
    hookrunner addon images *.yaml --addons-dir addons --private-registry registry.internal:5000/addons |
      while read -r from to; do skopeo copy --all "docker://$from" "docker://$to"; done

    They are those of the objects that `addon render` prints: of Pods, of all that makes Pods, and of volumes. An image
    that stands in an argument of a program or in a custom object is not among them. With --private-registry each line
    has the image and its copy; two images that would have the same copy are refused.
    """
    if not isinstance(source, AddonDirectories):
        raise click.UsageError(f"images are those of files: give {ADDONS_DIR} DIR")
    flags = {"addon-patches": cluster.patches or "", "private-registry": registry}
    files = read_files(source, {flag: text for flag, text in flags.items() if text})
    addons = files.settings.addons
    own = replace(files, settings=replace(files.settings, addons=replace(addons, private_registry="")))
    needed = _needed_by(build_instances(own, names, given_cluster(cluster)))
    copies = _copies(needed, addons.private_registry) if addons.private_registry else {}
    if output == "json":
        rows = [{"image": image, "copy": copies.get(image, ""), "instances": needed[image]} for image in needed]
        echo_json({"images": rows})
        return
    for image in needed:
        echo(f"{image} {copies[image]}" if copies else image)


def _needed_by(built: Iterable[BuiltInstance]) -> _Needed:
    """Sorted by image."""
    needed: dict[str, list[str]] = {}
    for instance in built:
        for image in images_of((*instance.objects, *instance.helm_hooks)):
            needed.setdefault(image, []).append(instance.name)
    return {image: needed[image] for image in sorted(needed)}


def _copies(images: Sequence[str] | _Needed, registry: str) -> Mapping[str, str]:
    """Where each image is in a registry. Raises BadInput if two would be in one place."""
    originals: dict[str, str] = {}
    for image in images:
        copy = redirected(image, registry)
        if (other := originals.setdefault(copy, image)) != image:
            raise BadInput(f"{other} and {image} would both be {copy}; use a private registry for one of the instances")
    return {image: copy for copy, image in originals.items()}
