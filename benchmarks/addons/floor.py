"""What the requests of a cold start cost by themselves: those of modules, those of modules that would try each object
out before, and those of instances.

The dry runs are what addons promise beside modules: nothing is written before everything is accepted. Their floor is
the time that every implementation of that promise needs, however little it does itself.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks import proc
from benchmarks.addons.many import Side, create_contestant, wait_until_finished
from benchmarks.addons.recording import RecordedRequest, Recorder, replay
from benchmarks.addons.units import Contestant, Instances, Modules, Units
from benchmarks.programs import Program
from benchmarks.scenarios import Bed, Figures
from tests.controlplane.kubeconfig import read_kubeconfig

_RECORD = "helm.sh/release.v1"
_BINDINGS = "/rolebindings"
"""Not tried out: before the role exists, the API server would refuse them."""


@dataclass(frozen=True, slots=True)
class _Start:
    """The requests of a cold start, and the texts in them that another start has otherwise, by what they are."""

    requests: Sequence[RecordedRequest]
    texts: Mapping[str, str]


async def floor(bed: Bed, program: Program) -> Figures:
    """Seconds to send the requests of the modules again (`modules`), the same with a dry run of each object before its
    unit's first write (`tried`), and those of the instances (`instances`); the CPU time of the client and the
    control plane for them (`*_cpu`), how many they are, and ratios to the first."""
    modules, instances = await _record(bed, program, Modules), await _record(bed, program, Instances)
    tried = replace(modules, requests=_tried_out(modules.requests))
    starts: dict[str, tuple[_Start, Callable[[Units], Contestant]]] = {
        "modules": (modules, Modules),
        "tried": (tried, Modules),
        "instances": (instances, Instances),
    }
    figures: Figures = {f"{name}_count": [len(start.requests)] for name, (start, _) in starts.items()}
    for name, (start, kind) in [*starts.items()] * bed.sizes.floors:
        contestant = await create_contestant(bed, program, kind)
        before = _cpu_seconds()
        figures.setdefault(name, []).append(await _replay(contestant, start))
        figures.setdefault(f"{name}_cpu", []).append(_cpu_seconds() - before)
        await contestant.units.clear()
    compared = {f"{name}{what}": f"modules{what}" for name in ("tried", "instances") for what in ("", "_cpu")}
    ratios = {f"{name}_ratio": [median(figures[name]) / median(figures[base])] for name, base in compared.items()}
    return figures | ratios


async def _record(bed: Bed, program: Program, kind: Callable[[Units], Side]) -> _Start:
    """The requests of a start from nothing."""
    directory = bed.new_directory()
    directory.mkdir()
    async with Recorder(read_kubeconfig(bed.cluster.kubeconfig), directory) as recorder:
        through = replace(bed, cluster=bed.cluster.reached_by(recorder.kubeconfig))
        contestant = await create_contestant(through, program, kind)
        texts = await _texts(contestant)
        with contestant.start(program) as operator:
            seconds = await wait_until_finished(contestant, operator)
            requests = recorder.between(operator.began, operator.began + seconds)
        await contestant.units.clear()
    return _Start(requests, texts)


async def _replay(contestant: Contestant, start: _Start) -> float:
    texts = await _texts(contestant)
    other = {text: texts[name] for name, text in start.texts.items()}
    return await replay(contestant.units.bed.cluster, [request.replaced(other) for request in start.requests])


def _cpu_seconds() -> float:
    """CPU time of both sides until now."""
    return time.process_time() + proc.control_plane_seconds()


async def _texts(contestant: Contestant) -> dict[str, str]:
    """The namespace, and the UIDs of instances by name."""
    units = contestant.units
    texts = {"namespace": units.namespace}
    if isinstance(contestant, Instances):
        items = (await units.bed.cluster.read(contestant.path))["items"]
        texts |= {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}
    return texts


def _tried_out(requests: Sequence[RecordedRequest]) -> list[RecordedRequest]:
    """The same with a dry run of each object that is created, before its unit's first write."""
    first = dict[str, float]()
    for request in requests:
        if request.unit and request.method != "GET":
            first.setdefault(request.unit, request.sent)
    attempts = [
        request.as_dry_run(first[request.unit])
        for request in requests
        if request.unit and request.method == "POST" and _can_be_tried_out(request)
    ]
    return sorted([*requests, *attempts], key=lambda request: request.sent)


def _can_be_tried_out(request: RecordedRequest) -> bool:
    path = request.target.partition("?")[0]
    return not path.endswith((_BINDINGS, "/events")) and _RECORD not in request.body
