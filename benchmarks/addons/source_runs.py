"""What the runs of instances cost with their package from each kind of source: 50 instances, whose package of 20 files
is pinned, cached and unchanged, and in whose spec a field changes that none of their objects shows.

Servers answer in this process or in processes of their own, so that what is measured is hookrunner alone.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.addons.many import wait_until_finished
from benchmarks.addons.unit_files import ADDON, VERSION, instance
from benchmarks.addons.units import Instances, Units
from benchmarks.cluster import Cluster
from benchmarks.programs import Program, Running
from benchmarks.scenarios import Bed, Figures
from hookrunner.packages.package import parse_package
from hookrunner.packages.source_locations import ClusterLocation
from tests.packages.git_place import git_place
from tests.packages.oci.oci_places import RegistryPlace
from tests.packages.oci.registry_server import REPOSITORY, registry_server
from tests.packages.places import ClusterPlace, DirectoryPlace, Place, with_checksums
from tests.packages.web_place import web_place

_FILES = 20
_ROUNDS = 3


async def source_runs(bed: Bed, program: Program) -> Figures:
    """Seconds of CPU of a run with its package from a `directory`; the same from a web server (`https`), from `git`, a
    `registry` and ConfigMaps (`objects`) by that."""
    units = Units(bed, bed.new_directory(), await bed.new_namespace(), bed.sizes.units)
    contestant = Instances(units)
    await contestant.create(program)
    package = units.directory / "addons" / ADDON / "channels" / "packages" / ADDON / VERSION
    files = _write_twenty(package)
    seconds: Figures = {}
    async with _locations(bed.new_directory(), files, units) as locations:
        for _ in range(_ROUNDS):
            for name, location in locations.items():
                variables = {"HOOKRUNNER_ADDON_VERIFY": "off", **location}
                seconds.setdefault(name, []).append(await _measure(contestant, program, variables))
    await units.clear()
    base = median(seconds["directory"])
    ratios = {name: [each / base for each in seconds[name]] for name in seconds if name != "directory"}
    return {"directory": seconds["directory"]} | ratios


def _write_twenty(package: Path) -> dict[str, bytes]:
    """Add to a package until it has 20 files, its checksums among them; all of it."""
    present = {str(path.relative_to(package)): path.read_bytes() for path in package.rglob("*") if path.is_file()}
    more = {f"templates/_{number:02}.tpl": b"{{/* %s */}}\n" % (b"x" * 2000) for number in range(_FILES)}
    files = with_checksums(present | dict([*more.items()][: _FILES - 1 - len(present)]))
    DirectoryPlace(package.parents[2]).put_package(ADDON, VERSION, files)
    return files


async def _measure(contestant: Instances, program: Program, variables: Mapping[str, str]) -> float:
    """Seconds of CPU of one run, of one for each instance."""
    units = contestant.units
    with contestant.start(program, variables) as operator:
        await wait_until_finished(contestant, operator)
        await contestant.settle()
        seconds = [await _change_all(contestant, operator, timeout) for timeout in ("7m", "8m")]
    return seconds[-1] / units.count


async def _change_all(contestant: Instances, operator: Running, timeout: str) -> float:
    """Seconds of CPU from a change of each instance until each has run. The first time there is more to do."""
    before, runs = operator.cpu_seconds(), sum(line.word == "done" for line in operator.lines())
    for name in contestant.units.names:
        path = f"{contestant.path}/{instance(name)}"
        await contestant.units.bed.cluster.merge(path, {"spec": {"timeout": timeout}})
    await operator.wait(runs + contestant.units.count, "done")
    return operator.cpu_seconds() - before


@asynccontextmanager
async def _locations(root: Path, files: Mapping[str, bytes], units: Units) -> AsyncIterator[dict[str, dict[str, str]]]:
    """By the kind of source the variables that lead hookrunner there."""
    digest = parse_package(ADDON, VERSION, files).digest
    channel = f"manifests: [{{name: {ADDON}, version: {VERSION}, digest: '{digest}'}}]\n".encode()
    for name in ("https", "git"):
        (root / name).mkdir(parents=True)
    location = ClusterLocation("ConfigMap", units.namespace)
    posted: Any = _Posted()
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(web_place(root / "https"))
        git = await stack.enter_async_context(git_place(root / "git"))
        registry = await stack.enter_async_context(registry_server())
        objects = ClusterPlace(posted, posted, location)
        places: tuple[Place, ...] = (web, git, RegistryPlace(registry, "files"), objects)
        for place in places:
            place.put_package(ADDON, VERSION, files)
            place.put_channel("stable", channel)
        await posted.post(units.bed.cluster, units.namespace)
        registry_url = f"oci+http://{registry.url.partition('://')[2]}/{REPOSITORY}"
        yield {
            "directory": {},
            "https": _variables(web.base, root / "https"),
            "git": _variables(f"git::{git.url}", root / "git"),
            "registry": _variables(registry_url),
            "objects": _variables(str(location)),
        }


def _variables(location: str, trusted: Path | None = None) -> dict[str, str]:
    trust = {"SSL_CERT_FILE": str(trusted / "web.crt")} if trusted else {}
    return {"HOOKRUNNER_ADDON_SOURCE": location, **trust}


class _Posted:
    """ConfigMaps that are to be created, in place of an API server."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}

    def put(self, obj: dict[str, Any]) -> None:
        self._objects[obj["metadata"]["name"]] = obj

    async def post(self, cluster: Cluster, namespace: str) -> None:
        for obj in self._objects.values():
            await cluster.post(f"/api/v1/namespaces/{namespace}/configmaps", obj)
