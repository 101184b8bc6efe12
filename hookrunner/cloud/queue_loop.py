"""A loop of the cloud that reconciles one key after the other, as watches show changes: Nodes that begin, Services.

    class NodeLoop(QueueLoop):
        def __init__(self) -> None:
            super().__init__("cloud-node", Pauses(1.0, 300.0))

        async def run(self) -> None:
            await self._work(self._reconcile, 4, self._enqueue_changes())

Loops that make passes over all objects are in `nodes/loop_parts.py` and `routes/route_loop.py`.
"""

import asyncio
from collections.abc import Coroutine

from hookrunner.controllers.work_queue import Reconcile, WorkQueue
from hookrunner.waits import Pauses


class QueueLoop:
    """`name` and `pauses` are those of its work queue."""

    def __init__(self, name: str, pauses: Pauses) -> None:
        self._queue = WorkQueue[str](name, pauses)
        self._stopped = asyncio.Event()

    @property
    def backing_off(self) -> int:
        """The number of objects whose last attempt failed."""
        return self._queue.backing_off

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()
        self._queue.shut_down()

    async def _work(self, reconcile: Reconcile[str], workers: int, *feeds: Coroutine[None, None, None]) -> None:
        """Reconcile what the feeds enqueue, until `stop`."""
        async with asyncio.TaskGroup() as group:
            feeding = [group.create_task(feed) for feed in feeds]
            await self._queue.work(reconcile, workers)
            for task in feeding:
                task.cancel()
