"""What a controller wants: writes, at once or after a while. Values; `loop.py` carries them out."""

from dataclasses import dataclass
from typing import TypeAlias

from kubesandbox.verbs.rules import Object


@dataclass(frozen=True, slots=True)
class Create:
    """A new object. Its owner, if given as `about`, gets an Event with the result: `{name}` is the new object's
    name."""

    obj: Object
    about: Object | None = None
    message: str = "Created pod: {name}"


@dataclass(frozen=True, slots=True)
class Update:
    """An object as it should be, in the version that was looked at: a conflict means that it is looked at again."""

    obj: Object
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """An object must go, and what it owns after it; `grace` None is the kind's own."""

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
