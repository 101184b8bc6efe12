"""What may happen to a hook on the bench, and the state of the cluster in which it does: plain values.

A `binding` that is left empty means the only one that fits. Objects are complete API objects as parsed JSON, raw: a
binding's own filter is applied to them later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hookrunner.model.bindings import Change
from hookrunner.model.resources import JSON


@dataclass(frozen=True, slots=True)
class Startup:
    """hookrunner starts."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A module is run or deleted, or a pass over all modules begins or ends. `binding` is such as `beforeHelm`."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A schedule comes due. `binding` is its name or its crontab."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """An object comes, changes or goes. `old` is what a Modified object was before, None if that does not matter."""

    change: Change
    obj: JSON
    old: JSON = None
    binding: str = ""


@dataclass(frozen=True, slots=True)
class Synchronization:
    """The binding's objects have been listed for the first time."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Something happened to a binding of this group."""

    group: str


@dataclass(frozen=True, slots=True)
class Review:
    """The API server asks whether an operation is allowed. `operation`: CREATE, UPDATE, DELETE or CONNECT; `part` is a
    subresource of the object, such as `status`."""

    operation: str
    obj: JSON = None
    old: JSON = None
    binding: str = ""
    dry_run: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The API server wants objects of a custom kind in another version. `to` is `group/version`, or the binding's
    version alone."""

    objects: tuple[JSON, ...]
    to: str = ""
    binding: str = ""


Happening: TypeAlias = Startup | Lifecycle | Tick | Changed | Synchronization | Grouped | Review | Conversion


@dataclass(frozen=True, slots=True)
class Given:
    """The cluster before the happening. `objects` are offered to every binding, which takes those that match;
    `snapshots` are by a binding's name and for it alone. `values` and `config_values` are None for a hook that is not
    a module's."""

    objects: tuple[JSON, ...] = ()
    snapshots: Mapping[str, tuple[JSON, ...]] = field(default_factory=dict)
    values: JSON = None
    config_values: JSON = None


class NotRun(Exception):
    """The hook would not run; the message says which condition failed. A result, not a mistake."""
