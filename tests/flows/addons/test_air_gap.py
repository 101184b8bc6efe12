"""All shipped addons, signed, from a mirror, with images of a private registry, where nothing else can be reached:
control plane, registry and hookrunner are in a network namespace with loopback only.

Level: control plane."""

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.faults.proxy import Proxy
from tests.flows.addons.air_gap import AirGap, air_gap
from tests.flows.addons.cluster_world import ADDONS, GROUP, ClusterWorld
from tests.flows.modules.conftest import on
from tests.oracles.distribution import GO_MODULE, running_registry
from tests.oracles.go_programs import go_program
from tests.packages.signatures.openssl import make_key

NAMES = {
    "coredns": "coredns",
    "kube-proxy": "kubeproxies",
    "nodelocaldns": "nodelocaldns",
    "metrics-server": "metricsservers",
    "dashboard": "dashboards",
}
SPECS = {"kube-proxy": {"apiServer": {"host": "192.0.2.1"}}}
UNSERVED = ("metrics-server",)
"""Its API would be served by a Pod, and none runs on a fake node."""
REGISTRY = "registry.internal:5000/addons"
ORIGIN = "https://addons.example.com"
OF_PODS = "deployments,daemonsets,statefulsets,jobs,cronjobs"
OF_THE_CLUSTER = ("10.96.", "10.0.")
"""Services and Pods: the API server asks those of aggregated APIs."""


@pytest.fixture
def gap() -> Iterator[AirGap]:
    """What is not built yet is built before, while there is a network."""
    find_binaries()
    go_program("registry", GO_MODULE)
    with air_gap() as gap:
        yield gap


@pytest.fixture
def whole_cluster(gap: AirGap, tmp_path: Path) -> Iterator[OwnCluster]:
    directory = tmp_path / "whole-cluster"
    directory.mkdir()
    with ControlPlane(find_binaries(), directory, controllers=True) as plane:
        yield OwnCluster(plane, directory)


@dataclass(frozen=True, slots=True)
class Published:
    """What a publisher has: sources signed by a key, `mirror`, a copy of them, and the same in a registry at `url`."""

    key: Path
    mirror: Path
    url: str


def hookrunner(launcher: tuple[str, ...], *words: str | Path) -> str:
    """What a command prints."""
    return subprocess.run([*launcher, *map(str, words)], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def published(launcher: tuple[str, ...], gap: AirGap, tmp_path: Path) -> Iterator[Published]:
    """All versions of the channels, sealed and mirrored by the commands that publishers type."""
    key, mirror, sources = make_key(tmp_path / "release.key"), tmp_path / "mirror", tmp_path / "sources"
    for name in NAMES:
        shutil.copytree(ADDONS / name / "channels", sources / name)
        hookrunner(launcher, "addon", "seal", sources / name, "--key", tmp_path / "release.key")
    (tmp_path / "registry").mkdir()
    with running_registry(tmp_path / "registry") as registry:
        url = f"oci+{registry.url}/mirror"
        for name in NAMES:
            copy = ("addon", "mirror", name, "--addons-dir", ADDONS, "--addon-source", f"{name}={sources / name}")
            for place in (str(mirror / name), f"{url}/{name}"):
                hookrunner(launcher, *copy, "--addon-keys", key, "--to", place)
        yield Published(key, mirror, url)


@pytest.fixture
async def there(
    launcher: tuple[str, ...], whole_cluster: OwnCluster, published: Published, tmp_path: Path
) -> AsyncIterator[ClusterWorld]:
    """Hookrunner in the same namespace, with sources on the internet and their mirror in its flags."""
    async with Proxy(whole_cluster.access, tmp_path) as proxy, on(whole_cluster, proxy, "default", tmp_path) as world:
        world.operator.executed = True
        world.operator.flags += (
            f"--addons-dir={ADDONS}",
            f"--addon-source={','.join(f'{name}={ORIGIN}/{name}' for name in NAMES)}",
            "--addon-verify=signature",
            f"--addon-keys={published.key}",
            f"--private-registry={REGISTRY}",
        )
        yield ClusterWorld(whole_cluster, proxy, world)


async def test_all_addons_come_from_a_mirror_and_nothing_else_is_asked(
    there: ClusterWorld, published: Published, gap: AirGap, tmp_path: Path
) -> None:
    flags = there.world.operator.flags
    there.world.operator.flags = (*flags, f"--addon-mirror={ORIGIN}={published.url}", cache(tmp_path, "first"))
    await there.world.start()
    for name, plural in NAMES.items():
        await there.install(name, f"{GROUP}/{plural}/default", SPECS.get(name, {}))
    for name, plural in NAMES.items():
        phase = "InProgress" if name in UNSERVED else "Current"
        await there.reaches(f"{GROUP}/{plural}/default", {"phase": phase, "revision": 1})
    await there.until(lambda: is_asked_in_vain(there), True, "nothing is left to be said of metrics-server")

    images = await images_of_pods(there)
    assert len(images) >= len(NAMES)
    assert [image for image in images if not image.startswith(f"{REGISTRY}/")] == []

    await there.world.stop()
    statuses = [await there.status(f"{GROUP}/{plural}/default") for plural in NAMES.values()]
    there.world.writes()
    mirror = f"--addon-mirror={ORIGIN}=file:{published.mirror}"
    there.world.operator.flags = (*flags, mirror, cache(tmp_path, "second"))
    await there.world.start()
    for plural in NAMES.values():
        await there.kubectl("annotate", f"{plural}/default", "-n", "kube-system", "hookrunner.io/reconcile=now")
    await there.until(lambda: fetched(there), len(NAMES), "each package is read from the other mirror")
    assert [line for line in there.world.writes() if "customresourcedefinitions" not in line] == []
    assert [await there.status(f"{GROUP}/{plural}/default") for plural in NAMES.values()] == statuses

    assert {address for address in gap.seen() if not address.startswith(OF_THE_CLUSTER)} == set()
    with suppress(OSError):
        socket.create_connection(("198.51.100.1", 443), timeout=1)
    assert "198.51.100.1" in gap.seen(), "the gap would have seen it"


async def is_asked_in_vain(there: ClusterWorld) -> bool:
    """Has the API server asked the Pod of metrics-server, and does the status say that, and nothing else?"""
    service = await there.read("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io")
    conditions = (service.get("status") or {}).get("conditions") or ()
    messages = [entry["message"] for entry in conditions if entry["reason"] == "FailedDiscoveryCheck"]
    errors = (await there.status(f"{GROUP}/metricsservers/default"))["errors"]
    return len(errors) == len(messages) == 1 and messages[0] in errors[0]


def cache(directory: Path, name: str) -> str:
    """The flag for a cache of its own."""
    os.makedirs(directory / name, exist_ok=True)
    return f"--addon-cache-dir={directory / name}"


async def images_of_pods(there: ClusterWorld) -> list[str]:
    """Of all that makes Pods in the cluster."""
    path = "{.items[*].spec.template.spec['containers','initContainers'][*].image}"
    return (await there.kubectl("get", OF_PODS, "-A", "-o", f"jsonpath={path}")).split()


async def fetched(there: ClusterWorld) -> int:
    """Packages that were read since the start."""
    metrics = there.world.operator.get("/metrics")[1].splitlines()
    lines = [line for line in metrics if "addon_package_fetches_total{" in line and 'result="read"' in line]
    return sum(int(float(line.rpartition(" ")[2])) > 0 for line in lines)
