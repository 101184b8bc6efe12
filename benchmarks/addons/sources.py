"""What an unchanged package costs an instance's run, at each kind of source: CPU time in this process, of one fetch,
and of all that a run has to do with its source. What else a run does is the same for all sources.

Servers in this process answer; what that costs is in the figures for questions, and in that for ConfigMaps, which each
run reads.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from statistics import median
from typing import ParamSpec

from benchmarks.programs import Program
from benchmarks.scenarios import Bed, Figures
from hookrunner.addons.instance_build import ChosenPackage
from hookrunner.instances.package_choice import PackageChoice
from hookrunner.metrics.names import Metrics
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest
from hookrunner.packages.source_locations import ClusterLocation, PackageSource
from tests.instances.samples import ADDON, instance
from tests.packages.git_place import git_place
from tests.packages.oci.oci_places import LayoutPlace, RegistryPlace
from tests.packages.oci.registry_server import registry_server
from tests.packages.places import DirectoryPlace, Place, cluster_place, with_checksums
from tests.packages.web_place import web_place

_P = ParamSpec("_P")

_FILES = with_checksums(
    {f"f{number:02}.yaml": b"kind: ConfigMap\ndata: {a: %s}\n" % (b"x" * 2000) for number in range(20)}
)
_DIGEST = parse_package("coredns", "1.0", _FILES).digest
_PINNED = f"manifests: [{{name: coredns, version: '1.0', digest: '{_DIGEST}'}}]\n".encode()
_REMOTE = ("https", "git", "registry")
_FETCHES = 50
"""In one sample."""


async def sources(bed: Bed, program: Program) -> Figures:
    """Seconds of CPU for a package of 20 files that did not change, from a `directory`; the same from an image layout
    and, pinned, from the cache of a registry's packages as ratios (`layout`, `registry`); seconds of the question to
    the registry with its answer (`asked`); and what `_choices` has. The program is this one."""
    root = bed.new_directory()
    (root / "directory").mkdir(parents=True)
    (root / "layouts").mkdir()
    fetcher = PackageFetcher(PackageCache(root / "cache", 0), "digest", Metrics(""))
    async with registry_server() as registry:
        places: dict[str, Place] = {
            "directory": DirectoryPlace(root / "directory"),
            "layout": LayoutPlace(root / "layouts", is_archive=False),
            "registry": RegistryPlace(registry, "files"),
        }
        for place in places.values():
            place.put_package("coredns", "1.0", _FILES)
        in_use = [await fetcher.fetch(place.source, PackageRequest("coredns", "1.0")) for place in places.values()]
        await fetcher.hold(in_use[0])
        pinned = PackageRequest("coredns", "1.0", pin=in_use[0].digest)
        in_use.append(await fetcher.fetch(places["registry"].source, pinned))
        figures: Figures = {}
        for _ in range(bed.sizes.events):
            for name, place in places.items():
                figures.setdefault(name, []).append(await _cost(fetcher.fetch, place.source, pinned))
            asked = await _cost(fetcher.fetch, places["registry"].source, PackageRequest("coredns", "1.0"))
            figures.setdefault("asked", []).append(asked)
    base = median(figures["directory"])
    ratios: Figures = {name: [seconds / base for seconds in figures[name]] for name in ("layout", "registry")}
    return figures | ratios | await _choices(bed)


async def _choices(bed: Bed) -> Figures:
    """Seconds of CPU for the package of a run, from a directory (`run`) and from ConfigMaps with the API server's
    answers (`run_objects`); ratios to the first for a web server, git and a registry (`run_https`, …), and their
    questions in seconds, answers included (`asked_https`, …)."""
    async with AsyncExitStack() as stack:
        enter, root = stack.enter_async_context, bed.new_directory()
        for name in ("directory", "https", "git"):
            (root / name).mkdir(parents=True)
        places: dict[str, Place] = {
            "directory": DirectoryPlace(root / "directory"),
            "https": await enter(web_place(root / "https")),
            "git": await enter(git_place(root / "git")),
            "registry": RegistryPlace(await enter(registry_server()), "files"),
            "objects": await enter(cluster_place(ClusterLocation("ConfigMap", "default"))),
        }
        run, asked = dict[str, list[float]](), dict[str, list[float]]()
        for name, place in places.items():
            place.put_package("coredns", "1.0", _FILES)
            place.put_channel("stable", _PINNED)
            choice = _choice_of(place.source, PackageCache(root / f"cache-{name}", 0))
            await _choose(choice)
            for _ in range(bed.sizes.events):
                run.setdefault(name, []).append(await _cost(_choose, choice))
                asked.setdefault(name, []).append(await _cost(_choose_anew, choice))
    base = median(run["directory"])
    ratios = {f"run_{name}": [seconds / base for seconds in run[name]] for name in _REMOTE}
    questions = {f"asked_{name}": asked[name] for name in _REMOTE}
    return {"run": run["directory"], "run_objects": run["objects"]} | ratios | questions


def _choice_of(source: PackageSource, cache: PackageCache) -> PackageChoice:
    metrics = Metrics("")
    addon = replace(ADDON, component="coredns")
    return PackageChoice(addon, PackageFetcher(cache, "digest", metrics), lambda name, kubernetes: source, metrics)


async def _choose(choice: PackageChoice) -> None:
    chosen = await choice.choose(instance(), {}, "1.34.2", None)
    assert isinstance(chosen, ChosenPackage), chosen


async def _choose_anew(choice: PackageChoice) -> None:
    choice.expire()
    await _choose(choice)


async def _cost(work: Callable[_P, Awaitable[object]], *args: _P.args, **kwargs: _P.kwargs) -> float:
    before = time.process_time()
    for _ in range(_FETCHES):
        await work(*args, **kwargs)
    return (time.process_time() - before) / _FETCHES
