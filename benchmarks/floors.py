"""Lower bounds for every operator on this machine: the time to start bash, read a list, write objects."""

from collections.abc import Collection

from benchmarks.modules import requests
from benchmarks.scenarios import Bed, Figures, spawns


async def of(bed: Bed, groups: Collection[str]) -> Figures:
    """What these groups can be compared with."""
    found = spawns(bed.scratch / "floor", bed.sizes.spawns)
    found |= await _lists(bed) if {"full", "filtered", "many"} <= {*groups} else {}
    return found | (await requests(bed) if "modules" in groups else {})


async def _lists(bed: Bed) -> Figures:
    """A whole namespace in one answer, not parsed."""
    names = [await bed.filled_namespace(number) for number in (bed.sizes.objects, bed.sizes.many_objects)]
    few, many = [[await bed.cluster.list_seconds(name) for _ in range(3)] for name in names]
    return {"list": few, "list_many": many}
