"""TLS for the sandbox's connections, with less room and time for each than asyncio gives.

Every user of the machine may open connections before any token is asked for. asyncio's buffer of 256 KiB for each, idle
or not, is 270 MB for 1,000, and a client may be silent for a minute in the middle of the handshake.
"""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable

HANDSHAKE, FAREWELL = 10.0, 5.0
"""Seconds that a client has for the handshake, and for its part of the end."""


class _Tls(sslproto.SSLProtocol):
    max_size = 32 * 1024


def with_tls(protocols: Callable[[], asyncio.Protocol], context: ssl.SSLContext) -> Callable[[], asyncio.BaseProtocol]:
    """A factory of protocols that speak TLS, and hand what they read to one of `protocols` after the handshake."""

    def make() -> asyncio.BaseProtocol:
        return _Tls(
            asyncio.get_running_loop(),
            protocols(),
            context,
            None,  # type: ignore[arg-type]  # nothing waits for the handshake: asyncio allows for that
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE,  # type: ignore[arg-type]  # any number will do
            ssl_shutdown_timeout=FAREWELL,
        )

    return make
