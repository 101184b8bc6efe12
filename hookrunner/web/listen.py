"""Where servers listen, and how they start and stop. An address or path that cannot be used refuses the start
(StartRefused).

The predecessor only logged a failed bind and went on without its server. Sockets are opened
here and given to the servers, so that a test or `--listen-port 0` can ask the socket for its port.
"""

import asyncio
import errno
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from hookrunner import log
from hookrunner.errors import StartRefused
from hookrunner.safe_files import use_directory
from kubetypes.http_connections import Crowd

TIMEOUT = 90.0
"""Seconds for answering a request."""
KEEP_ALIVE = 15.0
"""Seconds for a client to send its request, and its next one. Clients repeat a request that was cut, and these requests
may be repeated."""
CONNECTIONS = 128
"""Connections that may be open at a time."""
BACKLOG = 128
"""Connections that wait to be accepted, and that are accepted at one go."""
GRACE = 1.0
"""Seconds that a running answer gets when the program stops."""

_log = log.get(__name__)


def on_port(address: str, port: int, flag: str) -> socket.socket:
    """A listening TCP socket. `flag` is what the user would change; raises StartRefused."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = family is socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((address, port), family=family, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that IDNA cannot encode, such as `a..b`
        mends = {
            errno.EADDRINUSE: "another process listens there, or this one by another flag: choose another place",
            errno.EACCES: "this user may not listen there: choose a port from 1024 on",
            errno.EADDRNOTAVAIL: "this machine has no such address: choose another",
        }
        mend = mends.get(getattr(error, "errno", 0), f"{error}: choose another place")
        raise StartRefused(f"cannot listen on address '{address}', port {port}: {mend} with {flag}") from error


@asynccontextmanager
async def on_path(places: Sequence[Path]) -> AsyncIterator[socket.socket]:
    """A bound Unix socket at the first of `places` where one can be made; its file is removed at the end.

    A file that a dead process left behind is replaced. Raises StartRefused if a living one answers there, or if no
    place can be used.
    """
    problems = []
    for path in places:
        try:
            sock = await _bind(path)
        except OSError as error:
            problems.append(f"\n  {path}: {error.strerror or error}")
            continue
        try:
            yield sock
        finally:
            path.unlink(missing_ok=True)
            sock.close()
        return
    raise StartRefused(f"no debug socket can be made:{''.join(problems)}\nname another place with --debug-unix-socket")


@asynccontextmanager
async def serve(app: web.Application, *sockets: socket.socket, most: int = CONNECTIONS) -> AsyncIterator[None]:
    """Answer on `sockets` inside the `with`, on `most` connections at once. Idle ones are cut at its end, running
    answers get `GRACE`."""
    app.middlewares.insert(0, _log_request)
    runner, loop, servers = web.AppRunner(app), asyncio.get_running_loop(), list[asyncio.Server]()
    await runner.setup()
    assert runner.server is not None
    # The keep-alive timer of aiohttp also ends a connection on which no complete request head arrives.
    crowd = Crowd(runner.server, most, access_log=None, keepalive_timeout=KEEP_ALIVE)
    try:
        for sock in sockets:
            servers.append(await loop.create_server(crowd, sock=sock, backlog=BACKLOG))
        yield
    finally:
        for server in servers:
            server.close()
        await asyncio.sleep(0)  # requests that have just come begin to be answered
        crowd.pre_shutdown()
        await crowd.shutdown(GRACE)
        await runner.cleanup()


@web.middleware
async def _log_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Log each request at debug level, for probes come every few seconds, and give up on a client that does not read.

    The answer is written here, inside the timeout; aiohttp finds it written and does nothing more.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT):
            response = await handler(request)
            with suppress(ConnectionResetError):  # the client has left meanwhile
                await response.prepare(request)
                await response.write_eof()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        _log.warn("answer not taken in time, connection cut", uri=request.path_qs, seconds=TIMEOUT)
        return web.Response(status=503)
    seconds = round(time.monotonic() - began, 6)
    _log.debug("complete", method=request.method, uri=request.path_qs, status=response.status, elapsed=seconds)
    return response


async def _bind(path: Path) -> socket.socket:
    """Bind the socket. Raises OSError if that fails, StartRefused if another process answers there."""
    use_directory(path.parent)  # another user could replace the socket, to read the requests
    if path.exists():
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise FileExistsError(errno.EEXIST, "there is a file that is not a socket")
        if await _answers(path):
            raise StartRefused(
                f"another hookrunner answers on the debug socket {path}: stop it, "
                "or name another place for this one with --debug-unix-socket"
            )
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(os.fspath(path))
        path.chmod(0o600)  # before it listens: until then no client can connect
    except OSError:
        sock.close()
        raise
    return sock


async def _answers(path: Path) -> bool:
    """Does a process accept connections there? One that is too busy to accept is alive too."""
    try:
        async with asyncio.timeout(1.0):
            _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        return False
    except TimeoutError:
        return True
    writer.close()
    return True
