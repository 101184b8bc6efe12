"""Kubernetes' own cloud controller manager, asking an executable: what `hookrunner cloud start --compat upstream` is
compared with.

    command = upstream_command(kubeconfig, directory, (str(provider),), {"CLOUD_CONFIG": str(state)})
    with upstream_manager(directory, command): ...  # its loops run until the end of the block

The program is built from `tests/controlplane/go/cloudmanager`, and kept outside the checkout, apart from the control
plane: neither is built anew for the other.
"""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.controlplane.build import GO_MODULE, find_go
from tests.controlplane.cache import cached, run
from tests.controlplane.processes import Processes

FLAGS = ("--secure-port=0", "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000")
"""No port, no one else to wait for, and no limit that would hide how quick its loops are."""

_PACKAGE = "cloudmanager"


def upstream_command(
    kubeconfig: Path, directory: Path, provider: Sequence[str], env: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """The command line that asks this provider, which gets these variables; more flags may follow, a later one wins. A
    file of configuration is left in the directory. Raises `BedUnavailable` if the program cannot be built."""
    config = directory / "cloudmanager.json"
    variables = [f"{name}={value}" for name, value in env.items()]
    config.write_text(json.dumps({"command": list(provider), "env": variables}))
    program = cached(f"cloudmanager-{_key()}", _build) / _PACKAGE
    cloud = ("--cloud-provider=executable", f"--cloud-config={config}")
    return (str(program), *cloud, f"--kubeconfig={kubeconfig}", *FLAGS)


@contextmanager
def upstream_manager(directory: Path, command: Sequence[str]) -> Iterator[Processes]:
    """Run it until the end of the block. Its log is `cloudmanager.log` in the directory."""
    processes = Processes(directory)
    processes.start(_PACKAGE, list(command))
    try:
        yield processes
    finally:
        processes.stop_all()


def _key() -> str:
    """The program, what it is linked with, and the kind of machine."""
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()}".encode())
    for file in (*sorted((GO_MODULE / _PACKAGE).iterdir()), GO_MODULE / "go.mod", GO_MODULE / "go.sum"):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _build(into: Path) -> None:
    env = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    command = [str(find_go()), "build", "-ldflags=-s -w", "-o", str(into / _PACKAGE), f"./{_PACKAGE}"]
    run(command, cwd=GO_MODULE, env=env, why="upstream's cloud controller manager could not be built")
