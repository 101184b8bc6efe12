"""A process whose event loop can be blocked: prints its port, then does what the words on its standard input say."""

import asyncio
import re
import socket
import sys

from aiohttp import web

from hookrunner.web.listen import serve
from hookrunner.web.watchdog import Heartbeat, watched

QUICK = Heartbeat(interval=0.02, slice=0.02, limit=0.1)


async def main() -> None:
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    app = web.Application()
    app.router.add_get("/healthz", alive)
    listener = socket.create_server(("127.0.0.1", 0))
    async with serve(app, listener):
        with watched(listener, QUICK):
            print(listener.getsockname()[1], flush=True)
            while order := await asyncio.to_thread(sys.stdin.readline):
                {"hang\n": hang_in_a_callback, "compute\n": hold_the_lock}[order]()
                print("goes on", flush=True)


def hang_in_a_callback() -> None:
    """Until the next line comes."""
    print("hangs", flush=True)
    sys.stdin.readline()


def hold_the_lock() -> None:
    """Without end: Python's matcher never gives its lock back."""
    print("hangs", flush=True)
    re.match("^([a-z0-9]+-?)+$", "a" * 60 + "!")


if __name__ == "__main__":
    asyncio.run(main())
