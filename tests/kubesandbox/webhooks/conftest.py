"""A webhook beside the sandbox of a test. What a real API server does alike is in `contract/test_admission*.py`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubesandbox.contract.webhook import Webhook, serving


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    """On a port of its own."""
    with serving(tmp_path) as served:
        yield served
