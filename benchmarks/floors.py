"""Lower bounds for every operator on this machine: the time to start bash, read a list, write objects."""

import os
import subprocess
import time
from collections.abc import Collection
from pathlib import Path

from benchmarks import hooks
from benchmarks.modules import requests
from benchmarks.scenarios import Bed, Figures


async def of(bed: Bed, groups: Collection[str]) -> Figures:
    """What these groups can be compared with. `spawn`: from the start of a hook to its first line. `rate`: whole runs a
    second, one after another."""
    found = _spawns(bed.scratch / "floor", bed.sizes.spawns)
    found |= await _lists(bed) if {"full", "filtered", "many"} <= {*groups} else {}
    return found | (await requests(bed) if "modules" in groups else {})


async def _lists(bed: Bed) -> Figures:
    """A whole namespace in one answer, not parsed."""
    names = [await bed.filled_namespace(number) for number in (bed.sizes.objects, bed.sizes.many_objects)]
    few, many = [[await bed.cluster.list_seconds(name) for _ in range(3)] for name in names]
    return {"list": few, "list_many": many}


def _spawns(directory: Path, number: int) -> Figures:
    hooks.write(directory, {"hook.sh": hooks.writes_its_start(hooks.STARTUP)})
    told = directory / "told"
    starts: list[float] = []
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TOLD": str(told)}
    began = time.perf_counter()
    for _ in range(number):
        starts.append(time.time())
        subprocess.run([directory / "hook.sh"], env=environment, stdin=subprocess.DEVNULL, check=True)
    rate = number / (time.perf_counter() - began)
    lines = [float(line.split()[0]) for line in told.read_text().splitlines()]
    return {"spawn": [line - start for line, start in zip(lines, starts, strict=True)], "rate": [rate]}
