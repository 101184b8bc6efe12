"""Whose turn it is in a round (design.md §4.2). Pure; what waits for what is said by `modules/order`.

For lighter modules nobody waits longer than patience lasts, nor for one that has failed; for gates and for what is
required everybody waits until it is ready. Whoever has been ready before waits for nobody: what it needs is there, and
it is only brought up to date.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hookrunner.convergence.state import State
from hookrunner.modules.order import Order, Wait


@dataclass(frozen=True, slots=True)
class Moment:
    """What is needed to say whose turn it is: the enabled modules by name and their order, which were asked in this
    round, the time (monotonic) and the patience (seconds)."""

    enabled: Mapping[str, State]
    order: Order
    asked: Collection[str]
    now: float
    patience: float

    @property
    def turns(self) -> list[State]:
        """Those whose turn has come. Modules of one weight wait for one and the same, which is looked at once."""
        open_: dict[int, bool] = {}
        found = []
        for name, state in self.enabled.items():
            if name not in self.asked:
                waits = self._waits(name)
                if id(waits) not in open_:
                    open_[id(waits)] = all(map(self._met, waits))
                found += [state] * open_[id(waits)]
        return found

    @property
    def over(self) -> bool:
        """Has every module had its turn, as far as it can?"""
        return all(self._past(name) or self._held_up(name) for name in self.enabled)

    @property
    def deadline(self) -> float | None:
        """When patience with one of them will be over, if with any."""
        busy = [s.busy_since for s in self.enabled.values() if s.busy_since is not None and not self.overtaken(s)]
        return min(busy) + self.patience if busy else None

    def awaited(self, name: str) -> list[str]:
        """The modules that it still has to wait for."""
        return [wait.name for wait in self._waits(name) if not self._met(wait)]

    def overtaken(self, state: State) -> bool:
        """Is it at it for longer than others are to wait?"""
        return state.busy_since is not None and self.now - state.busy_since >= self.patience

    def _waits(self, name: str) -> tuple[Wait, ...]:
        return () if self.enabled[name].last_success else self.order.waits_for(name)

    def _met(self, wait: Wait) -> bool:
        if wait.kind == "weight":
            return self._past(wait.name)
        return wait.name in self.asked and self.enabled[wait.name].ready

    def _past(self, name: str) -> bool:
        state = self.enabled[name]
        return name in self.asked and (state.ready or state.parked or self.overtaken(state))

    def _held_up(self, name: str) -> bool:
        """Does it wait for one that will not be ready by itself?"""
        waiting = name not in self.asked
        return waiting and any(self._past(other) or self._held_up(other) for other in self.awaited(name))
