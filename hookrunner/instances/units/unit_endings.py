"""Ends the units of instances, each in a task of its own, which goes on until it has come to its end.

endings = UnitEndings(live, units, states, workshop, on_end)
endings.delete(unit, "deleted by its user")     # with what it has installed; then its object may go
endings.retire(unit)                            # with what it has installed; its object stays
endings.leave(unit)                             # all stays
"dns.default.x" in endings                      # until `on_end` was called
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from hookrunner import log
from hookrunner.convergence.events import Notice
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.units import Units
from hookrunner.errors import KubeError
from hookrunner.instances.removal import remove_finalizer
from hookrunner.instances.units.live_unit import LiveUnit, Workshop
from hookrunner.kube.back_off import retry_forever

_log = log.get(__name__)


class UnitEndings:
    """Ends units of `live`; one that is ending already goes on as it has begun. `on_end` takes each one, and the UID of
    an object that is gone then, empty if it stays."""

    def __init__(
        self,
        live: Mapping[str, LiveUnit],
        units: Units,
        states: UnitStates,
        workshop: Workshop,
        on_end: Callable[[LiveUnit, str], None],
    ) -> None:
        self._live = live
        self._units = units
        self._notices = states.notices
        self._changes = states.unit_changes
        self._workshop = workshop
        self._on_end = on_end
        self._ending: set[str] = set()

    def __contains__(self, unit: object) -> bool:
        return unit in self._ending

    def delete(self, live: LiveUnit, cause: str) -> None:
        """Delete what it has installed, let its object go, and remove the unit."""
        self._begin(f"deletion of {live.unit}", live, partial(self._delete, live, cause))

    def retire(self, live: LiveUnit) -> None:
        """Delete what it has installed, and remove the unit."""
        self._begin(f"replacement of {live.unit}", live, partial(self._retire, live))

    def leave(self, live: LiveUnit) -> None:
        """Remove the unit and leave what it has installed."""
        self._begin(f"leaving {live.unit}", live, partial(self._remove, live))

    def _begin(self, task: str, live: LiveUnit, run: Callable[[], Awaitable[str]]) -> None:
        if live.unit not in self._ending:
            self._ending.add(live.unit)
            self._workshop.background.keep(task, partial(self._finish, live, run), ends=True)

    async def _finish(self, live: LiveUnit, run: Callable[[], Awaitable[str]]) -> None:
        """`run` ends the unit and returns the UID of an object that is gone then."""
        deleted = await run() if live.unit in self._live else ""
        self._ending.discard(live.unit)
        self._on_end(live, deleted)

    async def _delete(self, live: LiveUnit, cause: str) -> str:
        await self._uninstall(live, cause)
        await self._let_go(live)
        await self._remove(live)
        return live.instance.uid

    async def _retire(self, live: LiveUnit) -> str:
        await self._uninstall(live, live.obstacle.message if live.obstacle else "")
        return await self._remove(live)

    async def _uninstall(self, live: LiveUnit, cause: str) -> None:
        self._notices.publish(Notice(live.unit, "Deleting", cause, bad=False))
        await self._units.delete(live.state, cause)

    async def _remove(self, live: LiveUnit) -> str:
        await self._units.remove(live.state)
        return ""

    async def _let_go(self, live: LiveUnit) -> None:
        """Remove the finalizer, however long that takes."""

        def report(error: Exception) -> None:
            _log.warn("finalizer cannot be removed", instance=live.unit, error=error)
            live.state.fail(str(error), error)
            self._changes.note(live.unit)
            self._notices.publish(Notice(live.unit, "DeleteFailed", str(error)))

        async def remove() -> None:
            await remove_finalizer(self._workshop.client, live.addon, live.instance)

        await retry_forever(remove, (KubeError,), report, self._workshop.client.outage.rest)
