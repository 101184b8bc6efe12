"""The fixture for tests that need an API server which is quick, remembers requests and can be told what to refuse; and
the way into a sandbox of another process."""

import base64
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.fakes.transports import all_closed


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """A sandbox in the event loop of the test."""
    async with serving(Options()) as sandbox:
        yield sandbox
    await all_closed()


@dataclass(frozen=True, slots=True)
class SandboxAccess:
    """Where a sandbox is, the headers that every request to it carries, and what a client of it trusts."""

    url: str
    headers: dict[str, str]
    tls: ssl.SSLContext | None


def read_access(kubeconfig: Path) -> SandboxAccess:
    """Of the kubeconfig that a sandbox wrote."""
    config = yaml.safe_load(kubeconfig.read_text())
    token = config["users"][0]["user"].get("token")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    cluster = config["clusters"][0]["cluster"]
    pem = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    return SandboxAccess(cluster["server"], headers, ssl.create_default_context(cadata=pem) if pem else None)
