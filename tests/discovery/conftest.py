"""A sandbox, and its client."""

from collections.abc import AsyncIterator

import pytest

from hookrunner.kube.client import Client
from kubesandbox.sandbox import Sandbox
from tests.discovery.listing import client_of
from tests.sandboxes import sandbox

__all__ = ["sandbox"]


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[Client]:
    """Of another program."""
    async with client_of(sandbox.url) as client:
        yield client
