"""Modules: time from nothing, at a restart, after a change of one value and of all (docs/benchmarks.md, second table).

An object counts as changed when the benchmark's own watch reports it. Hooks record the time themselves; the number of
runs of each is checked.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import charts
from benchmarks.cluster import Refused
from benchmarks.programs import Program, Running, TookTooLong, running
from benchmarks.scenarios import Bed, Figures
from benchmarks.watching import seconds_until, shows_data

_AT_ONCE = 8
"""Modules, as hookrunner has it on two CPUs."""

_QUIET = 0.5
"""Seconds without work before something is changed."""


async def modules(bed: Bed, program: Program) -> Figures:
    """Seconds from the start until afterAll has run: `cold` with nothing in the cluster, `restart` with nothing to do;
    the CPU time that the program itself has used until then. From the write of a value until the object has changed:
    `one`; until an object of each module has: `all`; until afterAll has run: `settled`."""
    await _warm_up(bed, program)
    place = await _place(bed)
    with place.start(program) as operator:
        figures: Figures = {"cold": [await _converged(operator)], "cold_cpu": [operator.cpu_seconds()]}
        await place.check(operator, 1)
        await place.check_objects()
    with place.start(program) as operator:
        figures |= {"restart": [await _converged(operator)], "restart_cpu": [operator.cpu_seconds()]}
        await place.check(operator, 1)
        figures["one"] = [await place.change_one(name) for name in place.some]
    with place.start(program) as operator:
        figures["restart"].append(await _converged(operator))
        await asyncio.sleep(_QUIET)
        began = time.time()
        figures["all"] = [await place.change_all()]
        lines = await operator.wait(2, "afterAll")
        figures["settled"] = [lines[-1].at - began]
        await place.check(operator, 2)
    return figures


async def memory(bed: Bed, program: Program) -> Figures:
    """Resident memory after everything was made: `busy`, and `quiet` when every child has ended, as a process that
    renders charts does when it has had nothing to do for a minute."""
    place = await _place(bed)
    with place.start(program) as operator:
        await _converged(operator)
        busy = await operator.steady_memory()
        await operator.until(lambda _: operator.children == 0, "the end of its children")
        quiet = await operator.steady_memory()
    return {"busy": [busy.total], "busy_fair": [busy.fair], "quiet": [quiet.total]}


async def requests(bed: Bed) -> Figures:
    """Floors, by this client: `objects`, all created at once; `turns`, module by module a record, the objects at once,
    the record again; `upgrades`, then one object of each changed, with new records, several modules at once; `told`, a
    ConfigMap written → seen by a watch."""
    figures: Figures = {"objects": [], "turns": [], "upgrades": [], "told": []}
    for _ in range(bed.sizes.floors):
        place = await _place(bed, write=False)
        began = time.perf_counter()
        await bed.cluster.post_all([one for found in place.manifests() for one in found])
        figures["objects"].append(time.perf_counter() - began)
        place = await _place(bed, write=False)
        began = time.perf_counter()
        for found in place.manifests():
            await place.turn(found)
        figures["turns"].append(time.perf_counter() - began)
        began = time.perf_counter()
        await place.upgrade()
        figures["upgrades"].append(time.perf_counter() - began)
        figures["told"].append(await place.told())
    return figures


@dataclass(frozen=True, slots=True)
class Place:
    """Modules in a directory, and the namespace that they are installed into."""

    bed: Bed
    directory: Path
    namespace: str

    @property
    def names(self) -> list[str]:
        """The modules."""
        return charts.names(self.bed.sizes.modules)

    @property
    def some(self) -> list[str]:
        """A few of them, from the first to the last."""
        return self.names[:: max(1, len(self.names) // self.bed.sizes.changes)]

    def start(self, program: Program) -> AbstractContextManager[Running]:
        """Start a program on the modules."""
        variables = {
            "ADDON_OPERATOR_MODULES_DIR": str(self.directory / "modules"),
            "ADDON_OPERATOR_GLOBAL_HOOKS_DIR": str(self.directory / "global-hooks"),
            "ADDON_OPERATOR_NAMESPACE": self.namespace,
            "ADDON_OPERATOR_CONFIG_MAP": charts.CONFIG,
            "HELM_MONITOR_KUBE_CLIENT_QPS": "1000",
            "HELM_MONITOR_KUBE_CLIENT_BURST": "1000",
        }
        return running(program, self.bed.new_directory(), self.bed.cluster.kubeconfig, {}, variables)

    async def change_one(self, name: str) -> float:
        """Seconds from the write of a module's value until its object has changed."""
        await asyncio.sleep(_QUIET)
        return await self._changed({charts.key(name): "size: 2\n"}, {charts.shows(name)}, {"size": "2"})

    async def change_all(self) -> float:
        """Seconds from the write of a global value until an object of each module has changed."""
        return await self._changed({"global": "color: blue\n"}, {*map(charts.shows, self.names)}, {"color": "blue"})

    async def told(self) -> float:
        """Seconds from the write of a ConfigMap until a watch reports it."""
        data = {"global": "color: blue\n"}
        return await self._changed(data, {charts.CONFIG}, data)

    async def check(self, operator: Running, times: int) -> None:
        """Has every hook run so often, a moment later? Raises TookTooLong."""
        await asyncio.sleep(_QUIET)
        ran = Counter(line.word for line in operator.lines() if line.word != "config")
        if ran != (wanted := {name: times for name in ("beforeAll", *self.names, "afterAll")}):
            raise TookTooLong(
                f"{operator.program.name}: hooks ran {dict(ran - Counter(wanted))} too often or not at all"
            )

    async def check_objects(self) -> None:
        """Is everything there? Raises Refused."""
        wanted = sum(map(len, self.manifests()))
        if (there := await self.bed.cluster.count(charts.collections(self.namespace))) != wanted:
            raise Refused(f"{there} of {wanted} objects are there")

    def manifests(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """The objects of each module, and where they are created."""
        return [charts.manifests(name, number, self.namespace) for number, name in enumerate(self.names)]

    async def turn(self, found: list[tuple[str, dict[str, Any]]]) -> None:
        """Create objects, with a record before that is replaced after it."""
        secrets, record = charts.record(self.namespace, found)
        await self.bed.cluster.post(secrets, record)
        await self.bed.cluster.post_all(found)
        await self.bed.cluster.put(f"{secrets}/{record['metadata']['name']}", record)

    async def upgrade(self) -> None:
        """For each module a second record, an object changed, and both records replaced, so many modules at once."""
        waiting = iter(zip(self.names, self.manifests(), strict=True))

        async def write() -> None:
            for name, found in waiting:
                await self._upgrade(name, found)

        await asyncio.gather(*(write() for _ in range(_AT_ONCE)))

    async def _upgrade(self, name: str, found: list[tuple[str, dict[str, Any]]]) -> None:
        cluster, (secrets, record) = self.bed.cluster, charts.record(self.namespace, found)
        second = record | {"metadata": record["metadata"] | {"name": f"record-{name}-2"}}
        await cluster.post(secrets, second)
        await cluster.patch(self.namespace, charts.shows(name), {"color": "blue"})
        for one in (second, record):
            await cluster.put(f"{secrets}/{one['metadata']['name']}", one)

    async def _changed(self, write: dict[str, str], names: Collection[str], data: dict[str, str]) -> float:
        """Seconds until the last of these ConfigMaps has such data. Raises TookTooLong."""
        change = partial(self.bed.cluster.patch, self.namespace, charts.CONFIG, write)
        return await seconds_until(self.bed.cluster.watch(self.namespace), change, names, shows_data(data))


async def _place(bed: Bed, write: bool = True) -> Place:
    """Modules, with a configuration of each in the cluster."""
    place = Place(bed, bed.new_directory(), await bed.new_namespace())
    if write:
        charts.write(place.directory, place.names)
    sections = {"global": "color: red\n"} | {charts.key(name): "size: 1\n" for name in place.names}
    await bed.cluster.write(place.namespace, {"metadata": {"name": charts.CONFIG}, "data": sections})
    return place


async def _warm_up(bed: Bed, program: Program) -> None:
    """A life of the program on one module, in which all of its files come from the disk: that may take as long as its
    work, and says nothing of it."""
    place = await _place(replace(bed, sizes=replace(bed.sizes, modules=1)))
    with place.start(program) as operator:
        await _converged(operator)


async def _converged(operator: Running) -> float:
    lines = await operator.wait(1, "afterAll")
    return next(line.at for line in lines if line.word == "afterAll") - operator.began
