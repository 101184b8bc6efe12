"""Orders that wait in a queue, and what a worker says came of one.

How two hook runs become one is decided here and nowhere else (`HookRun.merged`); when is decided by `engine/queues`.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hookrunner.model.bindings import MAIN, BindingType
from hookrunner.model.contexts import Context, collapsed
from hookrunner.model.events import FilterBroke
from hookrunner.model.operations import Tried
from hookrunner.model.values import GLOBAL

Lane: TypeAlias = tuple[str, str]
"""Tasks of one lane keep their order when the first of them is set aside (design.md §2). A task may be in several."""


@dataclass(frozen=True, slots=True)
class HookRun:
    """Run a hook once with these contexts.

    `binding` and `binding_type` label logs and metrics; `place` is the binding's among those of its type in the config,
    for names may repeat. `unlocks` are the bindings (places in the config) whose events start to flow when this run has
    succeeded; a Synchronization that the hook does not want to hear of has no contexts and only unlocks. `merges` is
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
    def label(self) -> str:
        """What the hook is called beside its module's name."""
        return self.hook.removeprefix(f"{self.module}/") if self.module else self.hook

    @property
    def owner(self) -> tuple[str, ...]:
        """The hook's module, for the label `module` of metrics that not every series has; nothing for one of none."""
        return (self.module,) if self.module else ()

    @property
    def lanes(self) -> frozenset[Lane]:
        """One for each binding that it is about."""
        return self.joined | {(self.hook, f"{self.binding_type}[{self.place}]")}

    @property
    def labels(self) -> tuple[str, str, str]:
        """Hook, binding and queue for metrics; an onStartup run shows no queue (§10.2), a module's own is `main`."""
        queue = MAIN if self.queue == own_queue(self.module) else self.queue
        return (self.label, self.binding, "" if self.binding_type is BindingType.ON_STARTUP else queue)

    @property
    def synchronizes(self) -> bool:
        """Does this run end a binding's wait for its Synchronization?"""
        return bool(self.unlocks)

    def absorbs(self, other: "Order") -> bool:
        """May `other`, which stands behind this run, be done in the same execution (§6.5)?

        An ungrouped Synchronization and an onStartup run stand alone. Different `allowFailure` never merges.
        """
        if not isinstance(other, HookRun) or not (self.merges and other.merges):
            return False
        alone = self.binding_type is BindingType.ON_STARTUP or (self.synchronizes and not self.group)
        return not alone and self.hook == other.hook and self.allow_failure == other.allow_failure

    def merged(self, others: Sequence["HookRun"]) -> "HookRun":
        """This run with the contexts of `others` behind its own; label, binding and group stay this run's."""
        if not others:
            return self
        contexts = itertools.chain(self.contexts, *(other.contexts for other in others))
        unlocks = itertools.chain(self.unlocks, *(other.unlocks for other in others))
        lanes = self.joined.union(*(other.lanes for other in others))
        return replace(self, contexts=collapsed(tuple(contexts)), unlocks=tuple(unlocks), joined=lanes)

    def compacted(self, others: Sequence["HookRun"]) -> "HookRun":
        """As `merged`, and of each group only the last context stays, in its place (§6.6)."""
        whole = self.merged(others)
        last = {context.group: place for place, context in enumerate(whole.contexts)}
        kept = (c for place, c in enumerate(whole.contexts) if not c.group or last[c.group] == place)
        return replace(whole, contexts=tuple(kept))


@dataclass(frozen=True, slots=True)
class EnableKubernetesBindings:
    """Queue the Synchronization of each kubernetes binding of a hook."""

    hook: str
    queue: str = MAIN
    name = "EnableKubernetesBindings"

    @property
    def lanes(self) -> frozenset[Lane]:
        """One of a kind."""
        return frozenset({(self.hook, self.name)})


@dataclass(frozen=True, slots=True)
class EnableScheduleBindings:
    """Arm the crontabs of a hook."""

    hook: str
    queue: str = MAIN
    name = "EnableScheduleBindings"

    @property
    def lanes(self) -> frozenset[Lane]:
        """One of a kind."""
        return frozenset({(self.hook, self.name)})


@dataclass(frozen=True, slots=True)
class FilterRetry:
    """Ask a monitor to filter an object again whose last filtering failed. Shown, retried, never in the way."""

    hook: str
    binding: str
    queue: str
    broken: FilterBroke
    name = "FilterRetry"

    @property
    def lanes(self) -> frozenset[Lane]:
        """Each object has a lane of its own: a broken filter holds up nothing else."""
        return frozenset({(self.hook, f"{self.binding} {self.broken.key}")})


def own_queue(module: str) -> str:
    """The queue of what would go to `main`, were there only this module: modules do not wait for each other."""
    return f"module/{module}" if module not in ("", GLOBAL) else MAIN


@dataclass(frozen=True, slots=True)
class ModuleTask:
    """Bring a module to where it is to be (`ModuleRun`: its hooks, its release), or take it away (`ModuleDelete`:
    addon-operator.md §5.5, §5.7). `cause` says why now."""

    name: Literal["ModuleRun", "ModuleDelete"]
    module: str
    cause: str
    hook = ""

    @property
    def deletes(self) -> bool:
        """Is the module to go?"""
        return self.name == "ModuleDelete"

    @property
    def queue(self) -> str:
        """The module's own."""
        return own_queue(self.module)

    @property
    def lanes(self) -> frozenset[Lane]:
        """Whatever is done with a module as a whole keeps its order."""
        return frozenset({("", self.module)})


Order: TypeAlias = HookRun | EnableKubernetesBindings | EnableScheduleBindings | FilterRetry | ModuleTask


@dataclass(slots=True, eq=False)
class Task:
    """An order in a queue and what the queue knows about it. Times are monotonic seconds; `queued_at` begins anew
    with each attempt.

    `due` is the time before which it does not run, `delay` the pause that led to it. `passable` says that tasks of
    other lanes need not wait for it meanwhile. `is_rate_limited` says that it waits for its hook's rate limit.
    `waits_for` names the binding whose snapshot it misses. `tried` are the object operations of the attempt before.
    """

    order: Order
    created_at: float
    queued_at: float = 0.0
    failures: int = 0
    error: str = ""
    due: float = 0.0
    delay: float = 0.0
    passable: bool = False
    is_rate_limited: bool = False
    waits_for: str = ""
    tried: Tried = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    id: int = field(default_factory=itertools.count(1).__next__)

    def __post_init__(self) -> None:
        self.queued_at = self.created_at

    def describe(self) -> str:
        """One line for a queue dump: `<TaskType>:<queue>:<bindingType>:<hook>[:group=<g>][:<binding>][:failures …]`
        (§11.4)."""
        text = ":".join([self.order.name, *_where(self.order)])
        if self.failures:
            text += f":failures {self.failures}" + (f":{self.error}" if self.error else "")
        if self.waits_for:
            text += f":waiting for snapshot of {self.waits_for}"
        return text


def _where(order: Order) -> list[str]:
    match order:
        case ModuleTask(module=module, cause=cause):
            return [order.queue, module, cause]
        case HookRun():
            startup = order.binding_type is BindingType.ON_STARTUP
            group = [f"group={order.group}"] * bool(order.group)
            binding = [order.binding] * (not startup)
            return ["" if startup else order.queue, order.binding_type, order.hook, *group, *binding]
        case FilterRetry():
            return [order.queue, BindingType.KUBERNETES, order.hook, f"{order.binding} {order.broken.key}"]
        case EnableKubernetesBindings() | EnableScheduleBindings():
            return ["", "", order.hook, order.name]


@dataclass(frozen=True, slots=True)
class Done:
    """The task is finished; `followers` go to the head of its queue, in this order."""

    followers: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The task is to be tried again after a back-off. `park` lets tasks of other lanes pass meanwhile."""

    reason: str
    park: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """The task is given up after its last attempt."""

    reason: str


@dataclass(frozen=True, slots=True)
class Postponed:
    """The task has not run: not before `seconds` have passed; others may pass (a rate limit, §6.7)."""

    seconds: float


Outcome: TypeAlias = Done | Failed | Dropped | Postponed
