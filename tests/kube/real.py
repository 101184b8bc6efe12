"""Clients of the real API server. The test bed's kubeconfigs say plainly how to reach it, so none runs the child that
finds that out and costs 0.3 s of CPU."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from tests.controlplane.kubeconfig import read_kubeconfig


def credentials_of(kubeconfig: Path) -> Credentials:
    """The credentials in a kubeconfig of the test bed: a server, its CA and a token."""
    return Credentials(KubeSettings(config=kubeconfig), connection_of(kubeconfig))


def connection_of(kubeconfig: Path) -> Connection:
    """What the child finds there: `test_credentials.py` compares them."""
    access = read_kubeconfig(kubeconfig)
    return Connection(
        access.url,
        ca=access.ca.read_text("utf-8"),
        authorization=f"Bearer {access.token}",
        context="test-bed",
        origin=f"kubeconfig '{kubeconfig}', context 'test-bed'",
        user="test-bed",
        means="token",
    )


@asynccontextmanager
async def client_of(kubeconfig: Path, metrics: Metrics) -> AsyncIterator[Client]:
    """A client with the credentials of a kubeconfig of the test bed."""
    async with Client(credentials_of(kubeconfig), Requests(metrics)) as client:
        yield client
