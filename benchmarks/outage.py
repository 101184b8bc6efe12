"""An API server that is killed and comes back without its history: the time until all watches report a change."""

import asyncio
import time
from typing import Any

from benchmarks import hooks
from benchmarks.cluster import config_map, connected
from benchmarks.programs import Program, running
from benchmarks.scenarios import Bed, Figures, handled
from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane

_NAMESPACE = "default"


async def outage(bed: Bed, program: Program) -> Figures:
    """`few` and `many`: seconds from the moment in which the server is ready until the last of so many watches has led
    to a hook run. `bare`: seconds in which a client that does nothing else opens as many watches, on the same server a
    moment later, which says more than seconds on a machine that is slow or busy."""
    few, many = bed.sizes.watches
    (heard_few, _), (heard_many, bare) = [await _heard_after(bed, program, number) for number in (few, many)]
    return {"few": [heard_few], "many": [heard_many], "bare": [bare]}


async def _heard_after(bed: Bed, program: Program, watches: int) -> tuple[float, float]:
    """On a control plane of its own: others use the run's."""
    directory = bed.new_directory()
    directory.mkdir()
    with ControlPlane(find_binaries(), directory, controllers=False) as plane:
        ready = {"configVersion": "v1", "schedule": [{"crontab": "* * * * * *", "queue": "ready"}]}
        scripts = {"hook.sh": hooks.counts_events(_watching(watches)), "ready.sh": hooks.writes(ready, "ready")}
        with running(program, bed.new_directory(), plane.kubeconfig, scripts) as operator:
            async with connected(plane.kubeconfig) as cluster:
                await operator.wait(1, "ready")
                await cluster.write(_NAMESPACE, config_map("before"))
                await operator.until(lambda lines: handled(lines) >= watches, "the event before")
                await asyncio.to_thread(plane.stop_apiserver)
                await asyncio.to_thread(OwnCluster(plane, directory).compact)
                await asyncio.sleep(bed.sizes.outage_seconds)
                await asyncio.to_thread(plane.start_apiserver)
                began = time.time()
                await cluster.write(_NAMESPACE, config_map("after"))
                lines = await operator.until(lambda lines: handled(lines) >= 2 * watches, "the event after")
                return lines[-1].at - began, await cluster.open_watches(_NAMESPACE, watches)


def _watching(watches: int) -> dict[str, Any]:
    """So many bindings for the same ConfigMaps, no two of which can share a watch."""
    binding = {"apiVersion": "v1", "kind": "ConfigMap", "executeHookOnSynchronization": False}
    where = {"namespace": {"nameSelector": {"matchNames": [_NAMESPACE]}}}
    different = [
        {"labelSelector": {"matchExpressions": [{"key": "number", "operator": "NotIn", "values": [str(number)]}]}}
        for number in range(watches)
    ]
    bindings = [binding | where | selector | {"name": f"maps-{i}"} for i, selector in enumerate(different)]
    return {"configVersion": "v1", "kubernetes": bindings}
