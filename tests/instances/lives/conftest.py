"""A sandbox with the addon `thing`, users' places in it, and hookrunner in the test's process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubesandbox.sandbox import Sandbox
from tests.instances.lives.places import write_addon
from tests.instances.lives.site import LiveSite, client_of
from tests.sandboxes import sandbox

__all__ = ["sandbox"]


@pytest.fixture
async def site(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[LiveSite]:
    """The addon with its usual packages; nothing runs yet."""
    write_addon(tmp_path)
    async with client_of(sandbox.url) as client:
        yield LiveSite(sandbox, client, tmp_path)
