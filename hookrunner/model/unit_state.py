"""How far each unit has come and what is still to do with it. Kept in memory; `UnitState` is the only writer.

A unit is what convergence reconciles: a module, or an instance of an addon. What only modules have is in `ModuleState`;
what only instances have, beside their units in `instances/`.

What is pending is known per unit and not in a plan that an edit may discard, so a converge that begins again loses
nothing.
"""

import time
from collections.abc import Iterable

from hookrunner.errors import HookrunnerError, RunBlocked
from hookrunner.model.bindings import BindingType, Hook
from hookrunner.model.modules import Choice, Decision, Module, Phase
from hookrunner.model.read_only import ReadOnly
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.units import Unit

NOT_YET = Decision(Choice.UNDECIDED, "", "not decided yet")


class UnitState:
    """One unit. Everybody reads the properties; only the methods below change them.

    Requests to run the module are counted. An attempt covers all requests that were made before it began; `done` and
    `failed` say how many of them the last successful and the last failed attempt covered. Times are monotonic seconds,
    but `since` and `last_success` are epoch seconds.

    Always true (`tests/model/test_unit_state.py` checks it for random sequences of calls):

    - done <= begun <= requested, failed <= begun, and adopts <= requested;
    - an attempt is under way: `busy_since` is set;
    - between attempts: if everything requested is done, or it failed and nothing was requested since, `busy_since` is
      not set (a deletion that was requested sets it until its attempt ends);
    - `owed_since` is set only while something is requested that is not done, or a deletion is;
    - not live: it was never ready, no delete hook has run, and its phase is not READY;
    - hooks only if `loaded`, kinds only if `has_definitions`.
    """

    unit = ReadOnly[Unit]()
    """What it is."""
    release = ReadOnly[ReleaseState]()
    """What is known of its release."""
    choice = ReadOnly[Choice]()
    """Should it run, be deleted, or stay as it is?"""
    phase = ReadOnly[Phase]()
    """The step that it has reached; a retry continues from there."""
    since = ReadOnly[float]()
    """When it reached that phase (epoch seconds)."""
    live = ReadOnly[bool]()
    """Is anything of it at work, here or in the cluster?"""
    requested = ReadOnly[int]()
    """How many runs were requested."""
    begun = ReadOnly[int]()
    """How many of them the last attempt covers."""
    turn = ReadOnly[bool]()
    """Has its turn come in the present round, or between rounds in the last one?"""
    busy_since = ReadOnly[float | None]()
    """Since when something is pending or under way; None if nothing is."""
    owed_since = ReadOnly[float | None]()
    """Since when other modules wait for it; None if it owes nothing."""
    began_at = ReadOnly[float]()
    """When the last attempt began."""
    ready_at = ReadOnly[float]()
    """When the last successful attempt ended."""
    last_success = ReadOnly[float]()
    """When it was last ready (epoch seconds), 0 for never since it was installed."""
    error = ReadOnly[str]()
    """Why its last attempt failed; empty if it succeeded."""
    failure = ReadOnly[Exception | None]()
    """That error; None if it succeeded."""
    activation = ReadOnly[str]()
    """What caused the converge that the present attempt belongs to, empty for most; a label of metrics."""

    def __init__(self, unit: Unit, release: ReleaseState | None = None) -> None:
        self._unit, self._release = unit, release or ReleaseState()
        self._choice = Choice.UNDECIDED
        self._phase, self._since = Phase.STARTUP, time.time()
        self._hooks: tuple[Hook, ...] | None = None
        self._live = False
        self._requested = self._begun = self._done = self._failed = 0
        self._turn = False
        self._busy_since: float | None = None
        self._owed_since: float | None = None
        self._began_at = self._ready_at = self._last_success = 0.0
        self._error = ""
        self._failure: Exception | None = None
        self._adopts = 0
        self._kinds: frozenset[str] | None = None
        self._ended: set[tuple[BindingType, str]] = set()
        self._activation = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self._unit.name

    @property
    def on(self) -> bool:
        """Should it run?"""
        return self._choice is Choice.ON

    @property
    def is_blocked(self) -> bool:
        """Has its last attempt failed for something that no later one finds otherwise by itself?"""
        return isinstance(self._failure, RunBlocked)

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
    def complete(self) -> bool:
        """The same, after a run: before the first request there is nothing that was requested."""
        return self.ready and self.last_success > 0

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
        """Was the right to take over objects requested for its present attempt?"""
        return 0 < self._adopts <= self._begun

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

    def choose(self, choice: Choice) -> None:
        """From now on it should run, be deleted, or stay as it is."""
        self._choice = choice

    def await_turn(self) -> None:
        """It runs when its turn has come. An attempt that waits in its queue for its back-off does not run before."""
        self._turn = False

    def request(self, now: float) -> None:
        """Its turn has come, or more is requested in its turn. The patience of others counts from now on, or from when
        it became busy with something else: they have waited for that already."""
        if self.ready or not self._turn:
            self._owed_since = now if self._busy_since is None else self._busy_since
        self._turn = True
        self._requested += 1
        self._become_busy(now)

    def request_adoption(self, now: float) -> None:
        """The same, and that run may take over objects."""
        self.request(now)
        self._adopts = self._requested

    def request_deletion(self, now: float) -> None:
        """Its deletion is due; why it could not run does not matter any more."""
        self._error, self._failure = "", None
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
        self._activation = activation
        self._release.begin_attempt()

    def reach(self, phase: Phase) -> None:
        """It has come as far as this."""
        self._phase, self._since = phase, time.time()

    def become_ready(self) -> None:
        """All steps of a run are done."""
        self._last_success = time.time()

    def succeed(self, now: float) -> None:
        """The attempt has succeeded."""
        self._error, self._failure = "", None
        self._done, self._ready_at = self._begun, now

    def fail(self, reason: str, failure: Exception | None = None) -> None:
        """The attempt has failed; another one follows after a back-off, or when something changes."""
        self._error, self._failure = reason, failure
        if isinstance(failure, HookrunnerError):
            _drop_frames(failure)
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
        self._last_success = 0.0
        self._release.remove()
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

    def _become_busy(self, now: float) -> None:
        """Something is pending, even if a hook still occupies its queue."""
        if self._busy_since is None:
            self._busy_since = now


class ModuleState(UnitState):
    """A module: who has decided about it, and which other modules it waits for."""

    module = ReadOnly[Module]()
    """What its directory says."""
    decision = ReadOnly[Decision]()
    """Whether it should run, who says so and why."""
    waits_for = ReadOnly[str]()
    """The modules that it waits for; empty when its turn has come."""

    def __init__(self, module: Module, decision: Decision = NOT_YET) -> None:
        super().__init__(module.unit)
        self._module = module
        self.decide(decision)
        self._waits_for = ""

    def decide(self, decision: Decision) -> None:
        """Take a decision over."""
        self._decision = decision
        self.choose(decision.choice)

    def wait_for(self, names: Iterable[str]) -> None:
        """Other modules come first, as long as its turn has not come."""
        self._waits_for = "" if self.turn else ", ".join(names)

    def request(self, now: float) -> None:
        """As for every unit; it waits for no other module any more."""
        self._waits_for = ""
        super().request(now)


def _drop_frames(error: BaseException | None) -> None:
    """Drop the tracebacks of an error that is kept: their frames hold all that the attempt had in its hands. They are
    no help where an error is expected."""
    while error:
        error.with_traceback(None)
        error = error.__cause__ or error.__context__
