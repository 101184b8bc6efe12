"""Services of type LoadBalancer, one at a time and many at once; and what is kept of many Nodes and Services."""

import itertools
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.cloud.cloud_nodes import is_up, new_cloud, new_names, remove_nodes
from benchmarks.cloud.clouds import Cloud, has_ingress, large_node, managing
from benchmarks.programs import Program
from benchmarks.scenarios import Bed, Figures
from benchmarks.watching import disappears, measure_creation, see

_NODES = "/api/v1/nodes"
_SERVICES = "/api/v1/namespaces/default/services"
_names = itertools.count()


async def one_service(bed: Bed, program: Program) -> Figures:
    """Seconds from the creation of a Service until it has an address, one after the other; writes of one."""
    cloud = new_cloud(bed, [])
    figures: Figures = {"seconds": [], "writes": []}
    with managing(program, cloud, bed.cluster.kubeconfig):
        await is_up(bed, cloud)
        for name in _new_services(bed.sizes.changes):
            seconds, writes = await measure_creation(bed.cluster, _SERVICES, _service(name), has_ingress)
            figures["seconds"].append(seconds)
            figures["writes"].append(writes)
            await _remove(bed, [name])
    await remove_nodes(bed)
    return figures


async def many_services(bed: Bed, program: Program) -> Figures:
    """Seconds from the creation of many Services until all have an address, while each call takes half a second."""
    cloud = new_cloud(bed, [], delays={"lb-ensure": 0.5})
    names = _new_services(bed.sizes.services)
    with managing(program, cloud, bed.cluster.kubeconfig):
        await is_up(bed, cloud)
        began = time.perf_counter()
        await bed.cluster.post_all([(_SERVICES, _service(name)) for name in names])
        seconds = await see(bed.cluster.watch_path(_SERVICES), names, has_ingress) - began
        await _remove(bed, names)
    await remove_nodes(bed)
    return {"seconds": [seconds]}


async def memory(bed: Bed, program: Program) -> Figures:
    """Bytes with a large cluster that is as it should be. No Node serves a load balancer: 500 questions with 5,000
    Nodes each would keep one worker busy for longer than anything may take here."""
    nodes, services = bed.sizes.fleet
    names, balanced = new_names(nodes), _new_services(services)
    await bed.cluster.post_all([(_NODES, large_node(name)) for name in names])
    await bed.cluster.post_all([(_SERVICES, _service(name)) for name in balanced])
    cloud = Cloud(bed.new_directory())
    cloud.write([], delays={"capabilities": 0.0})  # nothing is asked about Nodes that are ready
    with managing(program, cloud, bed.cluster.kubeconfig) as manager:
        await see(bed.cluster.watch_path(_SERVICES), balanced, has_ingress)
        kept = await manager.steady_memory()
    await _remove_unmanaged(bed, balanced)
    await remove_nodes(bed)
    return {"memory": [kept.total]}


def _service(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}


def _new_services(count: int) -> list[str]:
    return [f"service-{next(_names):06}" for _ in range(count)]


async def _remove(bed: Bed, names: Sequence[str]) -> None:
    """Delete Services, and wait until the manager has let them go."""
    for name in names:
        await bed.cluster.remove(f"{_SERVICES}/{name}")
    for name in names:
        await disappears(bed.cluster, f"{_SERVICES}/{name}")


async def _remove_unmanaged(bed: Bed, names: Sequence[str]) -> None:
    """The same without a manager: 500 questions one after the other would take minutes."""
    for name in names:
        await bed.cluster.merge(f"{_SERVICES}/{name}", {"metadata": {"finalizers": None}})
        await bed.cluster.remove(f"{_SERVICES}/{name}")
