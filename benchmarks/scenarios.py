"""Scenarios that produce the figures of one program: each starts it, gives it work, and stops it."""

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias, TypeVar

from benchmarks import hooks
from benchmarks.cluster import Cluster, config_map
from benchmarks.programs import Line, Program, Running, running

Figures: TypeAlias = dict[str, list[float]]
"""Samples by the name of the figure: seconds, bytes, runs a second, or a share of one CPU."""

_QUIET = 0.3
"""Seconds after a quiet moment until something happens: longer than the predecessor's polling."""

_FEW = 4
_LEAD = 0.5
"""Seconds in which all tasks of a steady load are made. The first ones would come late otherwise, and all at once."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything."""

    hooks: int = 200
    events: int = 30
    burst: int = 1000
    objects: int = 10_000
    many_objects: int = 50_000
    idle_seconds: float = 10.0
    spawns: int = 100
    python_hooks: int = 30
    resident_runs: int = 2000
    fast_events: int = 200
    lanes: int = 100
    rate_seconds: int = 10
    soak_seconds: int = 60
    reviews: int = 1000
    converted: int = 5000
    modules: int = 29
    units: int = 50
    installs: int = 5
    changes: int = 6
    watches: tuple[int, int] = (10, 200)
    outage_seconds: float = 40.0
    nodes: int = 500
    steady_seconds: float = 60.0
    services: int = 100
    fleet: tuple[int, int] = (5000, 500)
    floors: int = 3
    listed: tuple[int, int] = (20, 1000)


QUICK = Sizes(
    hooks=10,
    events=3,
    burst=20,
    objects=100,
    many_objects=200,
    idle_seconds=0.5,
    spawns=5,
    python_hooks=2,
    resident_runs=20,
    fast_events=3,
    lanes=5,
    rate_seconds=1,
    soak_seconds=2,
    reviews=10,
    converted=20,
    modules=3,
    units=3,
    installs=1,
    changes=2,
    watches=(2, 5),
    outage_seconds=2.0,
    nodes=5,
    steady_seconds=2.0,
    services=3,
    fleet=(10, 3),
    floors=1,
    listed=(2, 20),
)


@dataclass(slots=True)
class Bed:
    """What scenarios run on: a cluster, a directory, and how much load to make."""

    cluster: Cluster
    scratch: Path
    sizes: Sizes
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, program: Program, scripts: dict[str, str]) -> AbstractContextManager[Running]:
        """Start a program on these hooks, in a place of its own."""
        return running(program, self.new_directory(), self.cluster.kubeconfig, scripts)

    def new_directory(self) -> Path:
        """A place that is not there yet."""
        return self.scratch / f"run-{next(self._numbers)}"

    async def new_namespace(self) -> str:
        """Make a namespace with an unused name."""
        name = f"benchmark-{time.time_ns()}"
        await self.cluster.make_namespace(name)
        return name

    async def filled_namespace(self, objects: int) -> str:
        """A namespace with so many ConfigMaps, made when it is first asked for."""
        name = f"benchmark-{objects}"
        await self.cluster.fill(name, objects)
        return name


Scenario: TypeAlias = Callable[[Bed, Program], Awaitable[Figures]]
T = TypeVar("T")


async def at_rate(count: int, rate: float, act: Callable[[], Awaitable[T]]) -> list[T]:
    """Do something so often, so many times a second, whether or not what was begun before has ended. Raises what it
    raises."""
    loop = asyncio.get_running_loop()
    begin = loop.time() + _LEAD

    async def act_at(number: int) -> T:
        await asyncio.sleep(begin + number / rate - loop.time())
        return await act()

    return await asyncio.gather(*(act_at(number) for number in range(count)))


async def idle(bed: Bed, program: Program) -> Figures:
    """One startup hook and nothing to watch: memory, then CPU time."""
    with bed.run(program, {"hook.sh": hooks.writes_its_start(hooks.STARTUP)}) as operator:
        await operator.wait(1, "run")
        memory = await operator.steady_memory()
        used, began = operator.cpu_seconds(), time.perf_counter()
        await asyncio.sleep(bed.sizes.idle_seconds)
        share = (operator.cpu_seconds() - used) / (time.perf_counter() - began)
    return {"memory": [memory.total], "fair": [memory.fair], "cpu": [share]}


async def starts(bed: Bed, program: Program) -> Figures:
    """Many startup hooks: when the first one runs, the time of all `--config` calls, then the runs a second, also by
    those of a bare loop just before."""
    number, bare = bed.sizes.hooks, spawns(bed.new_directory(), bed.sizes.spawns)["rate"][0]
    first, lines = await _started(bed, program, number)
    rate = (number - 1) / _span(lines, "run")
    return {"first": [first], "configs": [_span(lines, "config")], "rate": [rate], "to_bare": [rate / bare]}


async def few(bed: Bed, program: Program) -> Figures:
    """Four startup hooks: when the first one runs."""
    first, _ = await _started(bed, program, _FEW)
    return {"first": [first]}


async def _started(bed: Bed, program: Program, number: int) -> tuple[float, list[Line]]:
    """So many startup hooks: seconds from the program's start to the first of them, and what they all have written."""
    scripts = {f"hook-{i:03}.sh": hooks.writes_its_start(hooks.STARTUP) for i in range(number)}
    with bed.run(program, scripts) as operator:
        lines = await operator.wait(number, "run")
        return min(line.at for line in lines if line.word == "run") - operator.began, lines


def spawns(directory: Path, number: int) -> Figures:
    """A bare loop. `spawn`: from the start of a hook to its first line. `rate`: whole runs a second, one after
    another."""
    hooks.write(directory, {"hook.sh": hooks.writes_its_start(hooks.STARTUP)})
    written = directory / "written"
    starts: list[float] = []
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TOLD": str(written)}
    began = time.perf_counter()
    for _ in range(number):
        starts.append(time.time())
        subprocess.run([directory / "hook.sh"], env=environment, stdin=subprocess.DEVNULL, check=True)
    rate = number / (time.perf_counter() - began)
    lines = [float(line.split()[0]) for line in written.read_text().splitlines()]
    return {"spawn": [line - start for line, start in zip(lines, starts, strict=True)], "rate": [rate]}


async def events(bed: Bed, program: Program) -> Figures:
    """Objects created one at a time, each after a quiet moment: from the write until the hook's first line.

    `answered` counts from the server's answer to the write, `sent` from the moment in which it was sent.
    """
    figures: Figures = {"answered": [], "sent": []}
    namespace = await bed.new_namespace()
    with bed.run(program, {"hook.sh": hooks.writes_its_start(hooks.watching(namespace))}) as operator:
        await operator.wait(1, "run")
        for number in range(bed.sizes.events):
            await asyncio.sleep(_QUIET + number * 0.017 % 0.25)  # not in step with anything that polls
            sent = time.time()
            await bed.cluster.create(namespace, [config_map(f"event-{number}")])
            answered = time.time()
            run = (await operator.wait(number + 2, "run"))[-1]
            figures["answered"].append(run.at - answered)
            figures["sent"].append(run.at - sent)
    return figures


async def burst(bed: Bed, program: Program) -> Figures:
    """Many objects created at once: from the first write, and from the answer to the last one, until the last object
    was handled."""
    namespace, number = await bed.new_namespace(), bed.sizes.burst
    objects = [config_map(f"burst-{i}") for i in range(number)]
    with bed.run(program, {"hook.sh": hooks.counts_events(hooks.watching(namespace))}) as operator:
        await operator.wait(1, "0")
        await asyncio.sleep(_QUIET)
        began = time.time()
        await bed.cluster.create(namespace, objects)
        created = time.time()
        lines = await operator.until(lambda lines: handled(lines) >= number, f"{number} events")
    return {"handled": [lines[-1].at - began], "created": [created - began], "left": [lines[-1].at - created]}


async def full(bed: Bed, program: Program) -> Figures:
    """Start on many objects that are kept as they are."""
    return await _synchronized(bed, program, bed.sizes.objects, {})


async def filtered(bed: Bed, program: Program) -> Figures:
    """Start on many objects of which only a filter's result is kept."""
    return await _synchronized(bed, program, bed.sizes.objects, _FILTERED)


async def filtered_many(bed: Bed, program: Program) -> Figures:
    """As `filtered`, with still more objects."""
    return await _synchronized(bed, program, bed.sizes.many_objects, _FILTERED)


_FILTERED = {"jqFilter": hooks.FILTER, "keepFullObjectsInMemory": False}


async def _synchronized(bed: Bed, program: Program, objects: int, more: dict[str, object]) -> Figures:
    """From the start of the program until the Synchronization hook ran, and the memory then."""
    config = hooks.watching(await bed.filled_namespace(objects), **more)
    with bed.run(program, {"hook.sh": hooks.writes_its_start(config)}) as operator:
        lines = await operator.wait(1, "run")
        memory = await operator.steady_memory()
    return {"start": [lines[-1].at - operator.began], "memory": [memory.total], "fair": [memory.fair]}


def _span(lines: list[Line], word: str) -> float:
    """Seconds from the first to the last line with a word."""
    times = [line.at for line in lines if line.word == word]
    return max(times) - min(times)


def handled(lines: list[Line]) -> int:
    """The sum of the events that runs were told of."""
    return sum(int(line.word) for line in lines if line.word.isdecimal())
