"""Clients of the real API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hookrunner.kube.client import Client
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import Credentials, load_connection
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings


@asynccontextmanager
async def client_of(kubeconfig: Path, metrics: Metrics) -> AsyncIterator[Client]:
    """A client with the credentials of a kubeconfig."""
    settings = KubeSettings(config=kubeconfig)
    async with Client(Credentials(settings, await load_connection(Lookup(settings))), Requests(metrics)) as client:
        yield client
