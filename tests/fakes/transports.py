"""Closes connections that outlive their test: else the garbage collector fails another test."""

import asyncio
from asyncio.sslproto import SSLProtocol, SSLProtocolState

from tests.flows.waiting import until

_LEAVING = SSLProtocolState.FLUSHING, SSLProtocolState.SHUTDOWN


async def all_closed() -> None:
    """Wait until every connection of this event loop is closed. A TLS connection that is cancelled as it comes about
    says goodbye and waits for an answer: longer than the event loop may live."""
    await until(_none_open, "connections to be closed")
    await asyncio.sleep(0)


def _none_open() -> bool:
    # There is no public way but to look through all objects of the process, a tenth of a second for each test.
    transports = asyncio.get_running_loop()._transports.values()  # type: ignore[attr-defined]
    return all(one.is_closing() for one in transports)


def hang_up_at_the_end() -> None:
    """Make ending event loops cut the TLS connections that have sent their goodbye and wait for the answer: the garbage
    collector would find them in a later test. Connections that were never closed are left for it to complain of."""
    ended = asyncio.BaseEventLoop.shutdown_asyncgens

    async def shutdown_asyncgens(loop: asyncio.BaseEventLoop) -> None:
        await ended(loop)
        for transport in list(loop._transports.values()):  # type: ignore[attr-defined]
            protocol = transport.get_protocol()
            if isinstance(protocol, SSLProtocol) and protocol._state in _LEAVING:  # type: ignore[attr-defined]
                transport.abort()
        await asyncio.sleep(0)

    asyncio.BaseEventLoop.shutdown_asyncgens = shutdown_asyncgens  # type: ignore[assignment,method-assign]
