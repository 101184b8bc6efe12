"""Resident hooks in Python through the whole program: events beside kopf, and many objects at once.

kopf, a framework for controllers in Python, calls a handler in its own process. Both programs run side by side, each
watches a namespace of its own, and the benchmark writes into one and the other in turns.
"""

import asyncio
import hashlib
import sys
import time
from pathlib import Path
from statistics import median, quantiles

from benchmarks import hooks
from benchmarks.cluster import config_map
from benchmarks.programs import Program, Running, running
from benchmarks.scenarios import Bed, Figures
from tests.controlplane.cache import REQUIREMENTS, cached, pip_install

_PAUSE = 0.05
"""Seconds before something is written: both programs have nothing to do then."""
_WORK, _AT_ONCE = 0.1, 20
"""Seconds that the hook takes for an object, and how many it takes at once."""
_KOPF = """\
import os
import time

import kopf


@kopf.on.event("configmaps")
def handle(**_):
    now = time.time()
    with open(os.environ["TOLD"], "a") as told:
        told.write(f"{now} run\\n")
"""


async def fast_events(bed: Bed, program: Program) -> Figures:
    """From the server's answer to a write until the first line of the hook, and of kopf's handler."""
    places = [await bed.new_namespace() for _ in range(2)]
    for namespace in places:
        await bed.cluster.write(namespace, config_map("first"))
    script = hooks.in_python(f"on('v1/ConfigMap', namespaces=[{places[0]!r}])")
    kopf = running(_kopf(places[1]), bed.new_directory(), bed.cluster.kubeconfig, {"hook.py": _KOPF}, _kopf_path())
    figures: Figures = {"hookrunner": [], "kopf": []}
    with bed.run(program, {"hook.py": script}) as ours, kopf as theirs:
        turns = list(zip(figures, (ours, theirs), places, strict=True))
        for _, operator, _ in turns:
            await operator.wait(1, "run")
        for number in range(bed.sizes.fast_events):
            for name, operator, namespace in turns if number % 2 == 0 else reversed(turns):
                figures[name].append(await _seconds_until_told(bed, operator, namespace, number))
    (own, own_worst), (peer, peer_worst) = [(median(each), quantiles(each, n=100)[98]) for each in figures.values()]
    return figures | {"ratio": [own / peer], "worst_ratio": [own_worst / peer_worst]}


async def lanes(bed: Bed, program: Program) -> Figures:
    """Objects created at once, for each of which a hook waits, several at a time: from the first write until the last
    object is done."""
    namespace, number = await bed.new_namespace(), bed.sizes.lanes
    queue = f"queues={{'lanes': {{'concurrency': {_AT_ONCE}, 'orderBy': 'object'}}}}"
    binding = f"on('v1/ConfigMap', namespaces=[{namespace!r}], queue='lanes')"
    await bed.cluster.write(namespace, config_map("first"))
    with bed.run(
        program, {"hook.py": hooks.in_python(binding, f'time.sleep({_WORK}); tell("done")', queue)}
    ) as operator:
        await operator.wait(1, "done")
        await asyncio.sleep(_PAUSE)
        began = time.time()
        await bed.cluster.create(namespace, [config_map(f"lane-{i}") for i in range(number)])
        created = time.time()
        lines = await operator.wait(number + 1, "done")
    return {"done": [max(line.at for line in lines) - began], "created": [created - began]}


async def _seconds_until_told(bed: Bed, operator: Running, namespace: str, number: int) -> float:
    await asyncio.sleep(_PAUSE + number * 0.017 % 0.05)
    await bed.cluster.write(namespace, config_map(f"event-{number}"))
    answered = time.time()
    return (await operator.wait(number + 2, "run"))[-1].at - answered


def _kopf(namespace: str) -> Program:
    flags = ("--standalone", "--quiet", f"--namespace={namespace}")
    return Program("kopf", (sys.executable, "-m", "kopf", "run", *flags, "hooks/hook.py"))


def _kopf_path() -> dict[str, str]:
    """The variable with which Python finds kopf, which is installed beside our own packages the first time."""
    key = hashlib.sha256((REQUIREMENTS / "kopf.txt").read_bytes()).hexdigest()[:16]
    return {"PYTHONPATH": str(cached(f"kopf-{key}", _install_kopf))}


def _install_kopf(directory: Path) -> None:
    pip_install("kopf", directory)
