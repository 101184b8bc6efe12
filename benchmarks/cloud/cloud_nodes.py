"""Nodes: hundreds at once, one at a time, and hundreds that only report that they are well."""

import asyncio
import itertools
import time
from collections.abc import Sequence

from benchmarks.cloud.clouds import Cloud, is_initialized, managing, node
from benchmarks.programs import LIMIT, Program, TookTooLong
from benchmarks.scenarios import Bed, Figures
from benchmarks.watching import measure_creation, see

_NODES = "/api/v1/nodes"
_EVENTS = "/api/v1/namespaces/default/events?fieldSelector=reason=Synced"
_WRITTEN = frozenset({"nodes", "services", "events"})
_SOON = 1.0
"""Seconds in which a manager that has started has its watches."""
_names = itertools.count()


async def many_nodes(bed: Bed, program: Program) -> Figures:
    """Seconds and calls until all Nodes that are there at the start are initialised."""
    names = new_names(bed.sizes.nodes)
    cloud = new_cloud(bed, names)
    await bed.cluster.post_all([(_NODES, node(name)) for name in names])
    began = time.perf_counter()
    with managing(program, cloud, bed.cluster.kubeconfig):
        seconds = await see(bed.cluster.watch_path(_NODES), names, is_initialized) - began
        calls = cloud.calls("instances")
    await remove_nodes(bed)
    return {"seconds": [seconds], "calls": [calls]}


async def one_node(bed: Bed, program: Program) -> Figures:
    """Seconds from the creation of a Node until it has addresses and no taint, one after the other; writes of one."""
    return await _one_by_one(bed, program, serve=False)


async def one_node_served(bed: Bed, program: Program) -> Figures:
    """The same with a provider that stays; Kubernetes' own manager starts one for each call all the same."""
    return await _one_by_one(bed, program, serve=True)


async def _one_by_one(bed: Bed, program: Program, serve: bool) -> Figures:
    names = new_names(bed.sizes.changes)
    cloud = new_cloud(bed, names, serve=serve)
    figures: Figures = {"seconds": [], "writes": []}
    with managing(program, cloud, bed.cluster.kubeconfig):
        await is_up(bed, cloud)
        for name in names:
            seconds, writes = await measure_creation(bed.cluster, _NODES, node(name), is_initialized)
            figures["seconds"].append(seconds)
            figures["writes"].append(writes)
    await remove_nodes(bed)
    return figures


async def steady_nodes(bed: Bed, program: Program) -> Figures:
    """Provider calls of a minute with many Nodes, five of them not Ready, whose addresses are asked for every 10 s."""
    names = new_names(bed.sizes.nodes - 1)  # one more says that the manager is up; more would not fit into one call
    cloud = new_cloud(bed, names)
    for number, name in enumerate(names):
        await bed.cluster.post(_NODES, node(name, initialized=True, ready="False" if number < 5 else "True"))
    with managing(program, cloud, bed.cluster.kubeconfig, "--node-status-update-frequency=10s"):
        await is_up(bed, cloud)
        await asyncio.sleep(_SOON)
        calls, began = cloud.calls("instances"), time.perf_counter()
        await asyncio.sleep(bed.sizes.steady_seconds)
        made = cloud.calls("instances") - calls
        minutes = (time.perf_counter() - began) / 60
    await remove_nodes(bed)
    return {"calls": [made / minutes]}


async def idle_nodes(bed: Bed, program: Program) -> Figures:
    """Calls, writes and the share of a CPU while kubelets report that their Nodes are well, ten a second."""
    names = new_names(bed.sizes.nodes)
    cloud = new_cloud(bed, names)
    await bed.cluster.post_all([(_NODES, node(name)) for name in names])
    with managing(program, cloud, bed.cluster.kubeconfig) as manager:
        await see(bed.cluster.watch_path(_NODES), names, is_initialized)
        await _wait_for_events(bed, names)
        await asyncio.sleep(_SOON)
        calls, written = cloud.calls("instances"), await bed.cluster.count_write_requests(_WRITTEN)
        used, began = manager.cpu_seconds(), time.perf_counter()
        beats = await _heartbeats(bed, names)
        share = (manager.cpu_seconds() - used) / (time.perf_counter() - began)
        writes = await bed.cluster.count_write_requests(_WRITTEN) - written - beats
        made = cloud.calls("instances") - calls
    await remove_nodes(bed)
    return {"calls": [made], "writes": [writes], "cpu": [share]}


async def _wait_for_events(bed: Bed, names: Sequence[str]) -> None:
    """Wait until each of these Nodes has the Event of its initialisation: a quick manager still writes them, which is
    no idle cost. Raises TookTooLong."""
    deadline = time.monotonic() + LIMIT
    while missing := set(names) - {one["involvedObject"]["name"] for one in (await bed.cluster.read(_EVENTS))["items"]}:
        if time.monotonic() > deadline:
            raise TookTooLong(f"no Event after {LIMIT:g} s: {', '.join(sorted(missing))}")
        await asyncio.sleep(_SOON)


async def _heartbeats(bed: Bed, names: Sequence[str]) -> int:
    """Report that Nodes are well; how often."""
    ends = time.perf_counter() + bed.sizes.idle_seconds
    for number, name in enumerate(itertools.cycle(names)):
        if time.perf_counter() > ends:
            return number
        beat = {"type": "Ready", "status": "True", "reason": "Benchmark", "message": str(number)}
        await bed.cluster.merge(f"{_NODES}/{name}/status", {"status": {"conditions": [beat]}})
        await asyncio.sleep(0.1)
    return 0


async def handover(bed: Bed, program: Program) -> Figures:
    """Seconds from SIGTERM for the leader of two until the other has initialised a Node that is created then."""
    names = new_names(2)
    cloud, second = new_cloud(bed, names), new_cloud(bed, names)
    lease = f"--leader-elect-resource-name=benchmark-{time.time_ns()}"
    elect = ("--leader-elect=true", lease)
    with managing(program, second, bed.cluster.kubeconfig, *elect) as leader:
        await measure_creation(bed.cluster, _NODES, node(names[0]), is_initialized)
        with managing(program, cloud, bed.cluster.kubeconfig, *elect):
            await asyncio.sleep(2 * _SOON)
            began = time.perf_counter()
            leader.terminate()
            await bed.cluster.post(_NODES, node(names[1]))
            seconds = await see(bed.cluster.watch_path(_NODES), {names[1]}, is_initialized) - began
    await remove_nodes(bed)
    return {"seconds": [seconds]}


def new_names(count: int) -> list[str]:
    """Names of Nodes that no other scenario has."""
    return [f"node-{next(_names):06}" for _ in range(count)]


def new_cloud(bed: Bed, names: Sequence[str], *, serve: bool = False, delays: dict[str, float] | None = None) -> Cloud:
    """A cloud with these machines."""
    cloud = Cloud(bed.new_directory())
    cloud.write(names, serve=serve, delays=delays)
    return cloud


async def is_up(bed: Bed, cloud: Cloud) -> None:
    """Wait until a manager works: it initialises a Node of a machine that is new."""
    [name] = new_names(1)
    cloud.add(name)
    await bed.cluster.post(_NODES, node(name))
    await see(bed.cluster.watch_path(_NODES), {name}, is_initialized)


async def remove_nodes(bed: Bed) -> None:
    """Delete all Nodes."""
    await bed.cluster.remove(_NODES)
