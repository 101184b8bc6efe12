"""The clusters of the stories about rules that are taken away, one for all without controllers and one with."""

from collections.abc import Iterator

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.flows.taken.webhook_lives import prepare


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """With the objects that the webhooks ask for."""
    directory = tmp_path_factory.mktemp("audited")
    with ControlPlane(find_binaries(), directory, controllers=False, audited=True) as plane:
        cluster = OwnCluster(plane, directory)
        prepare(cluster)
        yield cluster


@pytest.fixture(scope="session")
def audited_whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """For modules, which wait for their Pods and Jobs."""
    directory = tmp_path_factory.mktemp("audited-whole")
    with ControlPlane(find_binaries(), directory, controllers=True, audited=True) as plane:
        yield OwnCluster(plane, directory)
