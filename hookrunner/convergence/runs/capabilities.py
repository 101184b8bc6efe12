"""The cluster's capabilities, asked once and again only when a CustomResourceDefinition or an APIService has come, gone
or changed."""

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
"""Seconds without news after which the API server serves what it was told of."""

_UNSEEN = 60.0
"""Seconds between two questions where nothing tells of news, for want of a right to list the sources."""


class KnownCapabilities:
    """What the cluster serves, remembered. `changes` tells of news."""

    def __init__(self, client: Client, watches: Watches) -> None:
        self._client = client
        self._watches = watches
        self._last: Capabilities | None = None
        self._told: Capabilities | None = None
        self._news = 0
        self._asked_at = 0
        self._asking = asyncio.Lock()
        self._stale = asyncio.Event()

    async def get(self) -> Capabilities:
        """What is served now. Raises KubeError."""
        async with self._asking:
            if self._last is None or self._asked_at != self._news:
                news = self._news
                self._last = await read_capabilities(self._client)
                self._asked_at, self._told = news, self._told or self._last
            return self._last

    def forget(self) -> None:
        """Definitions were just applied: ask again."""
        self._news += 1

    async def follow(self, place: int) -> None:
        """For ever: hear of news from the source at this place; not at all if the cluster has no such source."""
        source = _SOURCES[place]
        with suppress(KubeError):
            if source.api_version not in (await self.get()).api_versions:
                return
        while not await may_list(self._client, source.path()):
            await asyncio.sleep(_UNSEEN)
            self._suspect()
        selection = Selection(source.api_version, source.kind, metadata_only=True)
        async with aclosing(self._watches.open(selection)) as story:
            async for reports in story:
                # What came between the first question and the first list is known from the list alone.
                if any(_is_news(report) for report in reports):
                    self._suspect()

    def _suspect(self) -> None:
        self.forget()
        self._stale.set()

    async def changes(self) -> AsyncIterator[None]:
        """Each time that something else is served than before."""
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
            if served != self._told:
                self._told = served
                yield


def _is_news(report: Report) -> bool:
    """Objects in a list are no news; the end of the list is."""
    return isinstance(report, Synced) or (isinstance(report, ObjectSeen) and report.change is not None)
