"""The objects of instances, made of files alone: `hookrunner addon render FILE --addons-dir DIR`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner.cli.addons.addon_options import AddonFiles, GivenCluster, given_cluster, read_files
from hookrunner.cli.addons.addon_sources import AddonDirectories, ClusterFlags
from hookrunner.cli.output import echo, echo_styled, show, styled, to_list
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cli.sources import DIFFERENT
from hookrunner.errors import BadInput
from hookrunner.testing import manifests
from hookrunner.testing.addons.addon_bench import BuiltInstance, addon_bench
from hookrunner.testing.addons.addon_cases import objects_as_yaml
from hookrunner.testing.cases.expectations import projected
from hookrunner.testing.cases.object_changes import object_id, shown
from hookrunner.testing.display import yaml_diff
from kubetypes.json_values import JSON


def run(source: AddonDirectories, names: Sequence[str], cluster: ClusterFlags, *, diff: bool, output: str) -> int:
    """Print the objects of the instances in these files, or how they differ from the cluster's. Returns the exit code.
    Raises HookrunnerError for the first instance that is refused."""
    files = read_files(source, {"addon-patches": cluster.patches} if cluster.patches else {})
    given = given_cluster(cluster)
    built = build_instances(files, names, given)
    objects = [obj for instance in built for obj in instance.objects]
    if diff:
        return _show_difference(objects, given.objects)
    show(to_list(objects) if output == "json" else objects_as_yaml(objects))
    return 0


def build_instances(files: AddonFiles, names: Sequence[str], given: GivenCluster) -> list[BuiltInstance]:
    """Build the instances in these files, and print the notes on standard error. Raises HookrunnerError for the first
    that is refused."""
    instances = manifests.load(names, Path())
    if not instances:
        raise BadInput(f"{' '.join(names)}: no object is in it; write an instance of an addon")
    built = run_to_end(_build(files, instances, given))
    for instance in built:
        for note in instance.notes:
            echo(f"note: {note}", err=True)
    return built


def to_objects(manifest: str) -> list[JSON]:
    """The objects of a manifest. Raises BadInput."""
    return manifests.objects(manifest.encode(), "the manifest")


async def _build(files: AddonFiles, instances: Sequence[JSON], cluster: GivenCluster) -> list[BuiltInstance]:
    """Raises HookrunnerError for the first instance that is refused."""
    with quiet():
        async with addon_bench(files.settings, files.catalog, files.source_of) as bench:
            return [await bench.build(instance, cluster.objects, cluster.capabilities) for instance in instances]


def _show_difference(objects: Sequence[JSON], cluster: Sequence[JSON]) -> int:
    """Print how the objects differ from those of the same names in the cluster. Returns the exit code."""
    lines = list(_difference(objects, cluster))
    for line in styled(lines):
        echo_styled(line)
    return DIFFERENT if lines else 0


def _difference(objects: Sequence[JSON], cluster: Sequence[JSON]) -> Iterator[str]:
    """The lines of a diff. Of an object in the cluster only the fields count that the desired one sets."""
    live = {object_id(obj): obj for obj in cluster if "apiVersion" in obj}
    for desired in objects:
        identity = object_id(desired)
        present = projected(live[identity], desired) if identity in live else None
        title = shown(identity)
        yield from yaml_diff(present, desired, title if present else "(nothing)", title)
