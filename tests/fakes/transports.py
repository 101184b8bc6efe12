"""Connections that outlive the test which made them: what the collector finds later is some other test's failure."""

import asyncio
import gc

from tests.flows.waiting import until


async def all_closed() -> None:
    """Wait until every connection of this process is closed. A TLS connection that is cancelled as it comes about says
    goodbye and waits for an answer: longer than the event loop may live."""
    await until(_none_open, "connections to be closed")
    await asyncio.sleep(0)


def _none_open() -> bool:
    transports = (one for one in gc.get_objects() if issubclass(type(one), asyncio.Transport))
    return all(one.is_closing() for one in transports)
