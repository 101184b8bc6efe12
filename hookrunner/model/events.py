"""Past facts that sources yield, only for the engine, which turns each into tasks."""

from dataclasses import dataclass

from hookrunner.model.bindings import Change
from hookrunner.model.resources import ObjectKey


@dataclass(frozen=True, slots=True)
class BindingId:
    """A kubernetes binding of a hook: the hook's name and the binding's place in its config.

    Names alone are not enough: two unnamed bindings of a hook are both called `kubernetes`.
    """

    hook: str
    index: int

    def __str__(self) -> str:
        return f"{self.hook}[{self.index}]"


@dataclass(frozen=True, slots=True)
class ObjectChanged:
    """A change of one object that a binding asked for.

    `obj` is the complete object as compact JSON, None if the binding keeps none; `filtered` the filter's result as
    compact JSON, None without a filter. For a deletion both are the last state known. `seen_at` is the monotonic
    time at which the change arrived from the API server.
    """

    binding: BindingId
    change: Change
    key: ObjectKey
    obj: bytes | None
    filtered: bytes | None
    seen_at: float


@dataclass(frozen=True, slots=True)
class FilterBroke:
    """The filter failed on a changed object, so it is not known yet whether the binding cares. The engine makes a
    visible failed task of it and asks the monitor again later."""

    binding: BindingId
    key: ObjectKey
    reason: str
    seen_at: float


@dataclass(frozen=True, slots=True)
class Progressed:
    """A binding's obstacle may have come or gone: look again at the tasks that wait for it."""

    binding: BindingId


@dataclass(frozen=True, slots=True)
class Ticked:
    """A crontab came due. `at` is wall-clock time in epoch seconds. All bindings with this text share the tick."""

    crontab: str
    at: float
    timezone: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a hook must not run on a snapshot. `brief` means that it will pass by itself at once, so a queue may wait
    for it; otherwise the task is set aside and others pass. `word` is the kind of obstacle, one of few: for metrics."""

    reason: str
    brief: bool
    word: str = "refused"
