"""How far each module has come, and what is still to be done with it. State of this process, kept by one owner.

What is pending is known per module and not in a plan that may be thrown away, so a converge that begins anew loses
nothing (addon-operator.md §5.6 and §11.1 no. 15).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hookrunner.convergence.news import News
from hookrunner.engine.progress import Progress
from hookrunner.model.bindings import BindingType, Hook, ReviewKind
from hookrunner.model.modules import Choice, Decision, Module, Phase
from hookrunner.model.releases import Adoption

Asked = Literal["coming", "there", "going"]
"""Is the API server about to ask hooks, does it ask them, or is it to ask them no more?"""

NOT_YET = Decision(Choice.UNDECIDED, "", "not decided yet")


@dataclass(eq=False, slots=True)
class State:
    """One module. Times are epoch seconds; `busy_since` is monotonic: since when something is to be done that is not.

    `asked` counts what was asked of it, `begun` and `done` how far that was taken up and brought to a good end,
    `failed` how far the last attempt that failed had taken it up. `owed_since` (monotonic): since when others wait.
    `began_at` and `ready_at` (monotonic): when the last attempt began, when the last good one ended.
    `turn` says that its turn has come in the present round, between rounds in the last one.
    `loaded` says that `hooks` are all that it has, `webhooks` how far each kind of theirs has come.
    `live` says that something of it is at work here or in the cluster. `error` is why the last attempt failed.
    `revision` is that of its release, `pinned` that it is an earlier one which somebody has brought back.
    `adopts` is the number (of `asked`) of the run that may take over objects, 0 for none; `adopted` are those that the
    last attempt took over.
    `kinds` are those that its definitions define, once `crds` says that these are applied.
    `ended` has the delete hooks that have run since the module is to go, each with its binding.
    `activation` is what set off the converge that the present attempt is part of, empty for most: a label in metrics.
    """

    module: Module
    decision: Decision = NOT_YET
    phase: Phase = Phase.STARTUP
    since: float = field(default_factory=time.time)
    hooks: tuple[Hook, ...] = ()
    loaded: bool = False
    webhooks: dict[ReviewKind, Asked] = field(default_factory=dict)
    live: bool = False
    asked: int = 0
    begun: int = 0
    done: int = 0
    failed: int = 0
    turn: bool = False
    busy_since: float | None = None
    owed_since: float | None = None
    began_at: float = 0.0
    ready_at: float = 0.0
    error: str = ""
    last_success: float = 0.0
    revision: int = 0
    pinned: bool = False
    adopts: int = 0
    adopted: tuple[Adoption, ...] = ()
    crds: bool = False
    kinds: frozenset[str] = frozenset()
    ended: set[tuple[BindingType, str]] = field(default_factory=set)
    waits_for: str = ""
    restless: int = 0
    activation: str = ""

    @property
    def on(self) -> bool:
        """Is it to run?"""
        return self.decision.choice is Choice.ON

    @property
    def ready(self) -> bool:
        """Is everything that was asked of it done?"""
        return self.done == self.asked and not self.error

    @property
    def parked(self) -> bool:
        """Has its last attempt failed?"""
        return bool(self.error)

    @property
    def set_aside(self) -> bool:
        """Has an attempt failed that knew all that was asked of it, so that others need not wait for it?"""
        return self.parked and self.failed == self.asked

    @property
    def may_adopt(self) -> bool:
        """May its present attempt take over objects?"""
        return self.module.traits.adopt or 0 < self.adopts <= self.begun

    def reach(self, phase: Phase) -> None:
        """It has come as far as this."""
        self.phase, self.since = phase, time.time()

    def await_turn(self) -> None:
        """It is to run when its turn has come; what waits in its queue for another attempt does not run before."""
        self.turn = False

    def ask(self, now: float) -> None:
        """Its turn has come, or more is asked of it in its turn. Others have patience from now on, or since it is busy
        with something else: they have waited for that already."""
        if self.ready or not self.turn:
            self.owed_since = now if self.busy_since is None else self.busy_since
        self.turn, self.asked = True, self.asked + 1
        self.keep_busy(now)

    def dismiss(self, now: float) -> None:
        """Its deletion is due: why it could not run is past."""
        self.error = ""
        self.owed_since = now if self.busy_since is None else self.busy_since
        self.keep_busy(now)

    def keep_busy(self, now: float) -> None:
        """It has something to do, even if a hook still holds up its queue."""
        if self.busy_since is None:
            self.busy_since = now

    def begin(self, now: float, activation: str) -> None:
        """An attempt begins, with all that was asked so far."""
        self.begun, self.busy_since, self.began_at = self.asked, now, now
        self.activation, self.adopted = activation, ()

    def succeed(self, now: float) -> None:
        """The attempt has come to a good end."""
        self.error, self.done, self.ready_at = "", self.begun, now

    def fail(self, reason: str) -> None:
        """The attempt has failed; another will be made."""
        self.error, self.failed = reason, self.begun

    def rest(self, now: float) -> None:
        """The attempt is over."""
        if self.done == self.asked:
            self.busy_since = self.owed_since = None
        else:
            self.busy_since = None if self.parked else now

    def stay(self) -> None:
        """It is run: from now on something of it is at work, and a deletion that had begun is off."""
        self.live = True
        self.ended.clear()

    def gone(self) -> None:
        """Its deletion has ended: nothing of it is left."""
        self.live, self.revision, self.last_success = False, 0, 0.0
        self.turn = False
        self.ended.clear()
        self.reach(Phase.STARTUP)


class States:
    """All modules by name, in the order of their weights. `moved` tells that one of them has, `news` what people should
    hear of."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.moved = Progress()
        self.news = News()
        self._states: Mapping[str, State] = {module.name: State(module) for module in modules}
        self._by_key = {state.module.key: state for state in self._states.values()}

    def __iter__(self) -> Iterator[State]:
        return iter(self._states.values())

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, name: str) -> State:
        return self._states[name]

    def get(self, name: str) -> State | None:
        """The module of that name, if there is one."""
        return self._states.get(name)

    def of_key(self, key: str) -> State | None:
        """The module with that section, if there is one."""
        return self._by_key.get(key)

    @property
    def enabled(self) -> list[State]:
        """Those that are to run."""
        return [state for state in self if state.on]
