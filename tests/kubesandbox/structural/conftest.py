"""What the tests of custom kinds share: a real API server with definitions of their own on it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import Cluster
from tests.kubesandbox.oracle import Oracle, oracle_of


@pytest.fixture(scope="session")
def oracle(cluster: Cluster) -> Iterator[Oracle]:
    """A real API server."""
    with oracle_of(cluster) as oracle:
        yield oracle
