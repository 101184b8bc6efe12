"""`hookrunner addon render`: the objects of instances, made of files alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import orjson

from hookrunner.cli.addons.addon_options import AddonFiles, GivenCluster, in_a_cluster, of_files
from hookrunner.cli.output import echo, echo_styled, show, styled
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.errors import BadInput
from hookrunner.testing import manifests
from hookrunner.testing.addons.addon_bench import BuiltInstance, addon_bench
from hookrunner.testing.addons.addon_cases import object_id, objects_as_yaml, shown
from hookrunner.testing.cases.expectations import projected
from hookrunner.testing.display import yaml_diff
from kubetypes.json_values import JSON

_CHANGED = 3
"""The exit code of `--diff` if something would change."""


@click.command("render")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@of_files
@in_a_cluster
@click.option("--diff", is_flag=True, help="Show what differs from the objects of --given; exit code 3 if any do.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def addon_render(names: tuple[str, ...], files: AddonFiles, cluster: GivenCluster, diff: bool, output: str) -> int:
    """Print the objects for the instances in FILE (`-` is standard input), without a cluster and without a network.

    \b
    hookrunner addon render addons/coredns/example.yaml --addons-dir addons
    hookrunner addon render coredns.yaml --addons-dir addons --given services.yaml   hooks see these objects
    hookrunner addon render coredns.yaml --addons-dir addons --kube-version 1.31 -o json
    kubectl get deploy,cm,svc -A -o yaml | hookrunner addon render coredns.yaml --addons-dir addons --given - --diff

    Hooks run, and find the objects of --given as the cluster. Notes go to standard error. It ends with 0; with 1 if the
    instance would be refused; with 3 if --diff shows that something would change.
    """
    instances = manifests.load(names, Path())
    if not instances:
        raise BadInput(f"{' '.join(names)}: no object is in it; write an instance of an addon")
    built = run_to_end(_build(files, instances, cluster))
    for instance in built:
        for note in instance.notes:
            echo(f"note: {note}", err=True)
    objects = [obj for instance in built for obj in instance.objects]
    if diff:
        return _show_difference(objects, cluster.objects)
    show(_as_list(objects) if output == "json" else objects_as_yaml(objects))
    return 0


async def _build(files: AddonFiles, instances: Sequence[JSON], cluster: GivenCluster) -> list[BuiltInstance]:
    """Raises HookrunnerError for the first instance that is refused."""
    with quiet():
        async with addon_bench(files.settings, files.catalog, files.source_of) as bench:
            return [await bench.build(instance, cluster.objects, cluster.capabilities) for instance in instances]


def _as_list(objects: Sequence[JSON]) -> str:
    """A `v1` `List`, as kubectl reads it."""
    return orjson.dumps(
        {"apiVersion": "v1", "kind": "List", "items": list(objects)}, option=orjson.OPT_INDENT_2
    ).decode()


def _show_difference(objects: Sequence[JSON], cluster: Sequence[JSON]) -> int:
    """Print how the objects differ from those of the same names in the cluster. Returns the exit code."""
    lines = list(_difference(objects, cluster))
    for line in styled(lines):
        echo_styled(line)
    return _CHANGED if lines else 0


def _difference(objects: Sequence[JSON], cluster: Sequence[JSON]) -> Iterator[str]:
    """The lines of a diff. Of an object in the cluster only the fields count that the desired one sets."""
    live = {object_id(obj): obj for obj in cluster if "apiVersion" in obj}
    for desired in objects:
        identity = object_id(desired)
        present = projected(live[identity], desired) if identity in live else None
        title = shown(identity)
        yield from yaml_diff(present, desired, title if present else "(nothing)", title)
