"""The pytest plugin of the test bed: `cluster`, `namespace`, `own_cluster`, `audited_cluster`, `helm`.

A cluster is looked for in this order: `HOOKRUNNER_TEST_KUBECONFIG`, `KUBEBUILDER_ASSETS`, the cached build, a fresh
build. When none can be had, every test that needs one fails and says why; none is skipped.
"""

import os
import secrets
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import Cluster, OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.foreign import adopt
from tests.controlplane.session import Session, begin
from tests.controlplane.tools import find_tool

GIVEN = "HOOKRUNNER_TEST_KUBECONFIG"
SESSION = pytest.StashKey[Session]()


def pytest_configure(config: pytest.Config) -> None:
    """Join the run's session; the main process makes it."""
    met = getattr(config, "workerinput", {}).get("test_bed")
    config.stash[SESSION] = Session(*met) if met else begin()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where to meet."""
    node.workerinput["test_bed"] = astuple(node.config.stash[SESSION])


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the session where it was made."""
    if not hasattr(config, "workerinput"):
        config.stash[SESSION].end()


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The run's cluster, with controllers: Deployments become Ready, namespaces go away. Others use it too."""
    scratch = tmp_path_factory.mktemp("cluster")
    if given := os.environ.get(GIVEN):
        return Cluster(adopt(Path(given), scratch), scratch)
    return Cluster(request.config.stash[SESSION].kubeconfig(), scratch)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own. In our cluster it stays, as the cluster ends with the run: a deletion costs the
    control plane 75 requests and 0.1 s of CPU, which hundreds of tests would wait for. In a cluster that was given, its
    deletion is asked for at the end, not waited for."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    if os.environ.get(GIVEN):
        cluster.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """etcd and an API server for this test alone (3 s, 400 MB), to be killed, restarted and compacted at will."""
    directory = tmp_path / "own-cluster"
    directory.mkdir()
    with ControlPlane(find_binaries(), directory, controllers=False) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture
def audited_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """The same, whose API server logs what service accounts ask for: `audit` reads that."""
    directory = tmp_path / "audited-cluster"
    directory.mkdir()
    with ControlPlane(find_binaries(), directory, controllers=False, audited=True) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture
def whole_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """A whole cluster for this test alone, with controllers, scheduler and nodes: for what would disturb others. An
    APIService without a server, for example, keeps every namespace of a cluster from being deleted."""
    directory = tmp_path / "whole-cluster"
    directory.mkdir()
    with ControlPlane(find_binaries(), directory, controllers=True) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture(scope="session")
def helm() -> Path:
    """The helm program."""
    return find_tool("helm")


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Prometheus' own program for rules."""
    return find_tool("promtool")
