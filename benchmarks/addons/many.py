"""Many instances against as many modules: cold start, restart with nothing to do, a value changed, memory, statuses."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TypeVar

from benchmarks import charts, proc
from benchmarks.addons.unit_files import OBJECTS, instance
from benchmarks.addons.units import Contestant, Instances, Modules, Units
from benchmarks.cluster import Refused
from benchmarks.programs import Program, Running, TookTooLong
from benchmarks.scenarios import Bed, Figures, events
from benchmarks.watching import seconds_until, shows_data, shows_phase

Side = TypeVar("Side", bound=Contestant)

_QUIET = 0.5
"""Seconds until a start is over, with all that follows at once."""

_REST = 2.0
"""Seconds between two changes of values: what was written is looked at for drift a second and a half later."""

_COLLECTED = 0.7
"""Seconds between two changes of a status: longer than hookrunner collects them."""

_WRITE = re.compile(r'kubernetes_client_request_result_total\{.*method="(POST|PUT|PATCH|DELETE)"')
_FETCH = re.compile(r'addon_package_fetches_total\{.*result="fetched"')


async def many(bed: Bed, program: Program) -> Figures:
    """Seconds from the start of the program until the last unit's objects are written (`cold_*`), and until its last
    run is over when there is nothing to do (`restart_*`), with CPU times (`*_cpu`; those of API server and etcd in the
    cold start are `plane_cpu_*`); from the write of a value until the object has changed (`field_*`). Each for
    `modules` and for `instances`, then as a ratio. `writes_*` and `fetches_*` of the restart are counted by the
    program."""
    await _warm_up(bed, program)
    modules = await _lives(await create_contestant(bed, program, Modules), program, "modules")
    instances = await _lives(await create_contestant(bed, program, Instances), program, "instances")
    figures = modules | instances
    compared = {
        "cold": ("cold_instances", "cold_modules"),
        "cold_cpu": ("cold_cpu_instances", "cold_cpu_modules"),
        "restart": ("restart_instances", "cold_instances"),
        "field": ("field_instances", "field_modules"),
    }
    return figures | {name: [median(figures[a]) / median(figures[b])] for name, (a, b) in compared.items()}


async def memory(bed: Bed, program: Program) -> Figures:
    """Resident memory after everything was made: with the render worker (`busy_*`), and when every child has ended
    (`quiet_*`), in bytes and as a ratio."""
    await _warm_up(bed, program)
    figures: Figures = {}
    for word, kind in (("modules", Modules), ("instances", Instances)):
        contestant = await create_contestant(bed, program, kind)
        with contestant.start(program) as operator:
            await wait_until_finished(contestant, operator)
            await contestant.settle()
            figures[f"busy_{word}"] = [(await operator.steady_memory()).total]
            figures[f"quiet_{word}"] = [await _memory_without_children(operator)]
        await contestant.units.clear()
    ratios = {name: [figures[f"{name}_instances"][0] / figures[f"{name}_modules"][0]] for name in ("busy", "quiet")}
    return figures | ratios


async def status(bed: Bed, program: Program) -> Figures:
    """Seconds from the write of a Deployment's status until a watch shows the instance in another phase (`status`),
    with as many instances as in `many`; `event` from the creation of a ConfigMap until a hook's first line."""
    contestant = await create_contestant(bed, program, Instances)
    units, name = contestant.units, contestant.units.names[-1]
    figures: Figures = {"status": [], "event": (await events(bed, program))["sent"]}
    with contestant.start(program) as operator:
        await wait_until_finished(contestant, operator)
        await contestant.settle()
        for number in range(bed.sizes.events):
            await asyncio.sleep(_COLLECTED)
            available, phase = ((False, "InProgress"), (True, "Current"))[number % 2]
            change = partial(units.set_available, name, available)
            shown = units.bed.cluster.watch_path(contestant.path)
            figures["status"].append(await seconds_until(shown, change, {instance(name)}, shows_phase(phase)))
    await units.clear()
    return figures | {"ratio": [median(figures["status"]) / median(figures["event"])]}


async def _lives(contestant: Contestant, program: Program, word: str) -> Figures:
    """One life from nothing, one with nothing to do, in which values are changed then."""
    before = proc.control_plane_seconds()
    with contestant.start(program) as operator:
        figures = {
            f"cold_{word}": [await wait_until_finished(contestant, operator)],
            f"cold_cpu_{word}": [operator.cpu_seconds()],
            f"plane_cpu_{word}": [proc.control_plane_seconds() - before],
        }
        await _check(contestant, operator)
        await contestant.settle()
        await asyncio.sleep(_QUIET)  # Events follow
    with contestant.start(program) as operator:
        figures |= {f"restart_{word}": [await wait_until_finished(contestant, operator)]}
        figures |= {f"restart_cpu_{word}": [operator.cpu_seconds()]}
        await _check(contestant, operator)
        figures |= await _counted(operator, word)
        figures[f"field_{word}"] = [await _change(contestant, name) for name in contestant.units.some]
    await contestant.units.clear()
    return figures


async def _memory_without_children(operator: Running) -> float:
    await operator.until(lambda _: operator.children == 0, "the end of its children")
    return (await operator.steady_memory()).total


async def wait_until_finished(contestant: Contestant, operator: Running) -> float:
    """Seconds from the start of the program until each unit has run. Raises TookTooLong."""
    lines = await operator.wait(contestant.units.count, "done")
    return [line.at for line in lines if line.word == "done"][contestant.units.count - 1] - operator.began


async def _check(contestant: Contestant, operator: Running) -> None:
    """Has every unit run once, and is everything there, a moment later? Raises TookTooLong, Refused."""
    await asyncio.sleep(_QUIET)
    runs, count = sum(line.word == "done" for line in operator.lines()), contestant.units.count
    if runs != count:
        raise TookTooLong(f"{operator.program.name}: {runs} runs of {count} units")
    if (there := await contestant.units.count_objects()) != OBJECTS * count:
        raise Refused(f"{there} of {OBJECTS * count} objects are there")


async def _counted(operator: Running, word: str) -> Figures:
    """What this life has written to the cluster, and fetched from sources."""
    series = await operator.metrics()
    counted = {"writes": _WRITE, "fetches": _FETCH}
    return {
        f"{name}_{word}": [sum(value for key, value in series if pattern.search(key))]
        for name, pattern in counted.items()
    }


async def _change(contestant: Contestant, name: str) -> float:
    """Seconds from the write of a unit's value until its object has changed."""
    await asyncio.sleep(_REST)
    units = contestant.units
    shown, change = units.bed.cluster.watch(units.namespace), partial(contestant.change, name, 2)
    return await seconds_until(shown, change, {charts.shows(name)}, shows_data({"size": "2"}))


async def create_contestant(bed: Bed, program: Program, kind: Callable[[Units], Side], count: int = 0) -> Side:
    """Units of a kind that are not installed yet: so many, else as many as the benchmark has."""
    units = Units(bed, bed.new_directory(), await bed.new_namespace(), count or bed.sizes.units)
    contestant = kind(units)
    await contestant.create(program)
    return contestant


async def _warm_up(bed: Bed, program: Program) -> None:
    """A life of the program on one module, in which its files come from the disk."""
    contestant = await create_contestant(bed, program, Modules, count=1)
    with contestant.start(program) as operator:
        await wait_until_finished(contestant, operator)
