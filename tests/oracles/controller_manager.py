"""kube-controller-manager with its controllers of Nodes alone: networks of Pods are allocated, and Nodes whose kubelets
are silent become Unknown.

    with node_controllers(cluster.kubeconfig, directory): ...  # until the end of the block
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.build import find_binaries
from tests.controlplane.processes import Processes

_PROGRAM = "kube-controller-manager"
_FLAGS = (
    "--leader-elect=false",
    "--secure-port=0",
    "--cloud-provider=external",
    "--controllers=node-ipam-controller,node-lifecycle-controller",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.244.0.0/16",
    "--node-monitor-period=200ms",
    "--node-monitor-grace-period=2s",
    "--node-startup-grace-period=2s",
)
"""By default a kubelet may be silent for 40 s or more."""


@contextmanager
def node_controllers(kubeconfig: Path, directory: Path) -> Iterator[None]:
    """Run it until the end of the block. Its log is in the directory."""
    processes = Processes(directory)
    processes.start(_PROGRAM, [*find_binaries().command(_PROGRAM), f"--kubeconfig={kubeconfig}", *_FLAGS])
    try:
        yield
    finally:
        processes.stop_all()
