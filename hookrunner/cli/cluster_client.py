"""A client of the cluster for commands that talk to it themselves, and the flags that name that cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click

from hookrunner import settings
from hookrunner.kube.client import Client
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import Connection, Credentials, load_connection
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_cluster(command: _Command) -> _Command:
    """Add the flags that name a cluster; the command gets `kube_config` and `kube_context`."""
    config = click.option(
        "--kube-config", default="", metavar="FILE", help="The cluster. [default: as kubectl finds it]"
    )
    context = click.option("--kube-context", default="", metavar="NAME", help="The context in the kubeconfig.")
    return config(context(command))


def read_cluster_settings(kube_config: str, kube_context: str) -> Settings:
    """The settings with which that cluster is reached. Raises BadSetting."""
    flags = {"kube-config": kube_config, "kube-context": kube_context}
    return settings.load({flag: text for flag, text in flags.items() if text}, "")


@asynccontextmanager
async def connect_cluster(loaded: Settings) -> AsyncIterator[tuple[Client, Connection]]:
    """A client, and the connection that it has. Raises KubeError, BadKubeConfig."""
    connection = await load_connection(Lookup(loaded.kube))
    async with Client(Credentials(loaded.kube, connection), Requests(Metrics())) as client:
        yield client, connection
