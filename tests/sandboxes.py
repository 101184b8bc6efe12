"""The fixture for tests that need an API server which is quick, remembers requests and can be told what to refuse."""

from collections.abc import AsyncIterator

import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.fakes.transports import all_closed


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox in the event loop of the test."""
    async with serving(Options()) as sandbox:
        yield sandbox
    await all_closed()
