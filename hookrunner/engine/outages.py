"""What an outage of the API server has made fail is tried again when the server is back, not up to 32 s later."""

from hookrunner.engine.queue_set import Queues
from hookrunner.engine.queues import Clock
from hookrunner.kube.back_off import Outage

_MARGIN = 5.0
"""Seconds by which a hook may notice an outage before us: we learn of it by our own next request."""


async def retry_after(outage: Outage, queues: Queues, clock: Clock) -> None:
    """Never ends: hurry the tasks that failed in an outage, for whatever reason. What kubectl failed for, only its hook
    knows; a failure of another kind has one early attempt."""
    async for seconds in outage.ends():
        queues.hurry_failed(clock() - seconds - _MARGIN)
