"""Until when may hooks of a unit run that is being deleted?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hookrunner.errors import HookFailed
from hookrunner.model.bindings import BindingType
from hookrunner.model.tasks import HookRun
from kubetypes.timers import TICK

_DELETION = frozenset({BindingType.BEFORE_DELETE_HELM, BindingType.AFTER_DELETE_HELM})


class RunDeadlines:
    """Until when hooks of a module may run that is being deleted. A hook that hangs would keep an instance of an addon
    alive: its deletion waits for the run that is under way. Hooks of the deletion itself are not bound: they take as
    long as they need, and may have a `settings.timeout`.

        deadlines.set("coredns.kube-system.default", 25.0)
        async with deadlines.bound(order):
            ...                             # cancelled when the time is over; then HookFailed is raised

    Deadlines are by the modules' names, in seconds of the loop's clock."""

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}
        self._bound: dict[asyncio.Timeout, str] = {}

    def set(self, module: str, seconds: float) -> None:
        """Runs of its hooks end in so many seconds: those that are under way, and those that begin later."""
        deadline = asyncio.get_running_loop().time() + max(seconds, TICK)
        self._deadlines[module] = deadline
        for timeout, name in self._bound.items():
            if name == module:
                timeout.reschedule(deadline)

    def forget(self, module: str) -> None:
        """It is deleted; another one may get its name."""
        self._deadlines.pop(module, None)

    @asynccontextmanager
    async def bound(self, order: HookRun) -> AsyncIterator[None]:
        """Cancel what happens inside when the time of the run is over. Raises HookFailed then."""
        if not order.module or order.binding_type in _DELETION:
            yield
            return
        timeout = asyncio.timeout_at(self._deadlines.get(order.module))
        try:
            async with timeout:
                self._bound[timeout] = order.module
                try:
                    yield
                finally:
                    del self._bound[timeout]
        except TimeoutError:
            if not timeout.expired():
                raise
            raise HookFailed(f"{order.hook} was ended: {order.module} is being deleted") from None
