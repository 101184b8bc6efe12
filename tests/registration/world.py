"""A cluster to register in, the sandbox or a real one, and the writes of other clients.

Every world has names of its own. Rules are about a group that only its own CRDs are in, and the URL leads nowhere, so
no other client's requests are ever asked about.
"""

import asyncio
import copy
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.errors import Conflict, NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Admission, Change, ConversionBinding, Hook, HookConfig
from hookrunner.model.events import ObjectSeen, Report
from hookrunner.model.resources import Resource, Selection
from hookrunner.registration.desired import DesiredRegistrations, Target, desired_registrations
from hookrunner.registration.reconcile import claim
from hookrunner.registration.registrar import Registrar
from hookrunner.registration.webhook_objects import DEFINITION, MUTATING, VALIDATING
from tests.controlplane.cluster import Cluster
from tests.fakes.objects import definition
from tests.kube.real import credentials_of

JSON = Any
PATIENCE = 60
CLUSTER = pytest.param("cluster", marks=pytest.mark.cluster)
"""The real one, as a parameter of the fixture `world`."""
ON_A_CLUSTER = pytest.mark.parametrize("world", [CLUSTER], indirect=True)


class Meter:
    """Remembers the requests that were answered, as `PUT 200`."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def request_finished(self, verb: str, url: str, host: str, code: str, seconds: float) -> None:
        self.requests.append(f"{verb} {code}")

    def waited(self, verb: str, url: str, seconds: float) -> None:
        pass

    @property
    def writes(self) -> list[str]:
        """Those that changed something."""
        return [request for request in self.requests if request.startswith(("P", "D")) and request.endswith(("0", "1"))]


@dataclass(slots=True)
class World:
    """`other` is another client, `name` the configurations' name, `group` the group of the own CRDs."""

    credentials: Credentials
    other: Client
    metrics: Metrics
    stack: AsyncExitStack
    name: str = field(default_factory=lambda: f"registration-{secrets.token_hex(4)}")

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    @property
    def things(self) -> str:
        return f"things.{self.group}"

    @property
    def target(self) -> Target:
        return Target(f"https://127.0.0.1:9/{self.name}", "", "")

    def desired(self, *hooks: Hook, incomplete: bool = False) -> DesiredRegistrations:
        return desired_registrations(hooks, self.name, self.target, self.target, incomplete)

    def validating(self, *names: str, hook: str = "hook.sh", **more: Any) -> Hook:
        bindings = tuple(Admission(name, (self.rule(),), **more) for name in names)
        return a_hook(hook, validating=bindings)

    def rule(self) -> JSON:
        return {"apiGroups": [self.group], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}

    def converting(self) -> Hook:
        return a_hook("convert.sh", conversions=(ConversionBinding("c", self.things, (("v1", "v2"),)),))

    async def registrar(self, wanted: DesiredRegistrations, started: float = 1.0) -> tuple[Registrar, Meter]:
        """A process that lives since then, with a connection of its own."""
        meter = Meter()
        client = await self.stack.enter_async_context(Client(self.credentials, meter))
        return Registrar(client, self.metrics, wanted, claim(started)), meter

    @asynccontextmanager
    async def kept(
        self, *registrars: Registrar, trust: bytes = b"", client: Client | None = None
    ) -> AsyncIterator[None]:
        """Published and looked after, by watches of this client."""
        async with asyncio.TaskGroup() as tasks:
            for registrar in registrars:
                await registrar.publish(trust)
            keeping = [tasks.create_task(one.keep(self.watches(client))) for one in registrars]
            yield
            for task in keeping:
                task.cancel()

    def watches(self, client: Client | None = None) -> Watches:
        client = client or self.other
        return Watches(client, Discovery(client), self.metrics, 75)

    async def get(self, resource: Resource, name: str = "") -> JSON:
        """As it is now, None if it is not there."""
        try:
            return await self.other.get(resource.path(name=name or self.name))
        except NotFound:
            return None

    async def seen(self, resource: Resource, check: Callable[[JSON], object], name: str = "") -> JSON:
        """The object, as soon as it is so; None while it does not exist."""
        name = name or self.name
        selection = Selection(resource.api_version, resource.kind, fields=f"metadata.name={name}")
        async with asyncio.timeout(PATIENCE), aclosing(self.watches().open(selection)) as batches:
            if check(current := await self.get(resource, name)):
                return current
            while not (found := [obj for obj in _objects(await anext(batches)) if check(obj)]):
                pass
            return found[0]

    async def create(self, resource: Resource, body: JSON) -> JSON:
        return orjson.loads(
            await self.other.send(ApiCall("POST", resource.path(), {"fieldManager": "another-client"}, body))
        )

    async def edit(self, resource: Resource, change: Callable[[JSON], object], name: str = "") -> JSON:
        """As `kubectl edit` does; again if another was faster, as the API server with a new definition's status."""
        path = resource.path(name=name or self.name)
        while True:
            obj = copy.deepcopy(await self.get(resource, name))
            change(obj)
            with suppress(Conflict):
                return orjson.loads(await self.other.send(ApiCall("PUT", path, {"fieldManager": "kubectl-edit"}, obj)))

    async def delete(self, resource: Resource, name: str = "") -> None:
        await self.other.send(ApiCall("DELETE", resource.path(name=name or self.name)))

    async def clean(self) -> None:
        for resource, name in ((VALIDATING, self.name), (MUTATING, self.name), (DEFINITION, self.things)):
            if await self.get(resource, name):
                await self.delete(resource, name)

    def definition(self) -> JSON:
        return definition(self.group, "Thing", "v1", "v2")


async def as_user(cluster: Cluster, namespace: str, *verbs: str, resources: list[str]) -> Credentials:
    """Those of a service account that may do just this, everywhere."""
    rule = {"apiGroups": ["*"], "resources": resources, "verbs": list(verbs)}
    user = await asyncio.to_thread(cluster.user, "u", namespace, [rule], everywhere=True)
    return credentials_of(user.kubeconfig)


def a_hook(name: str, module: str = "", **bindings: Any) -> Hook:
    return Hook(name, Path("/hooks") / name, HookConfig("v1", **bindings), module)


def entry_names(obj: JSON) -> list[str]:
    return [entry["name"] for entry in (obj or {}).get("webhooks") or []]


def _objects(reports: Sequence[Report]) -> list[JSON]:
    items = [report for report in reports if isinstance(report, ObjectSeen)]
    return [None if item.change is Change.DELETED else item.obj for item in items]
