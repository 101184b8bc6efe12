"""Watches rollouts of instances: wakes those who write statuses when a timeout passes, and gives up what has failed.

    rollouts = RolloutWatch(tasks.request, states.unit_changes.note)
    facts = rollouts.judge(live, facts) # whenever the facts of an instance may have changed
    await rollouts.keep()               # until cancelled

The run of the instance restores the last healthy revision, so that nothing else is written at the same time. What is
given up is in memory only: another process comes to the same result from the status and the objects.

A rollout that began is measured by the clock of the event loop: a wall clock that is set forward by hours makes no
rollout late, and so rolls none back. Another process can only compare the wall clock with the status.
"""

import asyncio
import time
from collections.abc import Callable

from hookrunner import log
from hookrunner.instances.instance_rollbacks import deadline_of, failure_of, with_verdict
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import Installed, InstanceFacts
from hookrunner.model.unit_state import UnitState
from hookrunner.waits import Notifier

_LEAST = 0.1
"""Seconds between two looks at the deadlines."""

_log = log.get(__name__)


class RolloutWatch:
    """The rollouts of all instances. `request` asks for a run, `wake` is called with a unit whose timeout has
    passed, `clock` gives epoch seconds."""

    def __init__(
        self,
        request: Callable[[UnitState, str], None],
        wake: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._request = request
        self._wake = wake
        self._clock = clock
        self._deadlines: dict[str, float] = {}
        """Epoch seconds."""
        self._offsets: dict[str, tuple[str, float]] = {}
        """Of each such unit: when its rollout began, and what the wall clock was ahead of the loop's then."""
        self._changed = Notifier()

    def judge(self, live: LiveUnit, facts: InstanceFacts) -> InstanceFacts:
        """The facts with what the health of its objects means for its rollout. Notes until when that may take, and
        gives it up if it has failed."""
        unit, installed = live.state.name, facts.installed
        if installed is None:
            self._forget(unit)
            return facts
        now = self._now(unit, installed)
        facts = with_verdict(facts, now)
        self._note_deadline(unit, installed, deadline_of(facts), now)
        reason = failure_of(facts)
        if reason and live.planner.given_up.note(installed.revision, reason):
            _log.warn("rollout is given up", instance=unit, revision=installed.revision, reason=reason)
            self._request(live.state, "Rollback")
        return facts

    async def keep(self) -> None:
        """Wake others at each deadline, until cancelled."""
        while True:
            now = asyncio.get_running_loop().time()
            ends = {unit: deadline - self._offsets[unit][1] for unit, deadline in self._deadlines.items()}
            for unit in [unit for unit, end in ends.items() if end <= now]:
                del ends[unit], self._deadlines[unit]
                self._wake(unit)
            rest = min(ends.values(), default=None)
            await self._changed.next(None if rest is None else max(rest, now + _LEAST))

    def _now(self, unit: str, installed: Installed) -> float:
        """The time that counts for a rollout, in epoch seconds: since it is watched, that of the event loop."""
        began, offset = self._offsets.get(unit, ("", 0.0))
        return self._clock() if began != installed.started_at else asyncio.get_running_loop().time() + offset

    def _note_deadline(self, unit: str, installed: Installed, deadline: float | None, now: float) -> None:
        if deadline is None or deadline <= now:
            self._forget(unit)
        elif self._deadlines.get(unit) != deadline:
            self._offsets[unit] = installed.started_at, now - asyncio.get_running_loop().time()
            self._deadlines[unit] = deadline
            self._changed.notify()

    def _forget(self, unit: str) -> None:
        self._deadlines.pop(unit, None)
        self._offsets.pop(unit, None)
