"""All queues by name, each with a worker of its own (shell-operator.md §6.1)."""

import asyncio
from collections.abc import Iterable, Iterator

from hookrunner import log
from hookrunner.background import Background
from hookrunner.engine.queues import Clock, Lacks, Queue
from hookrunner.engine.worker import Run, work
from hookrunner.metrics.names import Metrics
from hookrunner.model.tasks import HookRun, ModuleTask, Order, Task

_log = log.get("queues")


class Queues:
    """Opens queues when they are first named; `open` starts the worker. `compact_at` is their compaction threshold."""

    def __init__(self, lacks: Lacks, clock: Clock, metrics: Metrics, compact_at: int) -> None:
        self._lacks = lacks
        self._clock = clock
        self._metrics = metrics
        self._compact_at = compact_at
        self._queues: dict[str, Queue] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}

    def __iter__(self) -> Iterator[Queue]:
        return iter(tuple(self._queues.values()))

    def __getitem__(self, name: str) -> Queue:
        return self._queues[name]

    def open(self, name: str, run: Run, background: Background) -> None:
        """Make sure that there is a queue of this name, with a worker that runs its tasks."""
        if name not in self._queues:
            queue = self._queues[name] = Queue(name, self._lacks, self._clock, self._compact_at)
            self._workers[name] = background.keep(f"queue {name}", lambda: work(queue, run), ends=True)

    def put(self, order: Order) -> Task:
        """Add a task at the end of its queue."""
        began = self._clock()
        task = self._queues[order.queue].put(order)
        self._metrics.tasks_queue_action_duration_seconds.observe(self._clock() - began, order.queue, "AddLast")
        if isinstance(order, HookRun) and order.seen_at:
            where = (order.label, order.binding, *order.owner)
            self._metrics.event_latency_seconds.observe(began - order.seen_at, "queued", *where)
        return task

    def put_first(self, orders: Iterable[Order]) -> None:
        """Add tasks at the front of their queues, in this order."""
        for order in reversed(tuple(orders)):
            self._queues[order.queue].put_first([order])

    def wake(self) -> None:
        """Let all look again at what held their tasks up."""
        for queue in self:
            queue.wake()

    def hurry_failed(self, since: float) -> None:
        """Try again at once what has failed since that time."""
        for queue in self:
            queue.hurry_failed(since)

    def forget(self, hook: str) -> None:
        """Drop what waits for a hook."""
        for queue in self:
            queue.forget(hook)

    async def stop(self, grace: float) -> None:
        """Give out no more tasks, and wait for running hooks as long as the grace allows."""
        for queue in self:
            queue.close()
        busy = {self._workers[queue.name] for queue in self if _runs_a_hook(queue)}
        for worker in set(self._workers.values()) - busy:
            worker.cancel()
        if busy:
            _log.info(f"waiting up to {grace:g}s for running hooks", hooks=len(busy))
            await asyncio.wait(busy, timeout=grace)

    async def stopped(self, patience: float) -> None:
        """Wait until no worker is left; after `patience` seconds they are cancelled, whatever they write."""
        _, left = await asyncio.wait(self._workers.values(), timeout=patience)
        for worker in left:
            worker.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _runs_a_hook(queue: Queue) -> bool:
    return queue.running is not None and isinstance(queue.running.order, HookRun | ModuleTask)
