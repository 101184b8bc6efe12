"""What several kinds of sources are tested with."""

from collections.abc import AsyncIterator

import pytest

from tests.packages.oci.registry_server import RegistryServer, registry_server


@pytest.fixture
async def registry() -> AsyncIterator[RegistryServer]:
    """An empty one."""
    async with registry_server() as registry:
        yield registry
