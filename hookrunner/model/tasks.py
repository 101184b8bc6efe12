"""Orders that wait in a queue, and their outcomes.

How two hook runs become one is decided here and nowhere else (`HookRun.merged`); when is decided by `engine/queues`.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar, Literal, TypeAlias

from hookrunner.model.bindings import MAIN, BindingType, fields_of, label_of, owner_of
from hookrunner.model.contexts import Context, ContextType, collapsed
from hookrunner.model.events import FilterBroke
from hookrunner.model.hook_runs import RunProgress
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import PreviousAttempt
from hookrunner.model.resources import ObjectKey
from hookrunner.model.units import is_unit_of_addon
from kubetypes.light_dataclasses import dataclass

OPERATOR_STARTUP = "OperatorStartup"
"""The `activation` during the start: of global hooks' first runs, and of the first converge."""

Lane: TypeAlias = tuple[str, str]
"""Tasks of one lane keep their order when the first of them is set aside. A task may be in several."""


class _OfHook:
    """What every order about a hook can say of it: `hook` is its name, `module` its module."""

    __slots__ = ()
    hook: str
    module: str

    @property
    def label(self) -> str:
        """What the hook is called beside its module's name."""
        return label_of(self.hook, self.module)

    @property
    def owner(self) -> tuple[str, ...]:
        """The value of the label `module` in metrics."""
        return owner_of(self.module)


@dataclass(frozen=True, slots=True)
class HookRun(_OfHook):
    """Run a hook once with these contexts.

    Logs and metrics show `binding` and `binding_type`; `place` is the binding's among those of its type in the config,
    for names may repeat. `unlocks` are the bindings (places in the config) whose events start to flow when this run has
    succeeded; a Synchronization that the hook does not subscribe to has no contexts and only unlocks. `merges` is
    False for v0 hooks and for `settings.combine: false`. `seen_at` is the monotonic time at which the first of its
    events arrived. `joined` are the lanes of runs that were merged into it. `module` is the hook's; `activation` what
    set off the converge that the run is part of, empty for most.
    """

    hook: str
    binding: str
    binding_type: BindingType
    queue: str
    contexts: tuple[Context, ...]
    group: str = ""
    allow_failure: bool = False
    place: int = 0
    merges: bool = True
    unlocks: tuple[int, ...] = ()
    seen_at: float = 0.0
    joined: frozenset[Lane] = frozenset()
    module: str = ""
    activation: str = ""

    @property
    def name(self) -> str:
        """The kind of task, in the predecessors' words."""
        return {"": "HookRun", GLOBAL: "GlobalHookRun"}.get(self.module, "ModuleHookRun")

    @property
    def fields(self) -> dict[str, str]:
        """The run in a log record."""
        where = {"object": str(self.only_object)} if self.only_object else {}
        return {**fields_of(self.label, self.module), "binding": self.binding, "event": self.binding_type, **where}

    @property
    def only_object(self) -> ObjectKey | None:
        """The object that it is about; None if it is about several, or about none."""
        keys = {context.key for context in self.contexts}
        return keys.pop() if len(keys) == 1 else None

    @property
    def lanes(self) -> frozenset[Lane]:
        """One for each binding that it is about."""
        return self.joined | {(self.hook, f"{self.binding_type}[{self.place}]")}

    @property
    def labels(self) -> tuple[str, str, str]:
        """Hook, binding and queue for metrics. The onStartup run of a plain hook shows no queue, as in shell-operator;
        a module's own queue is `main`, as it is in addon-operator."""
        queue = MAIN if self.queue == own_queue(self.module) else self.queue
        startup = self.binding_type is BindingType.ON_STARTUP and not self.module
        return (self.label, self.binding, "" if startup else queue)

    @property
    def synchronizes(self) -> bool:
        """Does this run end a binding's wait for its Synchronization?"""
        return bool(self.unlocks)

    @property
    def synchronizes_object(self) -> bool:
        """Is it one of the runs that a binding has in place of its Synchronization, one for each object?"""
        first = self.contexts[0] if self.contexts else None
        return first is not None and first.type is ContextType.SYNCHRONIZATION and not first.has_all_objects

    def absorbs(self, other: "Order") -> bool:
        """May `other`, which stands behind this run, be done in the same execution?

        An ungrouped Synchronization and an onStartup run stand alone, the Synchronization of one object but for its
        events. Different `allowFailure` never merges.
        """
        if not isinstance(other, HookRun) or not (self.merges and other.merges):
            return False
        if (self.synchronizes_object or other.synchronizes_object) and self._objects != other._objects:
            return False
        alone = self.binding_type is BindingType.ON_STARTUP or (self.synchronizes and not self.group)
        return not alone and self.hook == other.hook and self.allow_failure == other.allow_failure

    @property
    def _objects(self) -> set[tuple[int | None, ObjectKey | None]]:
        return {(context.source, context.key) for context in self.contexts}

    def merged(self, others: Sequence["HookRun"]) -> "HookRun":
        """This run with the contexts of `others` behind its own; label, binding and group stay this run's."""
        if not others:
            return self
        contexts = itertools.chain(self.contexts, *(other.contexts for other in others))
        unlocks = itertools.chain(self.unlocks, *(other.unlocks for other in others))
        lanes = self.joined.union(*(other.lanes for other in others))
        return replace(self, contexts=collapsed(tuple(contexts)), unlocks=tuple(unlocks), joined=lanes)

    def compacted(self, others: Sequence["HookRun"]) -> "HookRun":
        """As `merged`, and of each group only the last context stays, in its place."""
        whole = self.merged(others)
        last = {context.group: index for index, context in enumerate(whole.contexts)}
        kept = (c for index, c in enumerate(whole.contexts) if not c.group or last[c.group] == index)
        return replace(whole, contexts=tuple(kept))


@dataclass(frozen=True, slots=True)
class _BindingTask(_OfHook):
    """A task of the start, which activates bindings of a hook. `module` is the hook's; `activation` becomes that of
    the runs that come of it."""

    hook: str
    module: str = ""
    activation: str = ""
    queue: str = MAIN
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The kind of task, in the predecessors' words."""
        return f"GlobalHook{self.kind}" if self.module == GLOBAL else self.kind

    @property
    def labels(self) -> tuple[str, str, str]:
        """Hook, binding and queue for metrics: the kind of task stands for the binding."""
        return (self.label, self.name, self.queue)

    @property
    def lanes(self) -> frozenset[Lane]:
        """One of a kind."""
        return frozenset({(self.hook, self.name)})


@dataclass(frozen=True, slots=True)
class EnableKubernetesBindings(_BindingTask):
    """Queue the Synchronization of each kubernetes binding of a hook."""

    kind = "EnableKubernetesBindings"


@dataclass(frozen=True, slots=True)
class EnableScheduleBindings(_BindingTask):
    """Arm the crontabs of a hook."""

    kind = "EnableScheduleBindings"


@dataclass(frozen=True, slots=True)
class FilterRetry(_OfHook):
    """Ask a monitor to filter an object again whose last filtering failed. Shown, retried, never in the way."""

    hook: str
    binding: str
    queue: str
    broken: FilterBroke
    module: str = ""
    name = "FilterRetry"

    @property
    def lanes(self) -> frozenset[Lane]:
        """Each object has a lane of its own: a broken filter holds up nothing else."""
        return frozenset({(self.hook, f"{self.binding} {self.broken.key}")})


def own_queue(unit: str) -> str:
    """The unit's own queue, used in place of `main` so that units do not block each other; that is `main` for global
    and plain hooks."""
    if unit in ("", GLOBAL):
        return MAIN
    return f"addon/{unit}" if is_unit_of_addon(unit) else f"module/{unit}"


@dataclass(frozen=True, slots=True)
class UnitTask:
    """Reconcile a unit (`ModuleRun`: its hooks, its release), or delete it (`ModuleDelete`); queue dumps and metrics
    have these names. `cause` says why now; `activation` as in `HookRun`, also for attempts after the first."""

    name: Literal["ModuleRun", "ModuleDelete"]
    unit: str
    cause: str
    activation: str = ""
    hook = ""
    label = ""

    @property
    def deletes(self) -> bool:
        """Is the unit to be deleted?"""
        return self.name == "ModuleDelete"

    @property
    def queue(self) -> str:
        """The unit's own."""
        return own_queue(self.unit)

    @property
    def owner(self) -> tuple[str, ...]:
        """The value of the label `module` in metrics."""
        return owner_of(self.unit)

    @property
    def labels(self) -> tuple[str, str, str]:
        """Hook, binding and queue for metrics: the kind of task stands for the binding, and the unit's own queue is
        `main`, as it is in addon-operator."""
        return (self.label, self.name, MAIN)

    @property
    def lanes(self) -> frozenset[Lane]:
        """All that is done with a unit as a whole keeps its order."""
        return frozenset({("", self.unit)})


Order: TypeAlias = HookRun | EnableKubernetesBindings | EnableScheduleBindings | FilterRetry | UnitTask


@dataclass(slots=True, eq=False)
class Task:
    """An order in a queue and what the queue knows about it. Times are monotonic seconds; `queued_at` is reset
    by each attempt.

    `due` is the time before which it does not run, `delay` the pause that led to it; from `early_from` on, an event of
    its object may bring `due` forward. With `passable` tasks of other lanes need not wait for it meanwhile.
    `is_rate_limited` means that it waits for its hook's rate limit, `is_repetition` that its hook has asked for it, at
    `due`. `waits_for` is what it misses: a snapshot, or values. `previous_attempt` are the object operations of the
    attempt before; `progress` is what the hook reports of the present one; `lanes` are those that its queue's rules
    give it.
    """

    order: Order
    created_at: float
    queued_at: float = 0.0
    failures: int = 0
    error: str = ""
    due: float = 0.0
    delay: float = 0.0
    early_from: float = 0.0
    passable: bool = False
    is_rate_limited: bool = False
    is_repetition: bool = False
    waits_for: str = ""
    previous_attempt: PreviousAttempt = field(default_factory=list)
    progress: RunProgress = field(default_factory=RunProgress)
    _over: asyncio.Event | None = None
    _has_ended: bool = False
    lanes: frozenset[Lane] = frozenset()
    id: int = field(default_factory=itertools.count(1).__next__)

    def __post_init__(self) -> None:
        self.queued_at = self.created_at

    @property
    def over(self) -> asyncio.Event:
        """Set when the task has left its queue. It is made for those that wait for it: of many tasks it is half of the
        memory."""
        if self._over is None:
            self._over = asyncio.Event()
            if self._has_ended:
                self._over.set()
        return self._over

    def end(self) -> None:
        """The task has left its queue."""
        self._has_ended = True
        if self._over:
            self._over.set()

    @property
    def failure(self) -> str:
        """How it fails, after the name of its hook: `has failed 3 times for tick: exit status 1`."""
        times = "once" if self.failures == 1 else f"{self.failures} times"
        error = self.error.removeprefix(f"{self.order.hook} FAILED: ")
        return f"has failed {times} for {_trigger(self.order)}: {error}"

    def describe(self) -> str:
        """One line for a queue dump:
        `<TaskType>:<queue>:<bindingType>:<hook>[:module=<m>][:group=<g>][:<binding>][:failures …]`."""
        text = ":".join([self.order.name, *_where(self.order)])
        if self.failures:
            text += f":failures {self.failures}" + (f":{self.error}" if self.error else "")
        if self.waits_for:
            text += f":waiting for {self.waits_for}"
        return text


def _trigger(order: Order) -> str:
    """What a task of a hook is for: its binding, or a step of the start."""
    return order.binding if isinstance(order, HookRun | FilterRetry) else order.name


def _where(order: Order) -> list[str]:
    match order:
        case UnitTask(unit=unit, cause=cause):
            return [order.queue, unit, cause]
        case HookRun():
            startup = order.binding_type is BindingType.ON_STARTUP
            group = [f"group={order.group}"] * bool(order.group)
            binding = [order.binding] * (not startup)
            return ["" if startup else order.queue, order.binding_type, *_hook(order), *group, *binding]
        case FilterRetry():
            return [order.queue, BindingType.KUBERNETES, *_hook(order), f"{order.binding} {order.broken.key}"]
        case EnableKubernetesBindings() | EnableScheduleBindings():
            return ["", "", *_hook(order), order.name]


def _hook(order: HookRun | EnableKubernetesBindings | EnableScheduleBindings | FilterRetry) -> list[str]:
    """The hook, by the name that logs and metrics have for it. That it is a global one, the kind of task says."""
    return [order.label, *[f"module={order.module}"] * (order.module not in ("", GLOBAL))]


@dataclass(frozen=True, slots=True)
class Done:
    """The task is finished; `followers` go to the head of its queue, in this order. `again_after` are the seconds after
    which the same run is repeated, None for never."""

    followers: tuple[Order, ...] = ()
    again_after: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Retry the task after a back-off. `park` lets tasks of other lanes pass meanwhile."""

    reason: str
    park: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """The task is given up after its last attempt."""

    reason: str


@dataclass(frozen=True, slots=True)
class Postponed:
    """The task has not run: not before `seconds` have passed; others may pass (a rate limit)."""

    seconds: float


Outcome: TypeAlias = Done | Failed | Dropped | Postponed
