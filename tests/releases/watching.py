"""A cluster as another client sees and changes it, and the parts of a release that watch it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import orjson
import yaml

from hookrunner.background import Background
from hookrunner.errors import NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model import units
from hookrunner.model.events import ObjectSeen
from hookrunner.model.releases import HelmHook
from hookrunner.model.resources import Selection
from hookrunner.releases.drift import Drift
from hookrunner.releases.manifest_objects import KindResolver, ReleaseId
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.releases.readiness import Readiness

JSON = Any
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
LABELS = {"app.kubernetes.io/managed-by": "Helm"}


class World:
    """One namespace of a cluster."""

    def __init__(self, client: Client, namespace: str = "default") -> None:
        self.client = client
        self.identity = ReleaseId("demo", namespace)
        self.discovery = Discovery(client)
        self.kinds = KindResolver(self.discovery)
        self.watches = Watches(client, self.discovery, Metrics(""), idle=75.0)
        self.readiness = Readiness(self.discovery, self.watches)

    async def get(self, obj: JSON) -> JSON:
        """As it is now, None if it is gone."""
        try:
            return await self.client.get(await self._path(obj))
        except NotFound:
            return None

    async def there(self, obj: JSON) -> None:
        """Return when it is there."""
        name = obj["metadata"]["name"]
        selection = Selection(obj["apiVersion"], obj["kind"], self.identity.namespace, fields=f"metadata.name={name}")
        async with aclosing(self.watches.open(selection)) as batches:
            async for reports in batches:
                if any(isinstance(report, ObjectSeen) for report in reports):
                    return

    async def create(self, obj: JSON) -> None:
        """As a release creates it."""
        resource = await self.discovery.resolve(obj["apiVersion"], obj["kind"])
        where = resource.path(self.identity.namespace)
        await self.client.send(ApiCall("POST", where, {"fieldManager": "helm"}, obj))

    async def apply(self, obj: JSON, manager: str = "helm", **how: str) -> JSON:
        return await self._write("PATCH", obj, "", obj, APPLY, fieldManager=manager, **how)

    async def edit(
        self, obj: JSON, change: JSON, subresource: str = "", manager: str = "kubectl-edit", content: str = MERGE
    ) -> JSON:
        return await self._write("PATCH", obj, subresource, change, content, fieldManager=manager)

    async def status(self, obj: JSON, **status: JSON) -> JSON:
        return await self.edit(obj, {"status": status}, "status", "controller")

    async def delete(self, obj: JSON) -> None:
        await self.client.send(ApiCall("DELETE", await self._path(obj)))

    async def _write(self, verb: str, obj: JSON, sub: str, body: JSON, content: str, **params: str) -> JSON:
        return orjson.loads(await self.client.send(ApiCall(verb, await self._path(obj, sub), params, body, content)))

    async def _path(self, obj: JSON, subresource: str = "") -> str:
        resource = await self.discovery.resolve(obj["apiVersion"], obj["kind"])
        place = obj["metadata"].get("namespace", self.identity.namespace)
        return resource.path(place, obj["metadata"]["name"], subresource)


class Watched:
    """A world with a Drift whose findings are collected."""

    def __init__(self, world: World, drift: Drift) -> None:
        self.world = world
        self.drift = drift
        self.told: list[str] = []

    def follow(self, *objects: JSON, mode: units.Drift = "missing") -> None:
        self.drift.track(self.world.identity, objects, mode)

    async def begin(self, *objects: JSON, mode: units.Drift = "missing") -> None:
        """The release is there, and followed."""
        for obj in objects:
            await self.world.apply(obj)
        self.follow(*objects, mode=mode)

    async def listen(self) -> None:
        async for finding in self.drift.findings():
            self.told.append(" ".join((str(finding), *finding.fields)))

    async def after(self, seconds: float) -> list[str]:
        """What is reported meanwhile."""
        await asyncio.sleep(seconds)
        told, self.told = self.told, []
        return told

    @property
    def found(self) -> list[str]:
        return [str(finding) for finding in self.drift.known_findings(self.world.identity)]


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[Watched]:
    """Until the end of the block."""
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        watched = Watched(world, Drift(world.client, world.kinds, ObjectWatches(world.watches, background), background))
        listening = group.create_task(watched.listen())
        yield watched
        listening.cancel()
        background.stop()


def manifest(text: str) -> JSON:
    return yaml.safe_load(text)


def made(kind: str, name: str, api_version: str = "v1", **more: JSON) -> JSON:
    """An object as the manifest of a release has it once it is marked as its own."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": dict(LABELS)}} | more


def hook(obj: JSON, *events: str, weight: int = 0, policies: tuple[str, ...] = ("before-hook-creation",)) -> HelmHook:
    return HelmHook(obj["metadata"]["name"], obj["kind"], "c/templates/h.yaml", "", obj, events, weight, policies)


def condition(name: str, status: str = "True", **more: str) -> JSON:
    return {"type": name, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"} | more
