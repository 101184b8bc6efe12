"""Whose turn it is in a round. Pure; what waits for what is said by `modules/order`.

For gates and for what it requires a module waits until they are ready in this round. For lower weights it waits until
they are ready, have failed, or have had their time (`patience`). If it was ready before, it waits only for those that
never were: the others are there and are only brought up to date, side by side. Users of addon-operator are used to a
chain: under `strict` each module waits for all lower weights, also for those that have failed, but for none longer than
patience lasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hookrunner.convergence.state import ModuleState
from hookrunner.modules.order import Order


@dataclass(frozen=True, slots=True)
class Rules:
    """How long others wait for a module (seconds), and whether they wait for all lower weights in every round."""

    patience: float
    strict: bool = False


@dataclass(frozen=True, slots=True)
class _Below:
    """What is still waited for below a weight, each from the nearest weight that has such modules: gates, modules of
    the chain, and those of the chain that have never been ready."""

    gates: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class Moment:
    """What can be said at one time (`now`, monotonic) of the enabled modules, by name, and their order."""

    def __init__(self, enabled: Mapping[str, ModuleState], order: Order, rules: Rules, now: float) -> None:
        self.enabled = enabled
        self._order = order
        self._rules = rules
        self._now = now
        self._below = self._look_below()

    @property
    def turns(self) -> list[ModuleState]:
        """Those whose turn has come."""
        return [state for name, state in self.enabled.items() if not state.turn and not self.awaited(name)]

    @property
    def over(self) -> bool:
        """Has every module had its turn, as far as it can? Those that are left wait for one that will not be ready by
        itself."""
        at_work = any(state.turn and not self._is_past(state) for state in self.enabled.values())
        return not at_work and not self.turns

    @property
    def deadline(self) -> float | None:
        """When patience with one of them will be over, if with any."""
        late = [s.owed_since for s in self.enabled.values() if s.turn and s.owed_since is not None]
        return min((since + self._rules.patience for since in late if not self._is_late(since)), default=None)

    def awaited(self, name: str) -> tuple[str, ...]:
        """The modules that it still has to wait for; of many lower weights only the nearest."""
        if (required := self._order.required(name)) is not None:
            return tuple(other for other in required if not self._is_ready(other))
        below = self._below[self._order.modules[name].weight]
        proven = self.enabled[name].last_success and not self._rules.strict
        return (*below.gates, *(below.new if proven else below.chain))

    def overtakers(self, name: str) -> list[ModuleState]:
        """Those that wait for the weight of this module, have had their turn, and last ran before it was ready."""
        if self._order.required(name) is not None:
            return []
        module, ready_at = self._order.modules[name], self.enabled[name].ready_at
        return [
            state
            for other, state in self.enabled.items()
            if state.turn and state.module.weight > module.weight and state.began_at < ready_at
            if self._order.required(other) is None
        ]

    def is_overtaken(self, state: ModuleState) -> bool:
        """Has it not done for longer than others are to wait what was asked of it?"""
        return state.owed_since is not None and self._is_late(state.owed_since)

    def _look_below(self) -> dict[int, _Below]:
        found, below = dict[int, _Below](), _Below()
        for step in self._order.steps:
            found[step.weight] = below
            gates = tuple(name for name in step.gates if not self._is_ready(name))
            chain = tuple(name for name in step.chain if not self._is_past(self.enabled[name]))
            new = tuple(name for name in chain if not self.enabled[name].last_success)
            below = _Below(gates or below.gates, chain or below.chain, new or below.new)
        return found

    def _is_ready(self, name: str) -> bool:
        state = self.enabled[name]
        return state.turn and state.ready

    def _is_past(self, state: ModuleState) -> bool:
        """Does its weight hold up no others any more?"""
        failed = state.set_aside and not self._rules.strict
        return state.turn and (state.ready or failed or self.is_overtaken(state))

    def _is_late(self, since: float) -> bool:
        return self._now >= since + self._rules.patience
