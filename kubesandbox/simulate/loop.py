"""The one loop of the simulation: what changed is looked at, what is wanted is written, what takes time waits.

Every controller is a function from an object and what it can see to its next `PlannedStep`. Writes go through the verbs
of the api like those of any client, under the component's own field manager; they come back as changes and are looked
at again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from http import HTTPStatus
from itertools import product

from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.simulate.controllers import CONTROLLERS, NODES, Controller
from kubesandbox.simulate.nodes import first_nodes
from kubesandbox.simulate.world import USUAL, Bind, Create, Delete, Pace, PlannedStep, Tell, Update, World, Write
from kubesandbox.status import Refused
from kubesandbox.store import Key, StoreChange
from kubesandbox.times import rfc3339
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.rules import Object
from kubetypes.timers import TICK

_log = logging.getLogger(__name__)

GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN)
"""Refusals of a creation that are not about the object: it exists already, the namespace is being deleted."""

Item = tuple[Controller, Key]


@asynccontextmanager
async def simulating(api: Api, pace: Pace = USUAL) -> AsyncIterator[None]:
    """Pods run and workloads make progress inside the `with`."""
    task = asyncio.create_task(Simulation(api, CONTROLLERS, pace).run(), name="simulate")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Simulation:
    """Controllers at work on one api."""

    def __init__(self, api: Api, controllers: Sequence[Controller], pace: Pace) -> None:
        self._api = api
        self._controllers = controllers
        self._pace = pace
        self._dirty: dict[Item, None] = {}
        self._due: dict[Item, tuple[float, str]] = {}
        self._parsed: dict[Key, tuple[int, Object]] = {}
        self._told = 0

    async def run(self) -> None:
        """Runs until cancelled."""
        since = self._api.store.revision
        self._carry_out(NODES, PlannedStep(tuple(Create(node) for node in first_nodes(self._world()))))
        self._look_at_everything()
        while True:
            await self._work()
            if not self._dirty:
                await self._news(since)
            since = self._learn(since)

    # ── what to look at ───────────────────────────────────────────────────────────────────────────────────────────

    async def _news(self, since: int) -> None:
        """Wait for a change, or until something is due."""
        due = min((when for when, _ in self._due.values()), default=None)
        with suppress(TimeoutError, Refused):
            async with asyncio.timeout_at(due):
                await self._api.store.wait_for_change("", since)

    def _learn(self, since: int) -> int:
        """Find out what changes concern; the revision that is known then."""
        try:
            changes = self._api.store.changes(since)
        except Refused:  # compacted: what happened in between is not known
            self._look_at_everything()
            return self._api.store.revision
        for change in changes:
            self._concerned(change)
        now = asyncio.get_running_loop().time() + TICK
        self._dirty |= {item: None for item, (when, _) in self._due.items() if when <= now}
        return changes[-1].revision if changes else since

    def _look_at_everything(self) -> None:
        for controller in self._controllers:
            for stored in self._api.store.select(controller.resource):
                self._dirty[controller, stored.key] = None

    def _concerned(self, change: StoreChange) -> None:
        """An object concerns its own controllers, and those of others that say so."""
        resource = change.key.resource
        if change.after is None:
            self._parsed.pop(change.key, None)
        for controller in self._controllers:
            if controller.resource == resource:
                self._dirty[controller, change.key] = None
        if others := [one for one in self._controllers if resource in one.concerns]:
            states = [stored.json() for stored in (change.before, change.after) if stored is not None]
            for controller, obj in product(others, states):
                for key in controller.concerns[resource](obj, self._world()):
                    self._dirty[controller, key] = None

    # ── what to do ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> None:
        """Look at each object once; requests are answered in between. What that changes is for the next round."""
        dirty, self._dirty = self._dirty, {}
        for controller, key in dirty:
            try:
                self._look_at(controller, key)
            except Exception as error:
                _log.error("%s met a bug with %s", controller.component, key, exc_info=error)
            await asyncio.sleep(0)

    def _look_at(self, controller: Controller, key: Key) -> None:
        item, obj = (controller, key), self._world().one(*key)
        step = controller.step(obj, self._world()) if obj is not None else None
        if step is None:
            self._due.pop(item, None)
        elif self._is_time(item, step):
            self._due.pop(item, None)
            self._carry_out(controller, step)
            if step.after:
                self._dirty[item] = None

    def _is_time(self, item: Item, step: PlannedStep) -> bool:
        """Whether to do it now; if not, it is noted when."""
        now = asyncio.get_running_loop().time()
        when, name = self._due.get(item, (0.0, ""))
        if not step.after:
            return True
        if name != step.name:
            when = now + step.after
            self._due[item] = (when, step.name)
        return when <= now + TICK

    def _world(self) -> World:
        return World(self._api.store, self._api.now(), self._pace, self._parsed)

    # ── writes, as any client would make them ─────────────────────────────────────────────────────────────────────

    def _carry_out(self, controller: Controller, step: PlannedStep) -> None:
        """One write after the other. What is refused as stale comes round again as a change."""
        for write in step.writes:
            try:
                self._write(controller, write)
            except Refused as refused:
                _log.debug("a write of %s was refused: %s", controller.component, refused.message)
                if isinstance(write, Create) and write.about is not None and refused.code not in GONE:
                    message = f"Error creating: {refused.message}"
                    self._write(controller, Tell(write.about, "FailedCreate", message, warning=True))
                return

    def _write(self, controller: Controller, write: Write) -> None:
        options = WriteParameters(manager=controller.manager)
        match write:
            case Create(obj, about, message):
                kind, where = self._place(obj)
                name = self._api.create(kind, where, options, Body(obj)).obj["metadata"]["name"]
                if about is not None:
                    self._write(controller, Tell(about, "SuccessfulCreate", message.format(name=name)))
            case Update(obj, subresource):
                kind, where = self._place(obj, subresource)
                self._api.update(kind, where, options, Body(obj))
            case Delete(obj, grace):
                kind, where = self._place(obj)
                self._api.delete(kind, where, DeleteParameters(False, "Background", grace, obj["metadata"]["uid"]))
            case Bind(pod, node):
                kind, where = self._place(pod, "binding")
                target = {"target": {"apiVersion": "v1", "kind": "Node", "name": node}}
                self._api.create_below(kind, where, options, target)
            case Tell(about):
                self._told += 1
                host = about.get("spec", {}).get("nodeName", "") if controller.component == "kubelet" else ""
                self._write(controller, Create(event(write, controller.component, self._api.now(), self._told, host)))

    def _place(self, obj: Object, subresource: str = "") -> tuple[Kind, Place]:
        kind = self._api.kinds.of_kind(obj["apiVersion"], obj["kind"])
        assert kind is not None
        meta = obj["metadata"]
        name = meta.get("name", "") if "uid" in meta else ""
        return kind, Place(kind.group, kind.version, kind.plural, meta.get("namespace", ""), name, subresource)


# ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Events, as controllers, the scheduler and the kubelet write them.
#
# https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/


def event(tell: Tell, component: str, now: datetime, number: int, host: str = "") -> Object:
    """The core/v1 Event for a message. `host` is the node where the component is the kubelet.

    Names go up with the time, and with the `number` inside a second: lists show Events in the order in which they came.
    """
    meta = tell.about["metadata"]
    about = {
        "kind": tell.about["kind"],
        "apiVersion": tell.about["apiVersion"],
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
        "fieldPath": tell.field,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{meta['name']}.{int(now.timestamp()) * 10**9 + number:x}",
            "namespace": meta.get("namespace") or "default",
        },
        "involvedObject": {key: value for key, value in about.items() if value},
        "reason": tell.reason,
        "message": tell.message,
        "type": "Warning" if tell.warning else "Normal",
        "source": {"component": component, **({"host": host} if host else {})},
        "reportingComponent": component,
        "reportingInstance": host,
        "count": 1,
        "firstTimestamp": rfc3339(now),
        "lastTimestamp": rfc3339(now),
        "eventTime": None,
    }
