"""The pytest plugin of the fault proxy."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy


@pytest.fixture
async def proxy(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Proxy]:
    """A fault proxy before the run's cluster; before one's own: `async with Proxy(own_cluster.access, tmp_path)`."""
    async with Proxy(cluster.access, tmp_path) as proxy:
        yield proxy
