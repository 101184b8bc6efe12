"""A work queue of keys, after the rules of client-go's: where controllers keep the objects to reconcile.

    queue: WorkQueue[str] = WorkQueue("cloud-node", Pauses(1.0, 300.0))
    queue.add("worker-1")                   # a watch has shown a change: as soon as a worker is free
    queue.add_after("worker-2", 42.0)       # exactly then; counts no failure
    await queue.work(reconcile, workers=4)  # until `shut_down`; what runs then is finished

- A key waits once, however often it is added; of several times the earliest counts.
- A key that a worker has is given to no other worker; added meanwhile, it comes again when that worker is done with it.
- Failures are counted for each key. Its back-off grows with each failure, and delays no other key.
  To add a key during its back-off (the object has changed) ends the pause, but not the count.

One rule differs from client-go: `add` replaces a time that `add_after` has set, because the run that comes now decides
again when the next one is due. client-go would run the key twice.
Source: https://pkg.go.dev/k8s.io/client-go/util/workqueue
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeAlias, TypeVar

from hookrunner import log
from hookrunner.errors import HookrunnerError, internal
from hookrunner.waits import Pauses

_Key = TypeVar("_Key", bound=Hashable)

Reconcile: TypeAlias = Callable[[_Key], Awaitable[float | None]]
"""Brings the object of a key to its desired state. Returns None if that is done: the key's failures are forgotten; or
the exact number of seconds until the key is due again: its failures are neither counted nor forgotten. Raises
HookrunnerError if it failed."""

_log = log.get(__name__)


class WorkQueue(Generic[_Key]):
    """Keys that wait, keys that workers have, and keys that are due later. For one event loop. `name` is that of the
    controller, `pauses` are its back-off."""

    def __init__(self, name: str, pauses: Pauses) -> None:
        self.name = name
        self._pauses = pauses
        self._line: deque[_Key] = deque()
        self._waiting: set[_Key] = set()
        """The keys in the line."""
        self._running: set[_Key] = set()
        self._added_again: set[_Key] = set()
        """Keys that were added while a worker had them."""
        self._timers: dict[_Key, asyncio.TimerHandle] = {}
        self._failures: Counter[_Key] = Counter()
        self._news = asyncio.Event()
        self._is_shut_down = False

    def add(self, key: _Key) -> None:
        """Have the key reconciled as soon as a worker is free, or again when its worker is done with it."""
        if self._is_shut_down:
            return
        self._cancel_timer(key)
        if key in self._running:
            self._added_again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._line.append(key)
            self._news.set()

    def add_after(self, key: _Key, seconds: float) -> None:
        """Add the key after so many seconds, unless it is due earlier anyway. Counts no failure."""
        if self._is_shut_down or key in self._waiting:
            return
        loop, timer = asyncio.get_running_loop(), self._timers.get(key)
        if seconds <= 0:
            self.add(key)
        elif timer is None or timer.when() > loop.time() + seconds:
            self._cancel_timer(key)
            self._timers[key] = loop.call_later(seconds, self.add, key)

    def add_rate_limited(self, key: _Key) -> float:
        """Count a failure, and add the key after its back-off; how many seconds that is."""
        self._failures[key] += 1
        pause = self._pauses.after(self._failures[key])
        self.add_after(key, pause)
        return pause

    def discard(self, keys: Iterable[_Key]) -> None:
        """Do not reconcile these keys, as if they had not been added; a worker that has one finishes it."""
        for key in keys:
            self._cancel_timer(key)
            self._waiting.discard(key)
            self._added_again.discard(key)
        self._line = deque(key for key in self._line if key in self._waiting)

    def forget(self, key: _Key) -> None:
        """Forget the key's failures. It stays in the queue if it is there."""
        del self._failures[key]

    def failures(self, key: _Key) -> int:
        """How often the key has failed in a row."""
        return self._failures[key]

    def __len__(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._line)

    @property
    def backing_off(self) -> int:
        """The number of keys whose last run has failed."""
        return len(self._failures)

    def shut_down(self) -> None:
        """Drop what waits and what is due later, accept nothing more, and let `work` end when its workers are done with
        the keys that they have. That cannot be undone."""
        self._is_shut_down = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._line.clear()
        self._waiting.clear()
        self._added_again.clear()
        self._news.set()

    async def work(self, reconcile: Reconcile[_Key], workers: int = 1) -> None:
        """Reconcile keys, so many at a time, until the queue is shut down.

        To cancel it also cancels the runs; their keys wait again, for the next call. A failure is logged, and its key
        added after its back-off; so is an unexpected error: one object must not hold up the others.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work(reconcile), name=f"{self.name} worker {number}")

    async def take(self) -> _Key:
        """Wait for a key, and take it out of the queue: for one reader, of a queue that is never shut down."""
        key = await self._next()
        assert key is not None, "the queue is shut down"
        self._running.remove(key)
        return key

    async def _work(self, reconcile: Reconcile[_Key]) -> None:
        while (key := await self._next()) is not None:
            try:
                await self._run(reconcile, key)
            except asyncio.CancelledError:
                self._added_again.add(key)
                raise
            finally:
                self._done(key)

    async def _next(self) -> _Key | None:
        """The key that has waited longest, which its worker now has; None if the queue is shut down."""
        while not self._line:
            if self._is_shut_down:
                return None
            self._news.clear()
            await self._news.wait()
        key = self._line.popleft()
        self._waiting.remove(key)
        self._running.add(key)
        return key

    def _done(self, key: _Key) -> None:
        self._running.remove(key)
        if key in self._added_again:
            self._added_again.remove(key)
            self.add(key)

    async def _run(self, reconcile: Reconcile[_Key], key: _Key) -> None:
        try:
            seconds = await reconcile(key)
        except HookrunnerError as error:
            self._log_failure("warn", key, error)
        except Exception as error:
            self._log_failure("error", key, internal(error), exc_info=error)
        else:
            if seconds is None:
                self.forget(key)
            else:
                self.add_after(key, seconds)

    def _log_failure(self, level: str, key: _Key, error: object, **fields: object) -> None:
        pause = self.add_rate_limited(key)
        _log.log(
            level, "reconcile failed", controller=self.name, key=key, again_in_seconds=pause, error=error, **fields
        )

    def _cancel_timer(self, key: _Key) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()
