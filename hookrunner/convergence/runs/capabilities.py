"""The cluster's capabilities, read once, and again when a CustomResourceDefinition or an APIService was changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from hookrunner.errors import KubeError
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import may_list, read_capabilities
from hookrunner.kube.watch import Watches
from hookrunner.model.releases import Capabilities
from hookrunner.model.resources import Resource, Selection
from hookrunner.model.watching import ObjectSeen, Report, Synced

_SOURCES = (
    Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False),
    Resource("apiregistration.k8s.io/v1", "APIService", "apiservices", False),
)
_SETTLED = 0.5
"""Seconds without a change after which the API server serves what was created: it applies CRDs with a delay."""

_UNSEEN = 60.0
"""Seconds between two reads without the right to list CRDs or APIServices, so that no watch reports changes."""


class ClusterCapabilities:
    """What the cluster serves, cached. `changes` yields when that changes."""

    def __init__(self, client: Client, watches: Watches) -> None:
        self._client = client
        self._watches = watches
        self._last: Capabilities | None = None
        self._reported: Capabilities | None = None
        self._generation = 0
        self._read_generation = 0
        self._reading = asyncio.Lock()
        self._stale = asyncio.Event()

    async def get(self) -> Capabilities:
        """What is served now. Raises KubeError."""
        async with self._reading:
            if self._last is None or self._read_generation != self._generation:
                generation = self._generation
                self._last = await read_capabilities(self._client)
                self._read_generation, self._reported = generation, self._reported or self._last
            return self._last

    def forget(self) -> None:
        """Definitions were just applied: read again."""
        self._generation += 1

    async def follow(self, index: int) -> None:
        """Watch the CRDs (0) or the APIServices (1), until cancelled; returns if the cluster does not serve them."""
        source = _SOURCES[index]
        with suppress(KubeError):
            if source.api_version not in (await self.get()).api_versions:
                return
        while not await may_list(self._client, source.path()):
            await asyncio.sleep(_UNSEEN)
            self._invalidate()
        selection = Selection(source.api_version, source.kind, metadata_only=True)
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                # Only the list shows what was created between the first read and the list.
                if any(_is_news(report) for report in reports):
                    self._invalidate()

    def _invalidate(self) -> None:
        self.forget()
        self._stale.set()

    async def changes(self) -> AsyncIterator[None]:
        """Yields each time that the cluster serves something else than before."""
        while True:
            await self._stale.wait()
            while self._stale.is_set():
                self._stale.clear()
                await asyncio.sleep(_SETTLED)
            try:
                served = await self.get()
            except KubeError:
                self._stale.set()
                continue
            if served != self._reported:
                self._reported = served
                yield


def _is_news(report: Report) -> bool:
    """May the report mean a change? Objects in a list do not; the end of the list does."""
    return isinstance(report, Synced) or (isinstance(report, ObjectSeen) and report.change is not None)
