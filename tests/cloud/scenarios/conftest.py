"""Worlds for scenes: one with a real API server, one with the sandbox, and either."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import launcher
from tests.cloud.scenarios.managers import clean_environment
from tests.cloud.scenarios.stages import Manager, Stage, hookrunner, kubernetes, proxied
from tests.cloud.scenarios.world import World
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rest import Reply, content_type, encoded, send


@pytest.fixture
def world(own_cluster: OwnCluster, tmp_path: Path) -> World:
    """With a real API server."""
    return World(own_cluster.kubeconfig, own_cluster.request, tmp_path)


@pytest.fixture
def simulated_world(tmp_path: Path) -> Iterator[World]:
    """With the sandbox, in a process of its own. A test that asks for it starts hookrunner."""
    kubeconfig = tmp_path / "kubeconfig"
    words = ["sandbox", "--token=none", f"--kubeconfig={kubeconfig}"]
    program, printed = launcher.start_piped(words, cwd=tmp_path, env=clean_environment())
    url = next(word.rstrip(",") for line in printed for word in line.split() if word.startswith("http://"))

    def request(method: str, path: str, body: object) -> Reply:
        headers = {"Content-Type": content_type(method)}
        return send(urllib.request.Request(url + path, encoded(body), headers, method=method), None, 60)

    yield World(kubeconfig, request, tmp_path)
    program.send_signal(15)
    program.wait()
    printed.close()


@pytest.fixture(params=["simulated_world", pytest.param("world", marks=[pytest.mark.cluster, pytest.mark.nightly])])
def each_world(request: pytest.FixtureRequest) -> World:
    """The test is run with each: in CI with the sandbox alone, nightly with both, unless it is nightly itself."""
    made: World = request.getfixturevalue(request.param)
    return made


@pytest.fixture(
    params=[
        pytest.param((kubernetes, "world"), marks=pytest.mark.cluster),
        pytest.param((hookrunner, "world"), marks=pytest.mark.cluster),
        (hookrunner, "simulated_world"),
    ],
    ids=["kubernetes", "hookrunner", "hookrunner on the sandbox"],
)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """The test is run with Kubernetes' own manager, and with ours as that one behaves."""
    manager: Manager = request.param[0]
    world: World = request.getfixturevalue(request.param[1])
    with proxied(world, tmp_path) as proxy:
        yield Stage(world, proxy, manager)
