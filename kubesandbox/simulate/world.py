"""What controllers plan and what they see.

A plan is a value: writes, at once or after a while; `loop.py` carries them out. What they see are the objects of the
store, read only, each look the newest.
"""

from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from kubesandbox.store import Key, Store, Stored
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Create:
    """A new object. Its owner, if given as `about`, gets an Event with the result: `{name}` is the new object's
    name."""

    obj: Object
    about: Object | None = None
    message: str = "Created pod: {name}"


@dataclass(frozen=True, slots=True)
class Update:
    """An object as it should be, with the resourceVersion that was read: after a conflict it is read again."""

    obj: Object
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """The deletion of an object and, after it, of its dependents; `grace` None is the kind's own."""

    obj: Object
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Bind:
    """A Pod gets its node."""

    pod: Object
    node: str


@dataclass(frozen=True, slots=True)
class Tell:
    """An Event about an object. `field` is a path inside it, such as `spec.containers{web}`."""

    about: Object
    reason: str
    message: str
    warning: bool = False
    field: str = ""


Write: TypeAlias = Create | Update | Delete | Bind | Tell


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """The next thing to happen to an object: what, and in how many seconds. A step that waits has a name: as long as
    the object's next step has the same name, its time goes on."""

    writes: tuple[Write, ...] = ()
    after: float = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that things take. `run` is how long containers work that end by themselves."""

    schedule: float = 0.1
    pull: float = 0.4
    init: float = 0.4
    ready: float = 0.5
    run: float = 3.0
    stop: float = 0.5
    bind: float = 0.05
    lost: float = 5.0


USUAL = Pace()


# ── the objects ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class World:
    """The store at one moment, `now`. Objects are shared by all readers and must not be changed.

    `parsed` keeps them with their revision from one look to the next.
    """

    store: Store
    now: datetime
    pace: Pace = USUAL
    parsed: dict[Key, tuple[int, Object]] = field(default_factory=dict)

    def one(self, resource: str, namespace: str, name: str) -> Object | None:
        """An object; None if it does not exist."""
        stored = self.store.get(Key(resource, namespace, name))
        return self._read(stored) if stored else None

    def all(self, resource: str, namespace: str = "") -> list[Object]:
        """Objects of a resource, of one namespace or all."""
        return [self._read(stored) for stored in self.store.select(resource, namespace)]

    def _read(self, stored: Stored) -> Object:
        revision, obj = self.parsed.get(stored.key, (0, {}))
        if revision != stored.revision:
            obj = stored.json()
            self.parsed[stored.key] = (stored.revision, obj)
        return obj

    def owned(self, resource: str, owner: Object) -> list[Object]:
        """Those that an object controls."""
        meta = owner["metadata"]
        there = self.all(resource, meta.get("namespace", ""))
        return [obj for obj in there if (controller(obj) or {}).get("uid") == meta["uid"]]


def controller(obj: Object) -> Object | None:
    """The owner reference of who controls an object."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)
