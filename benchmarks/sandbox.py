"""Measures the sandbox, which no other program has: time to the first hook, memory, speed of answers."""

import asyncio
import base64
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks import hooks
from benchmarks.cluster import Cluster, config_map
from benchmarks.programs import Program, Running, running
from benchmarks.scenarios import Bed, Figures, Sizes

_NAMESPACE = "default"
_BARE = (sys.executable, "-c", "import asyncio, ssl, aiohttp, aiohttp.web, orjson, yaml")
"""The least that a Python program with an HTTP server and YAML files starts with."""


async def sandbox(bed: Bed, program: Program) -> Figures:
    """`start --sandbox`, and then a sandbox alone with many ConfigMaps."""
    return await first_run(program, bed.new_directory()) | await crowded(program, bed.new_directory(), bed.sizes)


async def first_run(program: Program, directory: Path) -> Figures:
    """`run`: seconds from the start of `start --sandbox` until the first line of a hook that watches ConfigMaps. `cpu`:
    CPU seconds until then. `bare`: seconds of a Python that only imports the libraries, just before; `times`: `run` by
    that, which says more than seconds on a machine that is slow or busy."""
    began = time.perf_counter()
    await asyncio.to_thread(subprocess.run, _BARE, check=True)
    bare = time.perf_counter() - began
    scripts = {"hook.sh": hooks.writes_its_start(hooks.watching(_NAMESPACE))}
    with running(replace(program, command=(*program.command, "--sandbox")), directory, directory, scripts) as operator:
        lines = await operator.wait(1, "run")
        run = lines[0].at - operator.began
        return {"run": [run], "cpu": [operator.cpu_seconds()], "bare": [bare], "times": [run / bare]}


async def crowded(program: Program, directory: Path, sizes: Sizes) -> Figures:
    """`ready`: from its start until a sandbox can be used. Then, with many ConfigMaps and one watch of them: `memory`,
    and the times of one write until it is answered (`create`) and until the watch tells (`watch`), of a `list`."""
    async with (
        _serving(program, directory) as (server, cluster, ready),
        aclosing(cluster.watch(_NAMESPACE)) as events,
    ):
        await asyncio.gather(cluster.fill(_NAMESPACE, sizes.objects), _told(events, sizes.objects))
        memory = await server.steady_memory()
        figures: Figures = {"ready": [ready], "memory": [memory.total], "create": [], "watch": []}
        for number in range(sizes.events):
            write = cluster.write(_NAMESPACE, config_map(f"event-{number}"))
            created, told = await asyncio.gather(_seconds(write), _seconds(_told(events, 1)))
            figures["create"].append(created)
            figures["watch"].append(told)
        return figures | {"list": [await cluster.list_seconds(_NAMESPACE) for _ in range(3)]}


async def _told(events: AsyncIterator[bytes], count: int) -> None:
    for _ in range(count):
        await anext(events)


async def _seconds(work: Coroutine[Any, Any, None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


@asynccontextmanager
async def _serving(program: Program, directory: Path) -> AsyncIterator[tuple[Running, Cluster, float]]:
    """A sandbox, a session with it, and how many seconds it took until it said where it is."""
    kubeconfig = directory / "sandbox.kubeconfig"
    words = program.command[: program.command.index("start")]
    alone = replace(program, command=(*words, "sandbox", "--kubeconfig", str(kubeconfig)))
    with running(alone, directory, kubeconfig, {}) as server:
        await server.until(lambda _: kubeconfig.exists(), "its kubeconfig")
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        headers = {"Authorization": f"Bearer {user['token']}"}
        trusted = base64.b64decode(cluster["certificate-authority-data"]).decode()
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cadata=trusted))
        async with aiohttp.ClientSession(cluster["server"], headers=headers, connector=connector) as session:
            yield server, Cluster(kubeconfig, session), kubeconfig.stat().st_mtime - server.began
