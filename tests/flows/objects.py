"""ConfigMaps of one namespace: what most stories change and look at."""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp

from tests.controlplane.cluster import Cluster, RequestFailed
from tests.fakes.objects import config_map


@dataclass(frozen=True, slots=True)
class ConfigMaps:
    """Plain requests; they take milliseconds, so they may block."""

    cluster: Cluster
    namespace: str

    @property
    def path(self) -> str:
        """The collection's path."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def create(self, name: str, **data: str) -> dict[str, Any]:
        """Make one."""
        return self.cluster.create(self.path, config_map(name, "", **data))

    def change(self, name: str, **data: str) -> None:
        """Merge data into one."""
        reply = self.cluster.request("PATCH", f"{self.path}/{name}", {"data": data})
        if reply.status != HTTPStatus.OK:
            raise RequestFailed(f"{name}: {reply.body}")

    def delete(self, name: str) -> None:
        """Remove one."""
        self.cluster.request("DELETE", f"{self.path}/{name}")

    def get(self, name: str) -> dict[str, Any]:
        """The present object, empty if it does not exist."""
        reply = self.cluster.request("GET", f"{self.path}/{name}")
        return reply.body if reply.status == HTTPStatus.OK else {}

    def data(self, name: str) -> dict[str, str]:
        """The data of one object, empty if it does not exist."""
        found: dict[str, str] = self.get(name).get("data", {})
        return found

    async def create_many(self, names: Iterable[str], **data: str) -> None:
        """Make many, some at a time."""
        turns, trust = asyncio.Semaphore(16), ssl.create_default_context(cafile=str(self.cluster.ca))
        headers = {"Authorization": f"Bearer {self.cluster.token}"}
        async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=trust)) as session:

            async def create(name: str) -> None:
                body = config_map(name, "", **data)
                async with turns, session.post(self.cluster.url + self.path, json=body) as reply:
                    assert reply.status == HTTPStatus.CREATED, await reply.text()

            await asyncio.gather(*map(create, names))
