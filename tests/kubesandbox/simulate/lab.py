"""A small cluster in virtual time: the api, the garbage collector and the simulation, without HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from kubesandbox import kinds
from kubesandbox.controllers import namespaces
from kubesandbox.controllers.garbage import Garbage
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.simulate.loop import simulating
from kubesandbox.status import Refused
from kubesandbox.store import Key, Store
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.patching import MERGE, Patch

START = datetime(2026, 1, 1, tzinfo=UTC)
MANAGER = WriteParameters(manager="test")


class Lab:
    """What a user can do, and see, in namespace `default`."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.store = Store(clock=loop.time)
        self.api = Api(self.store, Kinds(kinds.builtin()), lambda: START + timedelta(seconds=loop.time()))
        namespaces.make_first(self.api)

    def create(self, text: str) -> None:
        """Create the objects of YAML documents."""
        for obj in yaml.safe_load_all(text):
            kind = self.api.kinds.of_kind(obj["apiVersion"], obj["kind"])
            assert kind is not None
            self.api.create(kind, self._place(kind), MANAGER, Body(obj))

    def patch(self, resource: str, name: str, patch: Any) -> None:
        """A merge patch."""
        kind = self._kind(resource)
        self.api.patch(kind, self._place(kind, name), MANAGER, Patch(MERGE, patch))

    def delete(self, resource: str, name: str, propagation: str = "Background") -> None:
        """As `kubectl delete --wait=false --cascade=…` does."""
        kind = self._kind(resource)
        self.api.delete(kind, self._place(kind, name), DeleteParameters(propagation=propagation))

    def one(self, resource: str, name: str) -> Any:
        """An object; it must be there."""
        namespace = "default" if self._kind(resource).namespaced else ""
        stored = self.store.get(Key(resource, namespace, name))
        assert stored is not None, f"no {resource} {name}"
        return stored.json()

    def all(self, resource: str) -> list[Any]:
        """Objects of every namespace."""
        return [stored.json() for stored in self.store.select(resource)]

    def names(self, resource: str) -> list[str]:
        """Their names."""
        return [obj["metadata"]["name"] for obj in self.all(resource)]

    def events(self, reason: str) -> list[str]:
        """The messages of all Events with a reason."""
        return [event["message"] for event in self.all("events") if event["reason"] == reason]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for something to be so; within an hour, which passes at once."""
        async with asyncio.timeout(3600):
            while not holds():
                await self.store.wait_for_change("", self.store.revision)
                await asyncio.sleep(0)

    async def later(self, seconds: float = 60) -> None:
        """Let time go by."""
        await asyncio.sleep(seconds)

    def _kind(self, resource: str) -> Kind:
        kind = self.api.kinds.of_stored(resource)
        assert kind is not None
        return kind

    def _place(self, kind: Kind, name: str = "") -> Place:
        return Place(kind.group, kind.version, kind.plural, "default" if kind.namespaced else "", name)


@asynccontextmanager
async def running() -> AsyncIterator[Lab]:
    """A cluster where everything goes on by itself. (No fixture: these do not see the test's virtual time.)"""
    lab = Lab()
    collecting = asyncio.create_task(collect(lab))
    async with simulating(lab.api):
        yield lab
    collecting.cancel()
    with suppress(asyncio.CancelledError):
        await collecting


async def collect(lab: Lab) -> None:
    garbage, since = Garbage(lab.api), lab.store.revision
    while True:
        try:
            await lab.store.wait_for_change("", since)
            for change in lab.store.changes(since):
                since = change.revision
                garbage.happened(change)
        except Refused:
            since = lab.store.revision
            garbage.sweep()
        await asyncio.sleep(0)
