"""Who may call the cloud's program now: so many at once, some calls never side by side, and none during a pause.

    async with gate.turn(CallKind.OTHERS, "routes"):
        ...                 # one call
    gate.pause(42.0)        # the cloud is throttling: no other call begins before then

A *lane* is a name for calls that must not run side by side: all `routes-*`, the `lb-*` of one Service, `instances`.
Turns of one kind come in the order in which they were asked for. A place is kept for each kind: load balancers at which
the cloud hangs keep no new Node waiting, and Nodes keep no load balancer waiting. Calls under way are not touched by a
pause. At the end of the process those that wait are refused: a pause may last an hour, and the next leader waits.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from weakref import WeakValueDictionary

from hookrunner.cloud.answers import ErrorCode, ProviderError
from kubetypes.timers import TICK

LEFT_TO_THE_NEXT = 1.0
"""Seconds after which a refused question may be asked again: by then this process is gone."""


class CallKind(Enum):
    """What a call is about: instances, or anything else."""

    INSTANCES = auto()
    OTHERS = auto()


class CallGate:
    """The turns of one provider. `limit` calls run at once, of one kind one less; with a limit of 1 the kinds take
    turns while calls of both wait."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running = Counter[CallKind]()
        self._queues: dict[CallKind, deque[asyncio.Future[None]]] = {kind: deque() for kind in CallKind}
        self._last = CallKind.OTHERS
        """The kind of the last turn."""
        self._lanes = WeakValueDictionary[str, asyncio.Lock]()
        """Those that a call holds or waits for."""
        self._resume_at = 0.0
        self._closed = asyncio.Event()

    @property
    def paused_until(self) -> float:
        """Epoch seconds of the end of the pause, 0 without one."""
        left = self._resume_at - asyncio.get_running_loop().time()
        return time.time() + left if left > 0 else 0.0

    def set_limit(self, limit: int) -> None:
        """Another number of calls at once, from the next turn on."""
        self._limit = limit
        self._admit()

    def close(self) -> None:
        """No other turn begins. Calls under way go on."""
        self._closed.set()
        for queue in self._queues.values():
            while queue:
                place = queue.popleft()
                if not place.done():
                    place.set_exception(_refusal())

    def pause(self, seconds: float) -> None:
        """No turn begins for so long. A longer pause stays."""
        self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + seconds)

    @asynccontextmanager
    async def turn(self, kind: CallKind, lane: str = "") -> AsyncIterator[None]:
        """Wait for the lane, for a free place and for the end of the pause. Raises ProviderError (`Pending`) after
        `close`."""
        async with self._in_lane(lane):
            await self._enter(kind)
            try:
                await self._wait_for_resume()
                yield
            finally:
                self._leave(kind)

    @asynccontextmanager
    async def _in_lane(self, name: str) -> AsyncIterator[None]:
        if not name:
            yield
            return
        lane = self._lanes.setdefault(name, asyncio.Lock())
        async with lane:
            yield

    async def _enter(self, kind: CallKind) -> None:
        if self._closed.is_set():
            raise _refusal()
        place = asyncio.get_running_loop().create_future()
        self._queues[kind].append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._queues[kind].remove(place)
            if place.done() and not place.cancelled():  # it was given the place in the same moment
                self._leave(kind)
            raise

    def _leave(self, kind: CallKind) -> None:
        self._running[kind] -= 1
        self._admit()

    def _admit(self) -> None:
        while kind := self._choose_kind():
            place = self._queues[kind].popleft()
            if not place.done():
                self._running[kind] += 1
                self._last = kind
                place.set_result(None)

    def _choose_kind(self) -> CallKind | None:
        """Whose turn it is; None while no call waits that may begin."""
        if self._running.total() >= self._limit:
            return None
        most = max(1, self._limit - 1)
        ready = [kind for kind, queue in self._queues.items() if queue and self._running[kind] < most]
        return min(ready, key=lambda kind: kind is self._last, default=None)

    async def _wait_for_resume(self) -> None:
        """A pause may be prolonged while it is waited for."""
        if self._closed.is_set():
            raise _refusal()
        if (left := self._resume_at - asyncio.get_running_loop().time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(left, TICK)):
                    await self._closed.wait()
            await self._wait_for_resume()


def _refusal() -> ProviderError:
    """No failure is counted for it."""
    return ProviderError(ErrorCode.PENDING, "hookrunner is stopping, the next leader goes on", LEFT_TO_THE_NEXT)
