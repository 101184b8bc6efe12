"""A steady stream of events: how long the event loop lets a request wait meanwhile, and what grows in the long run."""

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks import hooks
from benchmarks.cluster import config_map
from benchmarks.programs import Program, Running
from benchmarks.scenarios import Bed, Figures, at_rate
from benchmarks.webhooks import listens
from tests.controlplane.processes import free_port

_RATE, _OBJECTS = 500, 50
"""Changes a second, and of how many objects."""
_RUNS, _CARRIERS = 100, 3
"""Runs a second of the long run, of hooks that get their contexts by files, in a fork, and by lines."""
_SAMPLES = 10
"""How often the long run is interrupted, for a moment in which nothing runs."""
_PROBE = """\
import http.client
import sys
import time

connection, until = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), time.time() + float(sys.argv[2])
while time.time() < until:
    began = time.perf_counter()
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    print(time.perf_counter() - began)
    time.sleep(0.01)
"""


async def lag(bed: Bed, program: Program) -> Figures:
    """`/healthz`, which needs nothing but a turn of the event loop, asked by another process: with nothing to do, and
    while objects change that two filters look at, of which hookrunner runs one itself and the other in a worker.
    `bare_*`: an HTTP server of Python's own that does nothing else, asked at the same time: what is more than that is
    the program's, the rest is time that a process waits for a processor."""
    namespace, seconds = await bed.new_namespace(), bed.sizes.rate_seconds
    await bed.cluster.create(namespace, [config_map(f"map-{number}") for number in range(_OBJECTS)])
    config = hooks.watching(namespace, jqFilter=hooks.FILTER)
    config["kubernetes"] += hooks.watching(namespace, name="more", jqFilter="[.. | strings] | length")["kubernetes"]
    config["settings"] = {"executionMinInterval": "100ms", "executionBurst": 1}
    with _bare_server(bed.scratch) as bare, bed.run(program, {"hook.sh": hooks.writes_its_start(config)}) as operator:
        await operator.until(lambda lines: bool(lines) and listens(bare), "its first run")
        idle = await _ask_for_health(operator.port, seconds / 4)
        began = time.perf_counter()
        busy, floor, _ = await asyncio.gather(
            _ask_for_health(operator.port, seconds),
            _ask_for_health(bare, seconds),
            _change(bed, namespace, _RATE, seconds),
        )
        took = time.perf_counter() - began
    more = quantiles(busy, n=100)[98] - quantiles(floor, n=100)[98]
    return {"idle": idle, "busy": busy, "bare": floor, "lag": [more], "rate": [_RATE * seconds / took]}


async def soak(bed: Bed, program: Program) -> Figures:
    """Hooks of all carriers, run again and again by changes of objects, each of which all three get: memory,
    descriptors and processes in moments in which nothing runs."""
    namespace = await bed.new_namespace()
    await bed.cluster.create(namespace, [config_map(f"map-{number}") for number in range(_OBJECTS)])
    files, fork = (hooks.watching(namespace, queue=name) for name in ("files", "fork"))
    scripts = {
        "files.sh": hooks.writes_its_start(files),
        "fork.py": hooks.does_nothing_in_python(fork),
        "lines.py": hooks.in_python(f"on('v1/ConfigMap', namespaces=[{namespace!r}], queue='lines')", "pass"),
    }
    figures: Figures = {"memory": [], "descriptors": [], "processes": []}
    with bed.run(program, scripts) as operator:
        await operator.wait(1, "run")
        ran, busy = 0.0, 0.0
        for _ in range(_SAMPLES):
            before, began = await _count_runs(operator), time.perf_counter()
            await _change(bed, namespace, _RUNS / _CARRIERS, bed.sizes.soak_seconds // _SAMPLES or 1)
            busy += time.perf_counter() - began
            memory = (await operator.steady_memory()).total
            ran += await _count_runs(operator) - before
            figures["memory"].append(memory)
            figures["descriptors"].append(operator.descriptors)
            figures["processes"].append(operator.children)
    return figures | {"rate": [ran / busy]}


async def _change(bed: Bed, namespace: str, rate: float, seconds: int) -> None:
    """Change one object after the other, so many times a second."""
    numbers = itertools.count()

    async def change() -> None:
        number = next(numbers)
        change: dict[str, Any] = {"metadata": {"labels": {"color": f"{namespace}-{number}"}}}
        await bed.cluster.merge(f"/api/v1/namespaces/{namespace}/configmaps/map-{number % _OBJECTS}", change)

    await at_rate(round(rate * seconds), rate, change)


@contextmanager
def _bare_server(directory: Path) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind=127.0.0.1", "--protocol=HTTP/1.1"]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            yield port
        finally:
            server.terminate()


async def _ask_for_health(port: int, seconds: float) -> list[float]:
    command = [sys.executable, "-I", "-S", "-c", _PROBE, str(port), str(seconds)]
    done = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


async def _count_runs(operator: Running) -> float:
    return sum(value for name, value in await operator.metrics() if "_hook_run_seconds_count{" in name)
