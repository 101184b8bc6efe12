"""The program with an event loop that hangs on SIGUSR1, as a bug in hookrunner or in a library would make it."""

import asyncio
import signal
import sys
import time

from hookrunner.cli.main import main


class Hanging(asyncio.DefaultEventLoopPolicy):
    """Makes loops that can be blocked."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.call_soon(loop.add_signal_handler, signal.SIGUSR1, hang)
        return loop


def hang() -> None:
    print("hangs", file=sys.stderr, flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    asyncio.set_event_loop_policy(Hanging())
    main()
