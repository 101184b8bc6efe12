"""What an unchanged package costs an instance's run, at each kind of source: CPU time of one fetch in this process.

Nothing is asked of the cluster. A registry in this process answers; what that costs is in the figure for the question.
"""

import time
from collections.abc import Awaitable, Callable
from statistics import median

from benchmarks.programs import Program
from benchmarks.scenarios import Bed, Figures
from hookrunner.metrics.names import Metrics
from hookrunner.packages.package import Package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest
from hookrunner.packages.source_locations import PackageSource
from tests.packages.oci.oci_places import LayoutPlace, RegistryPlace
from tests.packages.oci.registry_server import registry_server
from tests.packages.places import DirectoryPlace, Place, with_checksums

_FILES = with_checksums(
    {f"f{number:02}.yaml": b"kind: ConfigMap\ndata: {a: %s}\n" % (b"x" * 2000) for number in range(20)}
)
_FETCHES = 50
"""In one sample."""


async def sources(bed: Bed, program: Program) -> Figures:
    """Seconds of CPU for a package of 20 files that did not change, from a `directory`; the same from an image layout
    and, pinned, from the cache of a registry's packages as ratios (`layout`, `registry`); seconds of the question to
    the registry with its answer (`asked`). The program is this one."""
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
    return figures | {name: [seconds / base for seconds in figures[name]] for name in ("layout", "registry")}


async def _cost(
    fetch: Callable[[PackageSource, PackageRequest], Awaitable[Package]], source: PackageSource, request: PackageRequest
) -> float:
    before = time.process_time()
    for _ in range(_FETCHES):
        await fetch(source, request)
    return (time.process_time() - before) / _FETCHES
