"""Watches rollouts of instances: wakes those who write statuses when a timeout passes, and gives up what has failed.

    rollouts = RolloutWatch(registry.request, states.unit_changes.note)
    rollouts.judge(live, facts)         # whenever the facts of an instance may have changed
    await rollouts.keep()               # until cancelled

The run of the instance restores the last healthy revision, so that nothing else is written at the same time. What is
given up is in memory only: another process comes to the same result from the status and the objects.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from hookrunner import log
from hookrunner.engine.run_gate import Notifier
from hookrunner.instances.instance_registry import LiveUnit
from hookrunner.instances.instance_rollbacks import deadline_of, failure_of
from hookrunner.model.addon_status import InstanceFacts
from kubetypes.timers import timeout_at

_LEAST = 0.1
"""Seconds between two looks at the clock, which need not agree with the loop's."""

_log = log.get("addons.instances")


class RolloutWatch:
    """The rollouts of all instances. `request` asks for a run, `wake` is called with a unit whose timeout has
    passed, `clock` gives epoch seconds."""

    def __init__(
        self,
        request: Callable[[LiveUnit, str], None],
        wake: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._request = request
        self._wake = wake
        self._clock = clock
        self._deadlines: dict[str, float] = {}
        self._changed = Notifier()

    def judge(self, live: LiveUnit, facts: InstanceFacts) -> None:
        """Note until when its rollout may take, and give it up if it has failed."""
        deadline = deadline_of(facts)
        if deadline is None or deadline <= self._clock():
            self._deadlines.pop(live.unit, None)
        elif self._deadlines.get(live.unit) != deadline:
            self._deadlines[live.unit] = deadline
            self._changed.notify()
        revision, reason = facts.installed.revision if facts.installed else 0, failure_of(facts)
        if reason and live.blueprint.given_up.note(revision, reason):
            _log.warn("rollout is given up", instance=live.unit, revision=revision, reason=reason)
            self._request(live, "Rollback")

    async def keep(self) -> None:
        """Wake others at each deadline, until cancelled."""
        while True:
            now, loop = self._clock(), asyncio.get_running_loop().time()
            passed = [unit for unit, deadline in self._deadlines.items() if deadline <= now]
            for unit in passed:
                del self._deadlines[unit]
                self._wake(unit)
            rest = min(self._deadlines.values(), default=None)
            with suppress(TimeoutError):
                async with timeout_at(None if rest is None else loop + max(rest - now, _LEAST), loop):
                    await self._changed.next()
