"""The cloud of a benchmark: simcloud with so many machines, each of its calls 50 ms long, and the managers that ask it.

Kubernetes' own manager and hookrunner run the same executable on the same kind of state.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.programs import Program, Running
from tests.cloud.scenarios import documents
from tests.cloud.scenarios.documents import SIMCLOUD, UNINITIALIZED, Document
from tests.oracles.cloud_manager import upstream_command

UPSTREAM = Program("upstream", ("upstream",))
"""Kubernetes' own manager, built by the test bed."""
UPSTREAM_WITH_TEN = Program(
    "upstream, 10 workers",
    (
        "upstream",
        "--concurrent-node-syncs=10",
        "--concurrent-node-status-updates=10",
        "--concurrent-service-syncs=10",
    ),
)
"""The same with ten workers for each thing to do; by default it has one."""
CALL = 0.05
"""Seconds that a call takes, beside the start of its program."""

_KUBELET_BYTES = 15_000
_NO_BACKEND = "node.kubernetes.io/exclude-from-external-load-balancers"
_FLAGS = ("--cluster-cidr=10.244.0.0/16", "--leader-elect=false")


@dataclass(frozen=True, slots=True)
class Cloud:
    """A directory with the state of a cloud and the log of its calls."""

    directory: Path

    @property
    def state(self) -> Path:
        return self.directory / "cloud.json"

    def write(self, nodes: Sequence[str], *, serve: bool = False, delays: dict[str, float] | None = None) -> None:
        """A cloud with a machine for each Node. `delays`: seconds of a verb's calls, where they are not `CALL`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        special = [_delay(verb, seconds) for verb, seconds in (delays or {}).items()]
        cloud = {
            "capabilities": {"features": {"serve": serve}, "limits": {"maxParallel": 16}},
            "instances": {name: _machine(name, number) for number, name in enumerate(nodes)},
            "faults": special or [_delay("*", CALL)],
        }
        self.state.write_text(json.dumps(cloud))

    def add(self, name: str) -> None:
        """One more machine, while no call changes the state."""
        cloud = json.loads(self.state.read_text())
        cloud["instances"][name] = _machine(name, len(cloud["instances"]))
        new = self.state.with_suffix(".new")
        new.write_text(json.dumps(cloud))
        new.rename(self.state)

    def calls(self, verb: str = "") -> int:
        """How many calls there were so far, of one verb or of all but `capabilities`."""
        log = Path(f"{self.state}.calls")
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return sum(entry["verb"] == verb if verb else entry["verb"] != "capabilities" for entry in entries)


def node(name: str, *, initialized: bool = False, ready: str = "True") -> Document:
    """A Node as a kubelet creates it."""
    known: Document = {"taints": (), "providerID": f"simcloud://i-{name}"} if initialized else {}
    return documents.node(name, ready=ready, **known)


def large_node(name: str) -> Document:
    """An initialised Node of 15 KB, most of it a list of images as kubelets make it; it serves no load balancer."""
    made = documents.node(name, taints=(), providerID=f"simcloud://i-{name}", labels={_NO_BACKEND: "true"})
    image = {"names": ["x" * 100], "sizeBytes": 1}
    return made | {"status": made["status"] | {"images": [image] * (_KUBELET_BYTES // 130)}}


def is_initialized(obj: Any) -> bool:
    """Is the taint gone, and are there addresses?"""
    taints = {taint["key"] for taint in obj["spec"].get("taints", ())}
    return UNINITIALIZED["key"] not in taints and bool(obj["status"].get("addresses"))


def has_ingress(obj: Any) -> bool:
    """Has a Service an address?"""
    return bool(obj["status"].get("loadBalancer", {}).get("ingress"))


@contextmanager
def managing(program: Program, cloud: Cloud, kubeconfig: Path, *flags: str) -> Iterator[Running]:
    """Run a manager for this cloud until the end of the block; the flags are upstream's."""
    if program in (UPSTREAM, UPSTREAM_WITH_TEN):
        asking = upstream_command(kubeconfig, cloud.directory, (str(SIMCLOUD),), {"CLOUD_CONFIG": str(cloud.state)})
        command = (*asking, *program.command[1:])
    else:
        asked = (f"--cloud-provider={SIMCLOUD}", f"--cloud-config={cloud.state}", f"--kubeconfig={kubeconfig}")
        command = (*program.command, *asked, "--listen-port=0")
    manager = Running(Program(program.name, (*command, *_FLAGS, *flags)), cloud.directory, kubeconfig)
    try:
        yield manager
    finally:
        manager.stop()


def _machine(name: str, number: int) -> Document:
    address = f"10.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
    return documents.machine(name) | {"addresses": [{"type": "InternalIP", "address": address}]}


def _delay(verb: str, seconds: float) -> Document:
    return {"verb": verb, "what": "delay", "seconds": seconds}
