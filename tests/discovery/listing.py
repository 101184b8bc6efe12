"""A process that lists addons by labels alone, and the cluster as another client sees it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from hookrunner.background import Background
from hookrunner.discovery.addon_kind import ADDONS
from hookrunner.discovery.discovery_assembly import AddonDiscovery
from hookrunner.engine.assembly import Kube
from hookrunner.errors import NotFound
from hookrunner.kube import discovery as kube_discovery
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import DiscoverySettings, KubeSettings, Settings

LABEL = "discovery.addons.k8s.io/"
MERGE = "application/merge-patch+json"


def client_of(url: str) -> Client:
    """Of the API server there."""
    return Client(Credentials(KubeSettings(), Connection(url)), Requests(Metrics("")))


@asynccontextmanager
async def listing(client: Client, *kinds: str, namespace: str = "ops") -> AsyncIterator[AddonDiscovery]:
    """Until the end of the block a process lists addons, in this namespace."""
    served = kube_discovery.Discovery(client)
    kube = Kube(Watches(client, served, Metrics(""), 75.0), served, client, Connection("", namespace=namespace))
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        discovery = AddonDiscovery(Settings(discovery=DiscoverySettings(True, kinds)), kube)
        discovery.start(background)
        try:
            yield discovery
        finally:
            background.stop()


class Seen:
    """The cluster as another client sees and changes it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def write(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        return orjson.loads(await self.client.send(ApiCall(method, path, {}, body, content)))

    async def label(self, name: str, *addons: str) -> None:
        """Create a ConfigMap with the labels of these addons."""
        metadata = {"name": name, "labels": {f"{LABEL}{addon}": "" for addon in addons}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await self.write("POST", "/api/v1/namespaces/default/configmaps", body)

    async def unlabel(self, name: str) -> None:
        """Delete that ConfigMap."""
        await self.write("DELETE", f"/api/v1/namespaces/default/configmaps/{name}")

    async def create(self, name: str, **labels: str) -> None:
        """Create an `Addon`, as a user does."""
        body = {"apiVersion": ADDONS.api_version, "kind": ADDONS.kind, "metadata": {"name": name, "labels": labels}}
        await self.write("POST", ADDONS.path(), body)

    async def addons(self, selector: str = "", after: float = 3.0) -> dict[str, Any]:
        """The status of each `Addon` after a while, {} for none."""
        await asyncio.sleep(after)
        try:
            answer = await self.client.get(ADDONS.path(), {"fieldSelector": selector} if selector else {})
        except NotFound:
            return {}
        return {item["metadata"]["name"]: item.get("status", {}) for item in answer["items"]}

    async def shown(self, after: float = 3.0) -> dict[str, str]:
        """The names of the components of each `Addon` after a while."""
        listed = (await self.addons(after=after)).items()
        return {name: " ".join(ref["name"] for ref in references(status)) for name, status in listed}


def references(status: Any) -> list[Any]:
    """Those in a status."""
    return list(status.get("components", {}).get("refs", ()))
