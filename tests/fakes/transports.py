"""Connections that outlive the test which made them: what the collector finds later is some other test's failure."""

import asyncio

from tests.flows.waiting import until


async def all_closed() -> None:
    """Wait until every connection of this event loop is closed. A TLS connection that is cancelled as it comes about
    says goodbye and waits for an answer: longer than the event loop may live."""
    await until(_none_open, "connections to be closed")
    await asyncio.sleep(0)


def _none_open() -> bool:
    # There is no public way but to look through all objects of the process, a tenth of a second for each test.
    transports = asyncio.get_running_loop()._transports.values()  # type: ignore[attr-defined]
    return all(one.is_closing() for one in transports)
