"""How far each unit has come and what is still to do with it. Kept in memory; `UnitState` is the only writer.

A unit is what convergence reconciles: a module, or an instance of an addon. Instances come and go while modules stay,
have no weight, and bring their blueprint along; else they are treated as modules are.

What is pending is known per unit and not in a plan that an edit may discard, so a converge that begins again loses
nothing.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Never, TypeVar

from hookrunner.convergence.events import Notices
from hookrunner.convergence.plan import OwnBlueprint
from hookrunner.convergence.unit_changes import UnitChanges
from hookrunner.errors import BadModule
from hookrunner.metrics.addons import RunStep
from hookrunner.model.bindings import BindingType, Hook
from hookrunner.model.modules import Choice, Decision, Module, Phase
from hookrunner.model.releases import Adoption, KeptObject
from hookrunner.waits import Notifier

NOT_YET = Decision(Choice.UNDECIDED, "", "not decided yet")

_T = TypeVar("_T")


class _ReadOnly(Generic[_T]):
    """A field that its class keeps under its name with an underscore, and that others can only read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, instance: object, owner: type) -> _T:
        value: _T = getattr(instance, self._name)
        return value

    def __set__(self, instance: object, value: Never) -> Never:
        raise AttributeError(f"{self._name[1:]} is changed by the methods of {type(instance).__name__} only")


class UnitState:
    """One module, or one instance of an addon. Everybody reads the properties; only the methods below change them.

    Requests to run the module are counted. An attempt covers all requests that were made before it began; `done` and
    `failed` say how many of them the last successful and the last failed attempt covered. Times are monotonic seconds,
    but `since` and `last_success` are epoch seconds.

    Always true (`tests/convergence/test_unit_state.py` checks it for random sequences of calls):

    - done <= begun <= requested, failed <= begun, and adopts <= requested;
    - an attempt is under way: `busy_since` is set;
    - between attempts: if everything requested is done, or it failed and nothing was requested since, `busy_since` is
      not set (a deletion that was requested sets it until its attempt ends);
    - `owed_since` is set only while something is requested that is not done, or a deletion is;
    - its turn has come: `waits_for` is empty;
    - not live: it was never ready, no delete hook has run, and its phase is not READY;
    - hooks only if `loaded`, kinds only if `has_definitions`.
    """

    module = _ReadOnly[Module]()
    """What its directory says."""
    blueprint = _ReadOnly[OwnBlueprint | None]()
    """What its release is made from, if that is not the chart in its directory."""
    decision = _ReadOnly[Decision]()
    """Whether it should run, who says so and why."""
    phase = _ReadOnly[Phase]()
    """The step that it has reached; a retry continues from there."""
    since = _ReadOnly[float]()
    """When it reached that phase (epoch seconds)."""
    live = _ReadOnly[bool]()
    """Is anything of it at work, here or in the cluster?"""
    requested = _ReadOnly[int]()
    """How many runs were requested."""
    begun = _ReadOnly[int]()
    """How many of them the last attempt covers."""
    turn = _ReadOnly[bool]()
    """Has its turn come in the present round, or between rounds in the last one?"""
    waits_for = _ReadOnly[str]()
    """The modules that it waits for before its turn comes."""
    busy_since = _ReadOnly[float | None]()
    """Since when something is pending or under way; None if nothing is."""
    owed_since = _ReadOnly[float | None]()
    """Since when other modules wait for it; None if it owes nothing."""
    began_at = _ReadOnly[float]()
    """When the last attempt began."""
    ready_at = _ReadOnly[float]()
    """When the last successful attempt ended."""
    last_success = _ReadOnly[float]()
    """When it was last ready (epoch seconds), 0 for never since it was installed."""
    error = _ReadOnly[str]()
    """Why its last attempt failed; empty if it succeeded."""
    lacks_snapshot = _ReadOnly[bool]()
    """Did its last attempt fail because a hook had no snapshot?"""
    revision = _ReadOnly[int]()
    """The revision of its release, 0 without one."""
    pinned = _ReadOnly[bool]()
    """Is that an earlier revision which a user has brought back?"""
    adopted = _ReadOnly[tuple[Adoption, ...]]()
    """The objects that the last attempt has taken over."""
    kept = _ReadOnly[tuple[KeptObject, ...]]()
    """The objects that have left an instance's release in the last attempt, and stay."""
    activation = _ReadOnly[str]()
    """What caused the converge that the present attempt belongs to, empty for most; a label of metrics."""

    def __init__(self, module: Module, decision: Decision = NOT_YET, blueprint: OwnBlueprint | None = None) -> None:
        self._module, self._blueprint = module, blueprint
        self._decision = decision
        self._phase, self._since = Phase.STARTUP, time.time()
        self._hooks: tuple[Hook, ...] | None = None
        self._live = False
        self._requested = self._begun = self._done = self._failed = 0
        self._turn, self._waits_for = False, ""
        self._busy_since: float | None = None
        self._owed_since: float | None = None
        self._began_at = self._ready_at = self._last_success = 0.0
        self._error, self._lacks_snapshot = "", False
        self._revision, self._pinned = 0, False
        self._adopts = 0
        self._adopted: tuple[Adoption, ...] = ()
        self._kept: tuple[KeptObject, ...] = ()
        self._kinds: frozenset[str] | None = None
        self._ended: set[tuple[BindingType, str]] = set()
        self._activation = ""

    @property
    def on(self) -> bool:
        """Should it run?"""
        return self._decision.choice is Choice.ON

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Its hooks, empty until they are loaded."""
        return self._hooks or ()

    @property
    def loaded(self) -> bool:
        """Are `hooks` all that it has?"""
        return self._hooks is not None

    @property
    def ready(self) -> bool:
        """Is everything done that was requested?"""
        return self._done == self._requested and not self._error

    @property
    def parked(self) -> bool:
        """Has its last attempt failed?"""
        return bool(self._error)

    @property
    def set_aside(self) -> bool:
        """Has an attempt failed that covered all requests, so that other modules need not wait for it?"""
        return self.parked and self._failed == self._requested

    @property
    def may_adopt(self) -> bool:
        """May its present attempt take over objects?"""
        return self.module.traits.adopt or 0 < self._adopts <= self._begun

    @property
    def adopting(self) -> bool:
        """Was a run requested that may take over objects, and has it not ended?"""
        return self._adopts > 0

    @property
    def has_definitions(self) -> bool:
        """Are its CustomResourceDefinitions applied?"""
        return self._kinds is not None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that its applied definitions define."""
        return self._kinds or frozenset()

    # Decisions, turns and requests.

    def decide(self, decision: Decision) -> None:
        """Take a decision over."""
        self._decision = decision

    def describe(self, module: Module) -> None:
        """Its user wants other traits of it."""
        self._module = module

    def await_turn(self) -> None:
        """It runs when its turn has come. An attempt that waits in its queue for its back-off does not run before."""
        self._turn = False

    def wait_for(self, names: Iterable[str]) -> None:
        """Other modules come first, as long as its turn has not come."""
        self._waits_for = "" if self._turn else ", ".join(names)

    def request(self, now: float) -> None:
        """Its turn has come, or more is requested in its turn. The patience of others counts from now on, or from when
        it became busy with something else: they have waited for that already."""
        if self.ready or not self._turn:
            self._owed_since = now if self._busy_since is None else self._busy_since
        self._turn, self._waits_for = True, ""
        self._requested += 1
        self._become_busy(now)

    def request_adoption(self, now: float) -> None:
        """The same, and that run may take over objects."""
        self.request(now)
        self._adopts = self._requested

    def request_deletion(self, now: float) -> None:
        """Its deletion is due; why it could not run does not matter any more."""
        self._error, self._lacks_snapshot = "", False
        self._owed_since = now if self._busy_since is None else self._busy_since
        self._become_busy(now)

    def postpone(self) -> None:
        """A task came before its turn; its turn will bring another one."""
        self._busy_since = None

    def drop_requests(self) -> None:
        """A task came too late: the module was switched on or off meanwhile."""
        self._busy_since = self._owed_since = None
        self._adopts = 0

    # Attempts. There is one at a time, for the tasks of a module wait in one queue.

    def begin(self, now: float, activation: str) -> None:
        """An attempt begins, with everything that was requested so far."""
        self._begun, self._busy_since, self._began_at = self._requested, now, now
        self._activation, self._adopted, self._kept = activation, (), ()

    def reach(self, phase: Phase) -> None:
        """It has come as far as this."""
        self._phase, self._since = phase, time.time()

    def become_ready(self) -> None:
        """All steps of a run are done."""
        self._last_success = time.time()

    def succeed(self, now: float) -> None:
        """The attempt has succeeded."""
        self._error, self._lacks_snapshot = "", False
        self._done, self._ready_at = self._begun, now

    def fail(self, reason: str, lacks_snapshot: bool = False) -> None:
        """The attempt has failed; another one follows after a back-off."""
        self._error, self._lacks_snapshot = reason, lacks_snapshot
        self._failed = self._begun

    def end_attempt(self, now: float) -> None:
        """The attempt is over, also one that neither succeeded nor failed because it is not wanted any more."""
        if self._done == self._requested:
            self._busy_since = self._owed_since = None
        else:
            self._busy_since = None if self.parked else now
        if self._adopts <= self._begun:
            self._adopts = 0

    # What exists of it.

    def mark_live(self) -> None:
        """Something of it is at work, here or in the cluster."""
        self._live = True

    def keep(self) -> None:
        """It is run: from now on something of it is at work, and a deletion that had begun is called off."""
        self._live = True
        self._ended.clear()

    def remove(self) -> None:
        """Its deletion has ended: nothing is left of it."""
        self._live, self._turn = False, False
        self._revision, self._pinned, self._last_success = 0, False, 0.0
        self._ended.clear()
        self.reach(Phase.STARTUP)

    def load_hooks(self, hooks: Iterable[Hook]) -> None:
        """Its hooks have said what they want."""
        self._hooks = tuple(hooks)

    def forget_hooks(self) -> None:
        """They are not known any more."""
        self._hooks = None

    def has_ended(self, type: BindingType, hook: str) -> bool:
        """Has this delete hook run since the deletion began?"""
        return (type, hook) in self._ended

    def end_hook(self, type: BindingType, hook: str) -> None:
        """This delete hook has run and does not run again in this deletion."""
        self._ended.add((type, hook))

    def set_definitions(self, kinds: Iterable[str]) -> None:
        """Its definitions are applied; they define these kinds."""
        self._kinds = frozenset(kinds)

    def lose_definitions(self) -> None:
        """Some of them were deleted: the next run applies them again."""
        self._kinds = None

    def set_revision(self, revision: int, pinned: bool) -> None:
        """Its release is at this revision."""
        self._revision, self._pinned = revision, pinned

    def add_adopted(self, adoptions: Iterable[Adoption]) -> None:
        """The present attempt has taken over these objects."""
        self._adopted += tuple(adoptions)

    def add_kept(self, kept: Iterable[KeptObject]) -> None:
        """These objects have left its release in the present attempt, and stay."""
        self._kept += tuple(kept)

    def time_step(self, step: RunStep) -> AbstractContextManager[None]:
        """Measure a step of its run, if it has a blueprint of its own."""
        return self._blueprint.time_step(step) if self._blueprint else nullcontext()

    def _become_busy(self, now: float) -> None:
        """Something is pending, even if a hook still occupies its queue."""
        if self._busy_since is None:
            self._busy_since = now


class UnitStates:
    """All modules, in the order of their weights, and beside them the instances of addons; names find both. `changed`
    wakes those that wait for a change of one of them, `unit_changes` says of which; `notices` has what users should
    hear."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.changed = Notifier()
        self.unit_changes = UnitChanges()
        self.notices = Notices()
        self._states: Mapping[str, UnitState] = {module.name: UnitState(module) for module in modules}
        self._by_key = {state.module.key: state for state in self._states.values()}
        self._instances: dict[str, UnitState] = {}

    def __iter__(self) -> Iterator[UnitState]:
        return iter(self._states.values())

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, name: str) -> UnitState:
        return self._states[name] if name in self._states else self._instances[name]

    def get(self, name: str) -> UnitState | None:
        """The module or the instance of that name, else None."""
        return self._states.get(name) or self._instances.get(name)

    def add(self, instance: Module, blueprint: OwnBlueprint) -> UnitState:
        """Add an instance of an addon. Raises BadModule if its name is taken."""
        if instance.name in self._states or instance.name in self._instances:
            raise BadModule(f"{instance.name} is the name of two units; rename the module or the instance")
        state = self._instances[instance.name] = UnitState(instance, blueprint=blueprint)
        return state

    def note(self, unit: str) -> None:
        """A unit is in another state."""
        self.unit_changes.note(unit)
        self.changed.notify()

    def remove(self, state: UnitState) -> None:
        """Remove an instance."""
        del self._instances[state.module.name]
        self.changed.notify()

    @property
    def instances(self) -> tuple[UnitState, ...]:
        """The instances of addons at this moment."""
        return tuple(self._instances.values())

    @property
    def units(self) -> tuple[UnitState, ...]:
        """All modules, then all instances of addons."""
        return *self._states.values(), *self._instances.values()

    def of_key(self, key: str) -> UnitState | None:
        """The module with that section of values, else None."""
        return self._by_key.get(key)

    @property
    def enabled(self) -> list[UnitState]:
        """The modules that should run."""
        return [state for state in self if state.on]
