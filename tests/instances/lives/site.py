"""What a test of lives of instances stands on: the sandbox, what users do there, and hookrunner as often as it is
started."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubesandbox.sandbox import Sandbox
from tests.flows.waiting import until_is
from tests.instances.lives.places import Places, Wire
from tests.instances.lives.process import running, settings_for

_OF_INSTANCE = re.compile(r"""name="x"|thing\.n[0-9]""")


@dataclass(frozen=True, slots=True)
class Started:
    """One process: what it counts, and the wire through which its requests pass."""

    metrics: Metrics
    wire: Wire

    async def series(self) -> list[str]:
        """Series of metrics that are about instances."""
        return [line for line in self.metrics.exposition().decode().splitlines() if _OF_INSTANCE.search(line)]


@dataclass(frozen=True, slots=True)
class LiveSite:
    """`client` is that of users."""

    sandbox: Sandbox
    client: Client
    directory: Path

    @property
    def places(self) -> Places:
        """What users do."""
        return Places(self.client)

    @asynccontextmanager
    async def started(self, **flags: str) -> AsyncIterator[Started]:
        """Hookrunner, until the block is left."""
        async with Wire(_credentials(self.sandbox.url), Requests(Metrics(""))) as wire:
            wire.cut_off({})
            async with running(settings_for(self.directory, **flags), wire) as metrics:
                await self.places.until_served()
                yield Started(metrics, wire)

    async def until(self, get: Callable[[], Awaitable[Any]], wanted: object) -> None:
        """Wait until this is so."""
        await until_is(get, wanted, "here")


def client_of(url: str) -> Client:
    """A client of this API server; enter it."""
    return Client(_credentials(url), Requests(Metrics("")))


def _credentials(url: str) -> Credentials:
    return Credentials(KubeSettings(), Connection(url))
